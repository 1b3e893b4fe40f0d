"""`septet postgres`: a database for vaults is made, brought up to date, and looked at."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from septet.cli.formats import Format, FormatOption, Found, format_of, show, table
from septet.cli.options import AsJson
from septet.cli.terminal import print_json, say
from septet.errors import QueryError, StoreError

if TYPE_CHECKING:
    from septet.cli.screen import Screen
    from septet.postgres.store.administration import DatabaseStatus, Made

__all__ = ["postgres"]

COLUMNS = ("vault", "entries", "deleted", "buckets", "vectors", "spaces", "unfolded")


class Action(str, Enum):
    """What is done to the database."""

    init = "init"
    migrate = "migrate"
    status = "status"


def postgres(
    action: Annotated[Action, typer.Argument(metavar="init|migrate|status", help="What to do.")],
    dsn: Annotated[
        str | None,
        typer.Argument(
            metavar="DSN",
            envvar="SEPTET_POSTGRES",
            help="postgresql://user@host/database, or SEPTET_POSTGRES. Keep passwords in ~/.pgpass or PGPASSWORD: "
            "others see the arguments of commands.",
        ),
    ] = None,
    citus: Annotated[
        bool, typer.Option("--citus", help="init: where Citus is not there, print what distributes the tables.")
    ] = False,
    print_: Annotated[bool, typer.Option("--print", help="init: print the SQL and run nothing.")] = False,
    recall: Annotated[
        bool,
        typer.Option("--recall", help="status: ask each graph over vectors 1,000 of them, and count what it finds."),
    ] = False,
    format: FormatOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a PostgreSQL database ready for vaults, bring it up to date, or see how it stands.

    init makes the tables and the roles septet_reader and septet_writer; what is there stays. migrate brings the tables
    of an older Septet up to date. status reads only. Needs the extra: pip install 'septet[postgres]'.
    """
    if find_spec("psycopg") is None or find_spec("pgvector") is None:
        raise QueryError("`septet postgres` needs the extra: pip install 'septet[postgres]'")
    from septet.postgres.store import administration
    from septet.postgres.store.dsn import vault_named

    wanted = format_of(format, as_json)
    if (citus or print_) and action is not Action.init:
        raise QueryError("--citus and --print belong to `septet postgres init`")
    if recall and action is not Action.status:
        raise QueryError("--recall belongs to `septet postgres status`")
    if print_:
        print(administration.script(citus=citus), end="")
        return
    if not dsn:
        raise QueryError("which database? name it as postgresql://user@host/database, or in SEPTET_POSTGRES")
    with suppress(StoreError):
        # The address of a vault names its database, too.
        dsn, _ = vault_named(dsn)
    if action is Action.status:
        found = administration.status(dsn)
        _show_status(found, wanted)
        if recall:
            _say_recall(dsn, found)
    elif action is Action.init:
        _show_made(administration.init(dsn, citus=citus), wanted)
    else:
        _show_made(administration.migrate(dsn), wanted)


def _say_recall(dsn: str, found: DatabaseStatus) -> None:
    """Say of each graph over vectors how much of what is nearest it finds."""
    from septet.postgres.store.store import PostgresStore
    from septet.postgres.store.vector_index import measure

    for one in found.vaults:
        if not any(space["hnsw"] for space in one.spaces):
            continue
        store = PostgresStore(dsn, one.name, read_only=True)
        try:
            for told in measure(store):
                say(
                    f"{one.name}: the graph over {told.model} ({told.dimensions}) finds {told.found:.1%} of the "
                    f"{told.k} nearest, asked for {told.queries:,} of its own vectors"
                )
        finally:
            store.close()


def _show_made(made: Made, wanted: Format) -> None:
    if wanted is Format.json:
        print_json(asdict(made))
    elif wanted is not Format.table:
        raise QueryError(f"--format {wanted.value}: this has no rows: table or json")
    elif made.before == made.version:
        say(f"{made.path}: up to date, schema version {made.version}")
    else:
        since = f", before {made.before}" if made.before else ""
        say(f"{made.path}: schema version {made.version}{since}")
    if made.distributed:
        say("citus: the tables are distributed")
    if not made.roles:
        say("roles: this user may not make them: have somebody run what follows who may")
    elif made.left:
        say(
            "citus: the database lacks the extension, or a worker: add it and run this again, or run what follows there"
        )
    if made.left and wanted is Format.table:
        print("\n".join(made.left), end="")


def _show_status(found: DatabaseStatus, wanted: Format) -> None:
    records = [
        {
            "vault": one.name, "entries": one.entries, "deleted": one.deleted, "buckets": one.buckets,
            "vectors": one.vectors, "unfolded": one.unfolded[0],
            "spaces": ", ".join(
                f"{space['model']} ({space['dimensions']}): {space['vectors']}{' hnsw' if space['hnsw'] else ''}"
                for space in one.spaces
            ),
        }
        for one in found.vaults
    ]  # fmt: skip

    def shown(out: Screen) -> None:
        schema = (
            f"{found.schema}" if found.schema == found.known else f"{found.schema}, this Septet makes {found.known}"
        )
        lines = {
            "database": found.path,
            "server": f"PostgreSQL {found.server}, " + ("standby" if found.standby else "primary"),
            "behind": ""
            if found.behind_s is None
            else f"{found.behind_s:.1f} s since the last transaction it replayed",
            "pgvector": found.pgvector or "is not there",
            "citus": found.citus or "",
            "schema": schema if found.schema else "none: run `septet postgres init`",
            "user": found.user + (", the owner" if found.user == found.owner else ""),
            "roles": ", ".join(f"{name}{' (yours)' if mine else ''}" for name, mine in sorted(found.roles.items())),
            "connections": f"{found.connections} of {found.most_connections}",
            "commit": f"synchronous_commit={found.synchronous_commit}",
            "size": f"{sum(found.sizes.values()) / 1e6:,.1f} MB" if found.sizes else "",
        }
        for name, said in lines.items():
            if said:
                out.print(f"{name:<12}{said}")
        if records:
            out.print("")
            table(out, COLUMNS, [[str(one[name]) for name in COLUMNS] for one in records])

    names = [one.name for one in found.vaults]
    show(Found(whole=asdict(found), records=records, columns=COLUMNS, show=shown, ids=names), wanted)
