"""A chart of matplotlib as SVG, in colours for light and for dark pages: the same figures give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(f"charts need the extra: pip install 'septet[bench]' ({missing})") from None

from .svg import FILLS, FONT, STROKES

__all__ = ["COLOURS", "WIDTH", "Canvas"]

WIDTH = 760
COLOURS = {name: light for name, (light, _) in {**FILLS, **STROKES}.items()}
#: Lengths are pixels: a point of matplotlib's SVG is one.
_INCH = 72
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "septet", "font.family": "DejaVu Sans", "path.simplify": False}
_SILENT = {"Date": None, "Creator": None, "Format": None, "Type": None}


class Canvas:
    """One pair of axes with a title above and notes below."""

    def __init__(
        self, title: str, about: str, notes: Sequence[str], *, left: float, right: float, body: float,
        top: float = 66, below: float = 40,
    ) -> None:  # fmt: skip
        self.title, self.left, self.across, self.body = title, left, WIDTH - left - right, body
        self.height = top + body + below + 16 * len(notes)
        self._figure = Figure(figsize=(WIDTH / _INCH, self.height / _INCH))
        bottom = 1 - (top + body) / self.height
        self.axes: Axes = self._figure.add_axes((left / WIDTH, bottom, self.across / WIDTH, body / self.height))
        self.axes.patch.set_visible(False)
        self.axes.spines[:].set_visible(False)
        self.axes.set_axisbelow(True)
        self.axes.tick_params(length=0, labelsize=11, labelcolor=COLOURS["soft"])
        self._write(30, title, "ink", size=16, weight="bold")
        self._write(50, about, "soft", size=12)
        for i, note in enumerate(notes):
            self._write(top + body + below + 16 * i, note, "soft", size=11)

    def _write(self, y: float, words: str, kind: str, **style: object) -> None:
        self._figure.text(20 / WIDTH, 1 - y / self.height, words, color=COLOURS[kind], **style)

    def svg(self, description: str) -> str:
        """Return the file, with its title and a description for those who do not see it."""
        file = io.StringIO()
        with matplotlib.rc_context(_SETTINGS):
            self._figure.patch.set(facecolor=COLOURS["ground"], edgecolor=COLOURS["edge"], linewidth=1)
            self._figure.savefig(file, format="svg", metadata=_SILENT)
        drawn = re.sub(r"font-family: [^;\"]*;? ?", "", file.getvalue().partition("<g id=")[2])
        drawn = drawn.replace("xlink:href", "href")
        # Colours are written where they are used: those of dark pages replace them.
        dark = "".join(
            f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
            for light, dark in sorted({*FILLS.values(), *STROKES.values()})
            for what in ("fill", "stroke")
            if f"{what}: {light}" in drawn
        )
        box = f'viewBox="0 0 {WIDTH} {self.height:g}" width="{WIDTH}" height="{self.height:g}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title desc">\n'
            f'<title id="title">{escape(self.title)}</title>\n<desc id="desc">{escape(description)}</desc>\n'
            f"<style>\ntext{{font-family:{FONT}}}\n*{{stroke-linejoin:round}}\n"
            f"@media (prefers-color-scheme:dark){{{dark}}}\n</style>\n<g id={drawn}"
        )
