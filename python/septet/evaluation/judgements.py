"""Read queries and their judgements from values or from files of test collections."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias, TypeVar

import numpy as np

from septet.errors import QueryError, printable
from septet.inputs.arguments import exact, file_path, listed, real, shown, utf8, whole
from septet.inputs.documents import Unreadable, open_regular

#: Queries: texts by id; a file; or dicts with ``query`` and, optionally, ``id`` and ``relevant``.
Queries: TypeAlias = "Mapping[str, str] | str | os.PathLike[str] | Iterable[Mapping[str, object]]"
#: Judgements: for each query's id the relevant ids, or grades by id; or a file.
Qrels: TypeAlias = "Mapping[str, Mapping[str, float] | Iterable[str]] | str | os.PathLike[str]"

MOST_QUERIES = 1_000_000
MOST_JUDGEMENTS = 10_000_000
MOST_LINE_BYTES = 10_000_000
MOST_GRADE = 1_000_000
MOST_CHARS = 1_000_000

#: Field names of a query record; the first one present is used.
_TEXT, _ID = ("query", "text"), ("id", "_id", "qid", "query_id", "query-id")
_Read = TypeVar("_Read")
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")


class Query(NamedTuple):
    """A query and the grades of its judged entries; grades are None if it has no judgements."""

    id: str
    text: str
    grades: Mapping[str, float] | None

    def to_dict(self) -> dict[str, object]:
        """Return the query as a record for `septet.evaluate`."""
        judgements = {} if self.grades is None else {"relevant": self.grades}
        return {"id": self.id, "query": self.text, **judgements}


def judged(queries: Queries, qrels: Qrels | None) -> list[Query]:
    """Return the queries in order, with their judgements; raise QueryError if any is invalid, or none is judged."""
    if isinstance(queries, Mapping):
        parsed = [_query(id, text) for id, text in queries.items()]
    elif isinstance(queries, (str, os.PathLike)):
        parsed = _of_file(queries, "queries", queries_in)
    else:
        expected = "a dict of texts by id, a file, or dicts with query and relevant"
        records = listed(queries, "queries", QueryError, expected, MOST_QUERIES)
        parsed = [_record(record, f"query {at}", str(at)) for at, record in enumerate(records, start=1)]
    if len(parsed) > MOST_QUERIES:
        raise QueryError(f"queries has {len(parsed):,} items: at most {MOST_QUERIES:,} are allowed")
    seen: set[str] = set()
    for query in parsed:
        if query.id in seen:
            raise QueryError(f"duplicate query id {shown(query.id)}: give each query its own id")
        seen.add(query.id)
    if qrels is not None:
        if any(query.grades is not None for query in parsed):
            raise QueryError("qrels given, but the queries have 'relevant': omit one of them")
        grades = _qrels(qrels)
        parsed = [query._replace(grades=grades.get(query.id)) for query in parsed]
    if not any(query.grades for query in parsed):
        why = "name the entries that answer them in qrels, or as 'relevant' of each"
        if qrels is not None and parsed:
            why = f"qrels has no judgement for {shown(parsed[0].id)}, for example; do the ids of both agree?"
        raise QueryError(f"none of {len(parsed)} queries is judged: {why}")
    return parsed


def _query(id: object, text: object, grades: object = None, what: str = "") -> Query:
    name = utf8(id, f"{what or 'a query'}: its id", QueryError, MOST_CHARS)
    query_text = utf8(text, f"{what or f'the query {shown(name)}'}: its text", QueryError, MOST_CHARS)
    return Query(name, query_text, None if grades is None else _grades(grades, what or f"the query {shown(name)}"))


def _record(record: object, what: str, number: str) -> Query:
    """Return the query of a dict; the default id is its number."""
    if not isinstance(record, Mapping):
        raise QueryError(f"{what} is {shown(record)}: wanted a dict, as {{'query': 'text', 'relevant': ['id']}}")
    text = next((record[name] for name in _TEXT if name in record), None)
    if text is None:
        raise QueryError(f"{what} has no text: wanted it as 'query' or 'text' in {shown(dict(record))}")
    id = next((record[name] for name in _ID if record.get(name) is not None), number)
    return _query(str(exact(id)) if isinstance(id, int) else id, text, record.get("relevant"), what)


def _grades(judgements: object, what: str) -> dict[str, float]:
    """Return grades by id; the ids of a list have grade 1."""
    if not isinstance(judgements, Mapping):
        ids = listed(judgements, f"{what}: relevant", QueryError, "ids, or grades by id", MOST_JUDGEMENTS)
        judgements = dict.fromkeys([utf8(id, f"{what}: a relevant id", QueryError, MOST_CHARS) for id in ids], 1)
    return {
        utf8(id, f"{what}: a judged id", QueryError, MOST_CHARS): _grade(grade, f"{what}: the grade of {shown(id)}")
        for id, grade in judgements.items()
    }


def _grade(value: object, what: str) -> float:
    """Return a grade, with integral floats such as 1.0 as int."""
    number = exact(value)
    if not isinstance(number, (float, np.floating)):
        return whole(number, what, QueryError, -MOST_GRADE, MOST_GRADE)
    grade = real(number, what, QueryError, -MOST_GRADE, MOST_GRADE)
    return int(grade) if grade.is_integer() else grade


def _qrels(qrels: Qrels) -> Mapping[str, Mapping[str, float]]:
    if isinstance(qrels, (str, os.PathLike)):
        return _of_file(qrels, "qrels", _qrels_in)
    if not isinstance(qrels, Mapping):
        raise QueryError(f"qrels is {shown(qrels)}: wanted a dict by the queries' ids, or a file")
    return {
        utf8(id, "a query's id in qrels", QueryError, MOST_CHARS): _grades(judgements, f"qrels of {shown(id)}")
        for id, judgements in qrels.items()
    }


# -- files -----------------------------------------------------------------------------------------------------------


def _of_file(path: object, what: str, read: Callable[[Iterable[bytes], str], _Read]) -> _Read:
    """Read the lines of a file; ``.gz`` is decompressed."""
    checked = file_path(path, what, QueryError)
    name = printable(checked)
    try:
        with open_regular(Path(checked)) as file:
            return read(_lines(gzip.GzipFile(fileobj=file) if checked.endswith(".gz") else file, name), name)
    except Unreadable as fault:
        raise QueryError(f"{name} {fault}") from None
    except (OSError, EOFError, zlib.error) as fault:
        raise QueryError(f"{name} cannot be read: {fault}") from None


def _lines(file: BinaryIO | gzip.GzipFile, name: str) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) > MOST_LINE_BYTES:
            raise QueryError(f"{name}, line {number}: longer than {MOST_LINE_BYTES:,} bytes")
        yield line


def _numbered(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number, the place for messages and the text of each line that is not blank."""
    for number, line in enumerate(lines, start=1):
        where = f"{name}, line {number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as fault:
            raise QueryError(f"{where}: not UTF-8 (byte {fault.start}): save the file as UTF-8") from None
        if text.strip():
            yield number, where, text


def queries_in(lines: Iterable[bytes], name: str) -> list[Query]:
    """Return the queries of a file, one per line: a JSON object, or id, tab and text; else raise QueryError."""
    parsed: list[Query] = []
    for number, where, text in _numbered(lines, name):
        if len(parsed) == MOST_QUERIES:
            raise QueryError(f"{where}: at most {MOST_QUERIES:,} queries are allowed")
        if text.lstrip().startswith("{"):
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as fault:
                raise QueryError(f"{where} is not JSON: {fault}") from None
            parsed.append(_record(record, where, str(number)))
            continue
        id, tab, query = text.partition("\t")
        if not tab:
            raise QueryError(f"{where} is {shown(text)}: wanted a JSON object, or an id, a tab and the text")
        if number > 1 or (id, query) not in ((a, b) for a in _ID for b in _TEXT):
            parsed.append(_query(id, query, None, where))
    return parsed


def _qrels_in(lines: Iterable[bytes], name: str) -> dict[str, dict[str, float]]:
    """Read ``qid iteration id grade`` (TREC) or ``qid id grade`` (BEIR); a first line without a grade is a header."""
    grades: dict[str, dict[str, float]] = {}
    count = 0
    for number, where, text in _numbered(lines, name):
        columns = text.split("\t") if "\t" in text else text.split()
        if len(columns) not in (3, 4):
            raise QueryError(f"{where} is {shown(text)}: wanted qid, iteration, id and grade")
        try:
            grade = int(columns[-1]) if _WHOLE.fullmatch(columns[-1]) else float(columns[-1])
        except ValueError:
            if number == 1:
                continue
            raise QueryError(f"{where}: the grade is {shown(columns[-1])}: wanted a number") from None
        count += 1
        if count > MOST_JUDGEMENTS:
            raise QueryError(f"{where}: at most {MOST_JUDGEMENTS:,} judgements are allowed")
        grades.setdefault(columns[0], {})[columns[-2]] = _grade(grade, f"{where}: the grade")
    return grades
