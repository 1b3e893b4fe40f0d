"""The commands that read what a vault holds: get, stats."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from septet.cli.commands.syncing import print_roots
from septet.cli.exits import NOTHING
from septet.cli.options import AsJson, VaultPath
from septet.cli.places import existing
from septet.cli.terminal import print_json, say, say_notes

__all__ = ["get", "stats"]


def get(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of entries.")],
    as_json: AsJson = False,
    vault: VaultPath = None,
) -> None:
    """Print whole entries by id."""
    from septet.cli import render

    with existing(vault) as opened:
        found = opened.load(ids)
    if as_json:
        print_json([entry.to_dict() for entry in found])
    else:
        out = render.console(sys.stdout)
        for number, entry in enumerate(found):
            if number:
                out.print()
            render.entry(out, entry)
    missing = sorted(set(ids) - {entry.id for entry in found})
    if missing:
        say(f"no entry {', '.join(repr(id) for id in missing)} in {opened.path}")
        raise typer.Exit(NOTHING)


def stats(as_json: AsJson = False, vault: VaultPath = None) -> None:
    """Count what a vault holds, and name the folders that it follows."""
    from septet.cli import render

    with existing(vault) as opened:
        found, roots = opened.stats(), opened.roots()
    if as_json:
        print_json(found.to_dict() | ({"roots": [asdict(root) for root in roots]} if roots else {}))
    else:
        render.stats(render.console(sys.stdout), found)
        print_roots(roots)
        say_notes(tuple(found.notes))
