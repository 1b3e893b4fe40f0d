"""A drawing as SVG text: shapes and labels by class, in colours for light and for dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["Drawing", "fitted", "plain", "width_of"]

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
#: What each class looks like, on light and on dark pages: fills, then strokes.
FILLS = {
    "ground": ("#ffffff", "#171c24"),
    "ink": ("#1f2630", "#e8ecf1"),
    "soft": ("#566070", "#a7b1be"),
    "ours": ("#0f766e", "#2dd4bf"),
    "theirs": ("#8d98a8", "#77839a"),
    "miss": ("#c2410c", "#fb923c"),
    "pale": ("#e6f2f0", "#1d3536"),
    "wash": ("#eef1f5", "#232b36"),
    "one": ("#0f766e", "#2dd4bf"),
    "two": ("#7c3aed", "#b394fb"),
    "three": ("#b45309", "#f0b04a"),
    "four": ("#2563eb", "#7cb0ff"),
    "five": ("#be185d", "#f584b8"),
    "six": ("#4d7c0f", "#a3d34d"),
    "seven": ("#64748b", "#94a3b8"),
}
STROKES = {
    "edge": ("#d5dbe3", "#323c4a"),
    "grid": ("#e3e7ed", "#2b3441"),
    "axis": ("#8d98a8", "#77839a"),
    "aim": ("#1f2630", "#e8ecf1"),
    "ours-line": ("#0f766e", "#2dd4bf"),
    "theirs-line": ("#8d98a8", "#77839a"),
    "miss-line": ("#c2410c", "#fb923c"),
    **{f"{name}-line": FILLS[name] for name in ("one", "two", "three", "four", "five", "six", "seven")},
}
#: Widths of characters as shares of the size, of a wide sans-serif (DejaVu); what is not named is 0.61.
NARROW, WIDE = "iljtfrI.,:;|'!()[] ", "mwMW@%"


def width_of(text: str, size: float) -> float:
    """Return about how wide a label is: fonts differ, so a little more than in most."""
    return size * sum(0.35 if c in NARROW else 0.9 if c in WIDE else 0.68 if c.isupper() else 0.61 for c in text)


def fitted(text: str, size: float, width: float) -> str:
    """Return a label, cut where it would be wider than there is room."""
    if width_of(text, size) <= width:
        return text
    while text and width_of(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def plain(value: float) -> str:
    """Write a coordinate: two decimals at most, and never ``-0``."""
    written = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if written == "-0" else written


class Drawing:
    """Shapes on a ground with round corners, with a title and a description for those who do not see it."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width, self.height = width, height
        self.title, self.description = title, description
        self._parts: list[str] = []
        self._classes: set[str] = {"ground", "edge"}

    def text(
        self, x: float, y: float, words: str, kind: str = "ink", *, anchor: str = "start", size: float = 13,
        bold: bool = False,
    ) -> None:  # fmt: skip
        """Write words with their base line at ``y``, if there are any."""
        if not words:
            return
        extra = f' text-anchor="{anchor}"' if anchor != "start" else ""
        extra += ' font-weight="600"' if bold else ""
        self._add(
            f'<text x="{plain(x)}" y="{plain(y)}" font-size="{plain(size)}"{extra} ', kind, f">{escape(words)}</text>"
        )

    def rect(self, x: float, y: float, width: float, height: float, kind: str, *, round: float = 0) -> None:
        corner = f' rx="{plain(round)}"' if round else ""
        size = f'width="{plain(max(width, 0))}" height="{plain(height)}"'
        self._add(f'<rect x="{plain(x)}" y="{plain(y)}" {size}{corner} ', kind, "/>")

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, *, width: float = 1) -> None:
        self.path([(x1, y1), (x2, y2)], kind, width=width)

    def path(self, points: Sequence[tuple[float, float]], kind: str, *, width: float = 2) -> None:
        """Join points by straight lines."""
        way = "M" + "L".join(f"{plain(x)} {plain(y)}" for x, y in points)
        self._add(f'<path d="{way}" stroke-width="{plain(width)}" ', kind, "/>")

    def arrow(self, points: Sequence[tuple[float, float]], kind: str = "axis", *, width: float = 1.5) -> None:
        """Join points, with a head at the last."""
        self.path(points, kind, width=width)
        (x0, y0), (x1, y1) = points[-2], points[-1]
        length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        back = (x1 - 7 * ux, y1 - 7 * uy)
        self.path(
            [(back[0] - 3.5 * uy, back[1] + 3.5 * ux), (x1, y1), (back[0] + 3.5 * uy, back[1] - 3.5 * ux)],
            kind, width=width,
        )  # fmt: skip

    def svg(self) -> str:
        """Return the whole file."""
        box = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="desc">{escape(self.description)}</desc>',
            f"<style>\n{self._style()}\n</style>",
            f'<rect x=".5" y=".5" width="{self.width - 1}" height="{self.height - 1}" rx="8" class="ground edge"/>',
        )
        return "\n".join((*head, *self._parts, "</svg>")) + "\n"

    def _add(self, start: str, kind: str, end: str) -> None:
        if kind not in FILLS and kind not in STROKES:
            raise ValueError(f"no colour is named {kind!r}")
        self._classes.add(kind)
        self._parts.append(f'{start}class="{kind}"{end}')

    def _style(self) -> str:
        def rules(shade: int) -> list[str]:
            fills = [f".{name}{{fill:{FILLS[name][shade]}}}" for name in FILLS if name in self._classes]
            strokes = [f".{name}{{stroke:{STROKES[name][shade]}}}" for name in STROKES if name in self._classes]
            return [*fills, *strokes]

        hollow = ",".join(f".{name}" for name in STROKES if name in self._classes and name != "edge")
        lines = [f"text{{font-family:{FONT}}}", f"{hollow}{{fill:none}}" if hollow else "", *rules(0)]
        dark = "@media (prefers-color-scheme:dark){" + "".join(rules(1)) + "}"
        return "\n".join(text for text in (*lines, dark) if text)
