"""`septet postgres`: create, migrate and inspect a database for vaults."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.formats import Format, Output, show, table
from septet.cli.terminal import print_json, say
from septet.errors import QueryError, StoreError

if TYPE_CHECKING:
    from septet.cli.screen import Screen
    from septet.postgres.store.administration import DatabaseStatus, Made

COLUMNS = ("vault", "entries", "deleted", "buckets", "vectors", "spaces", "unfolded")


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
            "pgvector": current.pgvector or "is not there",
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
