"""The commands of PostgreSQL servers: postgres, push, pull."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import NOTHING, stoppable
from septet.cli.formats import Format, Output, show, table
from septet.cli.screen import progress
from septet.cli.terminal import flat, print_json, say
from septet.errors import QueryError, StoreError

if TYPE_CHECKING:
    from septet.cli.screen import Screen
    from septet.exchange.copying import Copy
    from septet.postgres.store.administration import DatabaseStatus, Made

COLUMNS = ("vault", "entries", "deleted", "buckets", "vectors", "spaces", "unfolded")
#: Maximum differences to print.
SHOWN = 20

_Address = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="postgresql://host/database, with ?vault=NAME or --vault.")
]
_File = Annotated[Any, typer.Argument(metavar="FILE", path_type=str, help="The vault in a file.")]
_Named = Annotated[str | None, typer.Option("--vault", metavar="NAME", help="The vault on the server.")]


class Action(str, Enum):
    """An action on the database."""

    init = "init"
    migrate = "migrate"
    status = "status"


@command("format")
def postgres(
    shared: SharedOptions,
    action: Annotated[Action, typer.Argument(metavar="init|migrate|status", help="What to do.")],
    dsn: Annotated[
        str | None,
        typer.Argument(
            metavar="DSN",
            envvar="SEPTET_POSTGRES",
            help="postgresql://user@host/database, or SEPTET_POSTGRES. Keep passwords in ~/.pgpass or PGPASSWORD: "
            "other users can see command lines.",
        ),
    ] = None,
    citus: Annotated[
        bool, typer.Option("--citus", help="init: if Citus is missing, print the SQL that distributes the tables.")
    ] = False,
    print_: Annotated[bool, typer.Option("--print", help="init: print the SQL and run nothing.")] = False,
    recall: Annotated[
        bool,
        typer.Option("--recall", help="status: measure the recall of each vector index, with 1,000 of its vectors."),
    ] = False,
) -> None:
    """Prepare a PostgreSQL database for vaults, migrate it, or show its status.

    init creates the tables and the roles septet_reader and septet_writer, unless they exist. migrate updates the tables
    of an older Septet. status only reads. Needs the extra: pip install 'septet[postgres]'.
    """
    if find_spec("psycopg") is None or find_spec("pgvector") is None:
        raise QueryError("`septet postgres` needs the extra: pip install 'septet[postgres]'")
    from septet.postgres.store import administration
    from septet.postgres.store.dsn import vault_named

    if (citus or print_) and action is not Action.init:
        raise QueryError("--citus and --print belong to `septet postgres init`")
    if recall and action is not Action.status:
        raise QueryError("--recall belongs to `septet postgres status`")
    if print_:
        print(administration.script(citus=citus), end="")
        return
    if not dsn:
        raise QueryError("no database: pass postgresql://user@host/database, or set SEPTET_POSTGRES")
    with suppress(StoreError):
        # Accept the address of a vault: it contains that of its database.
        dsn, _ = vault_named(dsn)
    if action is Action.status:
        current = administration.status(dsn)
        _show_status(current, shared.format)
        if recall:
            _print_recall(dsn, current)
    elif action is Action.init:
        _show_made(administration.init(dsn, citus=citus), shared.format)
    else:
        _show_made(administration.migrate(dsn), shared.format)


def _print_recall(dsn: str, current: DatabaseStatus) -> None:
    """Print the recall of each vector index."""
    from septet.postgres.store.store import PostgresStore
    from septet.postgres.store.vector_index import measure

    for vault in current.vaults:
        if not any(space["hnsw"] for space in vault.spaces):
            continue
        store = PostgresStore(dsn, vault.name, read_only=True)
        try:
            for index in measure(store):
                say(
                    f"{vault.name}: the index over {index.model} ({index.dimensions}) finds {index.found:.1%} of the "
                    f"{index.k} nearest, for {index.queries:,} of its own vectors"
                )
        finally:
            store.close()


def _show_made(report: Made, chosen: Format) -> None:
    if chosen is Format.json:
        print_json(asdict(report))
    elif chosen is not Format.table:
        raise QueryError(f"--format {chosen.value} needs rows: use table or json")
    elif report.before == report.version:
        say(f"{report.path}: up to date, schema version {report.version}")
    else:
        since = f", before {report.before}" if report.before else ""
        say(f"{report.path}: schema version {report.version}{since}")
    if report.distributed:
        say("citus: the tables are distributed")
    if not report.roles:
        say("roles: this user may not create them: have a superuser run the following SQL")
    elif report.left:
        say("citus: the database lacks the extension, or a worker: add it and run this again, or run the following SQL")
    if report.left and chosen is Format.table:
        print("\n".join(report.left), end="")


def _show_status(current: DatabaseStatus, chosen: Format) -> None:
    records = [
        {
            "vault": vault.name, "entries": vault.entries, "deleted": vault.deleted, "buckets": vault.buckets,
            "vectors": vault.vectors, "unfolded": vault.unfolded[0],
            "spaces": ", ".join(
                f"{space['model']} ({space['dimensions']}): {space['vectors']}{' hnsw' if space['hnsw'] else ''}"
                for space in vault.spaces
            ),
        }
        for vault in current.vaults
    ]  # fmt: skip

    def shown(out: Screen) -> None:
        schema = (
            f"{current.schema}"
            if current.schema == current.known
            else f"{current.schema}, this Septet's is {current.known}"
        )
        lines = {
            "database": current.path,
            "server": f"PostgreSQL {current.server}, " + ("standby" if current.standby else "primary"),
            "behind": ""
            if current.behind_s is None
            else f"{current.behind_s:.1f} s since the last transaction it replayed",
            "pgvector": current.pgvector or "missing",
            "citus": current.citus or "",
            "schema": schema if current.schema else "none: run `septet postgres init`",
            "user": current.user + (", the owner" if current.user == current.owner else ""),
            "roles": ", ".join(f"{name}{' (yours)' if mine else ''}" for name, mine in sorted(current.roles.items())),
            "connections": f"{current.connections} of {current.most_connections}",
            "commit": f"synchronous_commit={current.synchronous_commit}",
            "size": f"{sum(current.sizes.values()) / 1e6:,.1f} MB" if current.sizes else "",
        }
        for name, text in lines.items():
            if text:
                out.print(f"{name:<12}{text}")
        if records:
            out.print("")
            table(out, COLUMNS, [[str(record[name]) for name in COLUMNS] for record in records])

    names = [vault.name for vault in current.vaults]
    show(Output(whole=asdict(current), records=records, columns=COLUMNS, show=shown, ids=names), chosen)


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
    from septet.service.places import open_vault

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
    from septet.service.places import open_vault

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
        _print_copy(result, str(target.path))
    if result.differences:
        raise typer.Exit(NOTHING)


def _print_copy(result: Copy, place: str) -> None:
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
