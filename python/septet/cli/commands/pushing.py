"""`septet push` and `septet pull`: a vault is copied to a server, or from one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.exits import NOTHING
from septet.cli.options import AsJson
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import flat, print_json, say
from septet.errors import QueryError

if TYPE_CHECKING:
    from septet.exchange.copying import Copy

__all__ = ["pull", "push"]

#: So many differences are told.
SHOWN = 20

_Address = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="postgresql://host/database, with ?vault=NAME or --vault.")
]
_File = Annotated[Any, typer.Argument(metavar="FILE", path_type=str, help="The vault in a file.")]
_Named = Annotated[str | None, typer.Option("--vault", metavar="NAME", help="The vault on the server.")]


def push(
    file: _File,
    address: _Address,
    vault: _Named = None,
    buckets: Annotated[
        int | None, typer.Option("--buckets", metavar="N", help="In how many parts a new vault is stored, 1 to 1,024.")
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option("--vectors", metavar="vector|halfvec", help="What a new vault keeps vectors as; halfvec in half."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy a vault to a PostgreSQL server: entries, memories, vectors, links, feedback; not the history.

    What is there and equal is skipped: stopped at any time, it goes on when it is called again. Entries that only the
    server has stay. At the end both sides are compared: entries, vectors and, where the server has nothing else, the
    answers to some searches.
    """
    from septet.cli.places import existing
    from septet.service.vaults import open_vault

    _checked(file, address)
    made: dict[str, Any] = {"buckets": buckets, "vectors": vectors}
    with existing(file) as source, open_vault(address, named=vault, timeout_s=None, **made) as target:
        _copied(source, target, "pushing", as_json)


def pull(address: _Address, file: _File, vault: _Named = None, as_json: AsJson = False) -> None:
    """Copy a vault from a PostgreSQL server into a file: entries, memories, vectors, links, feedback; not the history.

    The file is made if it is missing. For the rest as `septet push`.
    """
    from septet.cli.places import writable
    from septet.service.vaults import open_vault

    _checked(file, address)
    with (
        open_vault(address, named=vault, read_only=True, timeout_s=None) as source,
        writable(file) as target,
    ):
        _copied(source, target, "pulling", as_json)


def _checked(file: str, address: str) -> None:
    """Make sure that one is a file and the other an address.

    Raises:
        QueryError: they are not.
    """
    from septet.postgres.store.dsn import is_dsn, without_passwords

    if is_dsn(file) or not is_dsn(address):
        wrong = file if is_dsn(file) else address
        raise QueryError(
            f"{without_passwords(wrong)}: wanted `septet push FILE postgresql://…` or `septet pull postgresql://… FILE`"
        )


def _copied(source: Any, target: Any, label: str, as_json: bool) -> None:
    from septet.exchange.copying import copy_vault

    there = 0
    with progress(label) as step:

        def told(done: int, total: int) -> None:
            nonlocal there
            there = done
            if step is not None:
                step(done, total)

        with stoppable(lambda: f"{there:,} entries are there; do it again to go on"):
            done = copy_vault(source, target, progress=told)
    if as_json:
        print_json(done.to_dict())
    else:
        _say(done, str(target.path))
    if done.differences:
        raise typer.Exit(NOTHING)


def _say(done: Copy, place: str) -> None:
    entries = f"{done.entries:,} {'entry' if done.entries == 1 else 'entries'}"
    same = f", {done.entries - done.written:,} of them there already" if done.written < done.entries else ""
    beside = {"vectors of texts": done.vectors, "links": done.links, "rows of feedback": done.feedback}
    more = "".join(f", {number:,} {kind}" for kind, number in beside.items() if number)
    say(f"{entries}{same}{more} in {place}")
    for note in done.notes:
        say(f"note: {note}")
    for one in done.differences[:SHOWN]:
        say(f"differs: {flat(one)}")
    if not done.differences:
        answers = f"; {done.compared:,} searches found the same on both sides" if done.compared else ""
        say(f"compared: nothing differs{answers}")
