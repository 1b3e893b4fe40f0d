"""The figures of a run, read back from its report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Figure", "MissingFigure", "Report", "read"]


class MissingFigure(LookupError):
    """The report has no such line: its section was not measured."""


@dataclass(frozen=True)
class Figure:
    """A line of the report; NaN stands for an empty cell."""

    section: str
    name: str
    ours: float
    theirs: float
    unit: str
    peer: str
    ratio: float
    bar: float
    verdict: str = ""

    @property
    def wanted(self) -> bool:
        return not math.isnan(self.bar)

    @property
    def missed(self) -> bool:
        # As the run judged: the table rounds.
        return self.verdict == "NOT REACHED"

    @property
    def limit(self) -> bool:
        """True if the peer is a limit, not a competitor."""
        return self.peer.startswith("limit:")


@dataclass(frozen=True)
class Report:
    """A report: facts about its run, and its figures."""

    about: dict[str, str]
    figures: tuple[Figure, ...]

    def section(self, title: str) -> list[Figure]:
        return [figure for figure in self.figures if figure.section == title]

    def find(self, section: str, name: str, peer: str | None = None) -> Figure:
        """Return the one line with a name, and beside a peer if one is named."""
        for figure in self.section(section):
            if figure.name == name and peer in (None, figure.peer):
                return figure
        raise MissingFigure(f"no figure {name!r} beside {peer!r} in {section!r}")

    @property
    def origin(self) -> str:
        """When it was measured, and on what: the small line under every chart."""
        parts = self.about["machine"].split(", ")
        cpu = parts[0].replace("(R)", "").replace(" Processor", "")
        cores, kernel = parts[-3], parts[-1].removeprefix("kernel ").upper()
        return f"{self.about['date']} · {cpu}, {cores}, {kernel} · benches/RESULTS.md"


def read(path: Path) -> Report:
    """Read a report as `make bench` writes it."""
    about: dict[str, str] = {}
    figures: list[Figure] = []
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("- ") and not section:
            key, _, value = line[2:].partition(": ")
            about[key] = value
        elif line.startswith("| ") and not line.startswith("| what |"):
            figures.extend(figure_of(section, line))
    return Report(about, tuple(figures))


def figure_of(section: str, line: str) -> Iterator[Figure]:
    cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    if len(cells) == 8 and cells[1]:
        name, ours, theirs, unit, peer, ratio, bar, verdict = cells
        yield Figure(section, name, value(ours), value(theirs), unit, peer, value(ratio), value(bar), verdict)


def value(cell: str) -> float:
    return float(cell.replace(",", "")) if cell else math.nan
