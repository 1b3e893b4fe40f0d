"""`septet push` and `septet pull`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import NOTHING
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import flat, print_json, say
from septet.errors import QueryError

if TYPE_CHECKING:
    from septet.exchange.copying import Copy

#: Maximum differences to print.
SHOWN = 20

_Address = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="postgresql://host/database, with ?vault=NAME or --vault.")
]
_File = Annotated[Any, typer.Argument(metavar="FILE", path_type=str, help="The vault in a file.")]
_Named = Annotated[str | None, typer.Option("--vault", metavar="NAME", help="The vault on the server.")]


@command("json")
def push(
    shared: SharedOptions,
    file: _File,
    address: _Address,
    vault: _Named = None,
    buckets: Annotated[
        int | None, typer.Option("--buckets", metavar="N", help="Number of partitions of a new vault, 1 to 1,024.")
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            "--vectors", metavar="vector|halfvec", help="Vector type of a new vault; halfvec halves the size."
        ),
    ] = None,
) -> None:
    """Copy a vault to a PostgreSQL server: entries, memories, vectors, links, feedback; not the history.

    Skips equal entries, so that a stopped copy continues when run again. Entries that only the server has stay. At the
    end both sides are compared: entries, vectors and, if the server has no other entries, the results of some searches.
    """
    from septet.cli.places import existing
    from septet.service.vaults import open_vault

    _check_places(file, address)
    layout: dict[str, Any] = {"buckets": buckets, "vectors": vectors}
    with existing(file) as source, open_vault(address, named=vault, timeout_s=None, **layout) as target:
        _copy(source, target, "pushing", shared.as_json)


@command("json")
def pull(shared: SharedOptions, address: _Address, file: _File, vault: _Named = None) -> None:
    """Copy a vault from a PostgreSQL server into a file: entries, memories, vectors, links, feedback; not the history.

    Creates the file if it does not exist. Otherwise like `septet push`.
    """
    from septet.cli.places import writable
    from septet.service.vaults import open_vault

    _check_places(file, address)
    with (
        open_vault(address, named=vault, read_only=True, timeout_s=None) as source,
        writable(file) as target,
    ):
        _copy(source, target, "pulling", shared.as_json)


def _check_places(file: str, address: str) -> None:
    """Raise `QueryError` unless ``file`` is a file and ``address`` an address."""
    from septet.postgres.store.dsn import is_dsn, without_passwords

    if is_dsn(file) or not is_dsn(address):
        wrong = file if is_dsn(file) else address
        raise QueryError(
            f"{without_passwords(wrong)}: wanted `septet push FILE postgresql://…` or `septet pull postgresql://… FILE`"
        )


def _copy(source: Any, target: Any, label: str, as_json: bool) -> None:
    from septet.exchange.copying import copy_vault

    copied = 0
    with progress(label) as step:

        def report(done: int, total: int) -> None:
            nonlocal copied
            copied = done
            if step is not None:
                step(done, total)

        with stoppable(lambda: f"{copied:,} entries are copied; run it again to continue"):
            result = copy_vault(source, target, progress=report)
    if as_json:
        print_json(result.to_dict())
    else:
        _print(result, str(target.path))
    if result.differences:
        raise typer.Exit(NOTHING)


def _print(result: Copy, place: str) -> None:
    entries = f"{result.entries:,} {'entry' if result.entries == 1 else 'entries'}"
    same = f", {result.entries - result.written:,} of them there already" if result.written < result.entries else ""
    others = {"vectors of texts": result.vectors, "links": result.links, "rows of feedback": result.feedback}
    more = "".join(f", {number:,} {kind}" for kind, number in others.items() if number)
    say(f"{entries}{same}{more} in {place}")
    for note in result.notes:
        say(f"note: {note}")
    for difference in result.differences[:SHOWN]:
        say(f"differs: {flat(difference)}")
    if not result.differences:
        searches = f"; {result.compared:,} searches found the same on both sides" if result.compared else ""
        say(f"compared: nothing differs{searches}")
