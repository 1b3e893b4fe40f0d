"""`septet optimize`."""

from __future__ import annotations

from dataclasses import asdict

from septet.cli.options import AsJson, VaultPath
from septet.cli.places import existing
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import print_json, say


def optimize(as_json: AsJson = False, vault: VaultPath = None) -> None:
    """Build the search index and write it beside the vault.

    After a large import, this makes the first search of each process as fast as later ones. Skips what is up to date.
    On a server: fold pending counts, and update the planner's statistics.
    """
    # Imported here because the help loads the modules of all commands.
    from septet.postgres.store.dsn import is_dsn

    with (
        stoppable(lambda: "nothing is lost; optimize again to continue"),
        existing(vault, read_only=False) as opened,
        progress("optimizing"),
    ):
        report = opened.optimize()
    if as_json:
        print_json(asdict(report))
    elif is_dsn(vault):
        say(f"{report.entries:,} entries: counts are folded, and the planner's statistics are current")
    elif report.path is None:
        say(f"{report.entries:,} entries: too few for files beside the vault, or they are up to date")
    else:
        say(f"{report.entries:,} entries in {report.path} ({report.size_bytes / 1e6:.1f} MB)")
