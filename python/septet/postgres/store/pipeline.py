"""Several statements as one round trip.

libpq's pipeline, without the cursors of psycopg: with one, and a wait of its own, for each statement, a search would
take longer for them than for its scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus, Format

if TYPE_CHECKING:
    from psycopg import abc
    from psycopg.pq.abc import PGresult

    from septet.postgres.store.link import ServerLink

    _Rows: TypeAlias = "list[tuple[Any, ...]]"


#: A parameter with or without a name, in the form that is best, in binary, or in text; two percent signs are one.
_PARAMETER = re.compile(r"%(?:\((\w+)\))?([sbt%])")
#: Maximum statements kept with their numbered parameters.
_MOST_KEPT = 1_024


class Statement(NamedTuple):
    """A statement with its parameters, ``%(name)s`` or ``%s`` in it."""

    sql: str
    parameters: Mapping[str, Any] | Sequence[Any] = ()


class _Reading(Protocol):
    @property
    def sql(self) -> ServerLink: ...


class _Numbered(NamedTuple):
    """A statement as the server reads it, with ``$1`` for the first parameter; names or None, and formats, of all."""

    sql: bytes
    names: Sequence[str] | None
    formats: Sequence[PyFormat]


class _Asked(NamedTuple):
    """A statement with parameters as they are sent."""

    sql: bytes
    values: Sequence[abc.Buffer | None] | None
    types: tuple[int, ...]
    formats: Sequence[Format] | None


def together(read: _Reading, statements: Sequence[Statement]) -> list[_Rows]:
    """Send all statements at once, and return the rows of each.

    Values come in PostgreSQL's binary form, so that a float is the same number on both sides.
    """
    return sent(read.sql, statements)


def sent(link: ServerLink, statements: Sequence[Statement]) -> list[_Rows]:
    """Send all statements at once, as `together` does; one that gives no rows has none."""
    if not statements:
        return []
    transformer: abc.Transformer = Transformer(link)
    # Values that cannot be sent raise before anything is sent.
    requests = [_asked(transformer, statement) for statement in statements]
    try:
        with link.lock:
            return link.wait(_answers(link, transformer, requests))
    except BaseException:
        # The pipeline is incomplete, and the server may not have prepared new statements.
        link.close()
        raise


def _asked(transformer: abc.Transformer, statement: Statement) -> _Asked:
    sql, parameters = statement
    if not parameters:
        # As psycopg reads it: a percent sign is no more than that.
        return _Asked(sql.encode(), None, (), None)
    numbered = _numbered(sql)
    ordered = parameters if numbered.names is None else [parameters[name] for name in numbered.names]  # type: ignore[call-overload]
    values = transformer.dump_sequence(ordered, numbered.formats)  # type: ignore[arg-type]
    return _Asked(numbered.sql, values, transformer.types or (), transformer.formats)


@lru_cache(_MOST_KEPT)
def _numbered(sql: str) -> _Numbered:
    formats: list[PyFormat] = []
    places: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name, form = match.groups()
        if form == "%":
            return "%"
        at = places.get(name) if name else None
        if at is None:
            formats.append(PyFormat(form))
            at = len(formats)
            if name:
                places[name] = at
        return f"${at}"

    text = _PARAMETER.sub(number, sql)
    return _Numbered(text.encode(), [*places] or None, formats)


def _answers(link: ServerLink, transformer: abc.Transformer, requests: Sequence[_Asked]) -> abc.PQGen[list[_Rows]]:
    pgconn = link.pgconn
    pgconn.enter_pipeline_mode()
    ahead = [_send(link, statement) for statement in requests]
    pgconn.pipeline_sync()
    yield from send(pgconn)
    rows: list[_Rows] = []
    for others in ahead:
        for _ in range(others):
            _rows(transformer, (yield from fetch_many(pgconn)))
        rows.append(_rows(transformer, (yield from fetch_many(pgconn))))
    # The end of the pipeline.
    yield from fetch_many(pgconn)
    pgconn.exit_pipeline_mode()
    return rows


def _send(link: ServerLink, request: _Asked) -> int:
    """Send a statement, prepared if it has come often; return how many answers come before its own."""
    pgconn, (sql, values, types, formats) = link.pgconn, request
    name, new, gone = link.prepared.name((sql, types), link.prepare_threshold, link.prepared_max or 0)
    if name is None:
        pgconn.send_query_params(sql, values, param_types=types, param_formats=formats, result_format=Format.BINARY)
        return 0
    if gone is not None:
        pgconn.send_query_params(b"DEALLOCATE " + gone, None)
    if new:
        pgconn.send_prepare(name, sql, param_types=types)
    pgconn.send_query_prepared(name, values, param_formats=formats, result_format=Format.BINARY)
    return new + (gone is not None)


def _rows(transformer: abc.Transformer, results: Sequence[PGresult]) -> _Rows:
    """Return the rows of an answer; raise an error of psycopg for one."""
    rows: _Rows = []
    for result in results:
        match result.status:
            case ExecStatus.TUPLES_OK:
                transformer.set_pgresult(result)
                rows += transformer.load_rows(0, result.ntuples, tuple)
            case ExecStatus.COMMAND_OK | ExecStatus.EMPTY_QUERY:
                pass
            case _:
                raise error_from_result(result, encoding=transformer.encoding)
    return rows
