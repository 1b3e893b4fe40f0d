"""Every figure, and the report. `make bench` runs it.

python benches/run.py [--only SECTION[/CASES]] [--quick] [--large] [--out FILE]

A section is measured in a process of its own, with one thread for every library that has threads. A whole run writes
benches/RESULTS.md, and benches/charts from it; with --only or --quick nothing is written unless --out names a file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType

import charts
import peers
from charting import report
from race import Run
from table import HEADER, Row, line, machine, markdown, show, state, versions
from vaults import prepared

#: Sections, and the cores each gets. Those with all pin what they compare themselves.
SECTIONS = {
    "vectors": None,
    "index": 1,
    "lists": None,
    "fulltext": 1,
    "tfidf": None,
    "fusion": 1,
    "search": 1,
    "overhead": 1,
    "threads": 2,
    "shapes": 1,
    "steps": 1,
    "aio": None,
    "adapters": 1,
    "process": 1,
    "cli": 1,
    "loading": 1,
    "listing": 1,
    "words": 1,
    "changing": 1,
    "files": 2,
    "arranging": 1,
    "chunks": 1,
    "following": 1,
    "embedding": 1,
    "retrieving": 1,
    "serving": None,
    "postgres": None,
}
#: Read by numpy and others when they are loaded.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
RESULTS = Path(__file__).parent / "RESULTS.md"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"one of {', '.join(SECTIONS)}; vectors/1536: cases with that name")
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, a fifth of the rounds")
    parser.add_argument("--large", action="store_true", help="a million entries too: 12 GB of memory, 10 minutes more")
    parser.add_argument("--level", default="", help="vectors: only this kernel, for everybody: avx512, avx-vnni, avx2")
    parser.add_argument("--out", type=Path, help="where the report goes")
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    only, _, cases = options.only.partition("/")
    if only and only not in SECTIONS:
        parser.error(f"--only: there is no section {only!r}")
    if options.within:
        measure(only, Run(options.within, options.quick, options.large, cases, options.level))
        return
    before = state()
    print(f"{machine()}\n{versions()}\n{before}")
    print(line(HEADER))
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), options.quick, options.large, cases, options.level)
        done = [section(name, run) for name in SECTIONS if name.startswith(only)]
    how = ", ".join(["quick: smaller sizes" if run.quick else "whole sizes", *(["a million too"] if run.large else [])])
    out = options.out or (None if only or options.quick else RESULTS)
    if out:
        out.write_text(markdown(done, (before, state()), how), encoding="utf-8")
        print(f"wrote {out.name}")
    if out == RESULTS:
        charts.write(report.read(out), charts.FOLDER)


def section(name: str, run: Run) -> tuple[str, str, list[Row]]:
    """Measure a section in another process, and show its lines as they come."""
    module = importlib.import_module(name)
    print(f"-- {module.TITLE}, {state()}", flush=True)
    for n in module.sizes(run) if hasattr(module, "sizes") else ():
        prepared(run.folder, n)
    levels = [run.level] if run.level or not hasattr(module, "levels") else module.levels()
    rows = []
    for level in levels:
        for told in elsewhere(name, replace(run, level=level)):
            # What is wanted is wanted of the whole sizes.
            row = replace(told, bar=None) if run.quick else told
            show(row)
            rows.append(row)
    return module.TITLE, module.ABOUT, rows


def elsewhere(name: str, run: Run) -> Iterator[Row]:
    command = [sys.executable, __file__, "--only", f"{name}/{run.only}", "--within", str(run.folder)]
    command += ["--level", run.level] if run.level else []
    command += [flag for flag, on in (("--quick", run.quick), ("--large", run.large)) if on]
    environment = os.environ | ONE_THREAD | peers.forced(run.level)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for told in process.stdout or ():
            # What a library prints is not ours.
            if told.startswith('{"name"'):
                yield Row(**json.loads(told))
    if process.returncode:
        sys.exit(f"{name} failed")


def measure(name: str, run: Run) -> None:
    """Measure a section here. The cores are chosen before any library makes its threads."""
    if SECTIONS[name]:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: SECTIONS[name]])
    module: ModuleType = importlib.import_module(name)
    for row in module.rows(run):
        print(json.dumps(asdict(row)), flush=True)


if __name__ == "__main__":
    main()
