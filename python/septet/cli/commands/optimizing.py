"""`septet optimize`: what searches use is built now."""

from __future__ import annotations

from dataclasses import asdict

from septet.cli.options import AsJson, VaultPath
from septet.cli.places import existing
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import print_json, say

__all__ = ["optimize"]


def optimize(as_json: AsJson = False, vault: VaultPath = None) -> None:
    """Build what searches use now, and keep it beside the vault.

    After a large import the first search of each process is as fast as any. What is up to date is not written again.
    On a server: fold what writes have left to count, and have the planner look at the tables.
    """
    # The help reads every command's file.
    from septet.postgres.store.dsn import is_dsn

    with (
        stoppable(lambda: "nothing is lost; optimize again to go on"),
        existing(vault, read_only=False) as opened,
        progress("optimizing"),
    ):
        made = opened.optimize()
    if as_json:
        print_json(asdict(made))
    elif is_dsn(vault):
        say(f"{made.entries:,} entries: counts are folded, and the server's planner knows the tables")
    elif made.path is None:
        say(f"{made.entries:,} entries: too few for files beside the vault, or they are up to date")
    else:
        say(f"{made.entries:,} entries in {made.path} ({made.size_bytes / 1e6:.1f} MB)")
