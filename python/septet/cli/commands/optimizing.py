"""`septet optimize`."""

from __future__ import annotations

from dataclasses import asdict

from septet.cli.command import SharedOptions, command
from septet.cli.places import existing
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import print_json, say


@command("json", "vault")
def optimize(shared: SharedOptions) -> None:
    """Build the search index and write it beside the vault.

    After a large import, this makes the first search of each process as fast as later ones. Skips what is up to date.
    On a server: fold pending counts, and update the planner's statistics.
    """
    # Imported here because the help loads the modules of all commands.
    from septet.postgres.store.dsn import is_dsn

    with (
        stoppable(lambda: "nothing is lost; optimize again to continue"),
        existing(shared.vault, read_only=False) as opened,
        progress("optimizing"),
    ):
        report = opened.optimize()
    if shared.as_json:
        print_json(asdict(report))
    elif is_dsn(shared.vault):
        say(f"{report.entries:,} entries: counts are folded, and the planner's statistics are current")
    elif report.path is None:
        say(f"{report.entries:,} entries: too few for files beside the vault, or they are up to date")
    else:
        say(f"{report.entries:,} entries in {report.path} ({report.size_bytes / 1e6:.1f} MB)")
