"""Walk the checklist of a release and print it; the exit code is 1 when something does not hold."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from release.checklist import last, repository, sources, stranger, wheels
from release.checklist.item import ROOT, Item, Outcome, Work, failed, not_run

__all__ = ["ITEMS", "main", "walk"]

ITEMS = (
    Item("tree", "everything is committed", repository.tree),
    Item("version", "one version, said alike", repository.version),
    Item("addresses", "where the project is found", repository.addresses),
    Item("tag", "its tag is free", repository.tag),
    Item("changelog", "users are told, with the day", repository.changelog),
    Item("licences", "licences and advisories of crates", sources.licences),
    Item("workflows", "the hosted workflows", sources.workflows),
    Item("charts", "charts are those of the figures", sources.charts),
    Item("docs", "documentation, built strictly", sources.docs, slow=True),
    Item("tests", "every test", sources.tests, slow=True),
    Item("lowest", "tests with the oldest versions", sources.lowest, slow=True),
    Item("newest", "tests with the newest versions", sources.newest, slow=True),
    Item("dist", "four wheels and the sdist", wheels.complete),
    Item("wheels", "what is in the wheels", wheels.checked),
    Item("installed", "the wheels in empty environments", wheels.tried, slow=True),
    Item("stranger", "a stranger's first minute", stranger.walked),
    Item("foreign", "other processors and C libraries", wheels.foreign, slow=True),
    Item("macos", "wheels for macOS", wheels.macos),
)


def looked(item: Item, work: Work) -> Outcome:
    """Look at an item; what it cannot cope with is a failure of it, not the end of the walk."""
    try:
        return item.look(work)
    except (OSError, RuntimeError, ValueError) as fault:
        return failed(f"{type(fault).__name__}: {fault}")


def walk(work: Work, items: Sequence[Item], *, quick: bool = False, use_last: bool = False) -> bool:
    """Look at items one by one, print each, and say whether none failed."""
    states = []
    for item in items:
        outcome = last.kept(work, item.name) if use_last and item.slow else None
        if outcome is None and quick and item.slow:
            outcome = not_run("left out by --quick")
        if outcome is None:
            outcome = looked(item, work)
            if item.slow:
                last.keep(work, item.name, outcome)
        states.append(outcome.state)
        print(f"{outcome.state:<12}  {item.name:<9}  {item.title}{': ' * bool(outcome.said)}{outcome.said}", flush=True)
    print(f"\n{states.count('ok')} ok, {states.count('FAILED')} failed, {states.count('not run here')} not run here")
    return "FAILED" not in states


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 when something does not hold."""
    names = [item.name for item in ITEMS]
    parser = argparse.ArgumentParser(prog="python -m release.checklist", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help="an item; all if none is named")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--last", action="store_true", help="take what held at this commit before as held")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder of what was built (dist/)")
    parser.add_argument("--list", action="store_true", help="list the items and look at none")
    parser.add_argument("--version", action="store_true", help="print the version that would be released")
    asked = parser.parse_args(arguments)
    if asked.version:
        print(repository.version_of(ROOT))
        return 0
    if asked.list:
        for item in ITEMS:
            print(f"{item.name:<9}  {item.title}{' (minutes)' * item.slow}")
        return 0
    items = [item for item in ITEMS if not asked.only or item.name in asked.only]
    work = Work(ROOT, asked.dist, sys.executable)
    return 0 if walk(work, items, quick=asked.quick, use_last=asked.last) else 1


if __name__ == "__main__":
    sys.exit(main())
