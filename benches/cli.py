"""What a command pays: from its start to the end of its process, files in the page cache and bytecode there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from race import Run
from table import Row, at_most, plain
from vaults import prepared, questions

TITLE = "A command"
ABOUT = (
    "`septet search` with full results into a pipe, its process included: from the start to the end, medians of "
    "processes in turns. Files are in the page cache, and bytecode is there, as pip leaves it. Of that, a process that "
    "imports numpy, and one that does nothing."
)
ENTRIES = 100_000
PROCESSES = 15

COMMAND = [sys.executable, "-c", "from septet.cli import main; main()"]


def sizes(run: Run) -> list[int]:
    return [run.entries(ENTRIES)]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    asked = [question.text for question in questions(path)[:PROCESSES]]
    beside = "with" if Path(f"{path}.septet").exists() else "WITHOUT"
    taken: dict[str, list[float]] = {}
    for text in [asked[0], *asked]:
        search = [*COMMAND, "search", text, "--vault", str(path)]
        commands = {
            f"septet search, {n:,} entries, {beside} a sidecar": search,
            "septet search --json": [*search, "--json"],
            "septet --version": [*COMMAND, "--version"],
            "a process that imports numpy": [sys.executable, "-c", "import numpy"],
            "a process that does nothing": [sys.executable, "-c", ""],
        }
        for name, command in commands.items():
            taken.setdefault(name, []).append(timed(command))
    # The first of each made bytecode.
    medians = {name: median(times[1:]) for name, times in taken.items()}
    (name, search_ms), *others = medians.items()
    yield at_most(name, search_ms, 150.0)
    for name, took_ms in others:
        yield plain(name, took_ms)


def timed(command: list[str]) -> float:
    """Return the milliseconds of a process from its start to its end."""
    setting = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # No configuration of the user's counts.
    setting |= {"HOME": tempfile.gettempdir(), "XDG_CONFIG_HOME": tempfile.gettempdir(), "SEPTET_EMBEDDING": ""}
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=setting)
    return 1e3 * (time.perf_counter() - start)


if __name__ == "__main__":
    from run import main

    main(["--only", "cli"])
