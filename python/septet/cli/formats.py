"""How answers are written: as a table for people, or as JSON, JSON lines, Markdown, CSV or ids for programs.

Each command says what it found, and what a row of it is; the formats are made here, and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.terminal import flat, harmless, print_json, print_json_line, unguarded
from septet.errors import QueryError
from septet.inputs.times import iso_time

if TYPE_CHECKING:
    from septet.cli.screen import Screen

__all__ = ["Format", "FormatOption", "Found", "format_of", "show", "table"]


#: What Markdown would take for more than text, in the cell of a table.
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*_[]<>#"})
_LEAST_CELL = 8
_TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until"})


class Format(str, Enum):
    """How an answer is written."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    md = "md"
    csv = "csv"
    ids = "ids"


FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format", metavar="table|json|jsonl|md|csv|ids", help="How the answer is written; default table.",
        show_default=False,
    ),
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a command found.

    Attributes:
        whole: all of it, for ``json``.
        records: what a line is in ``jsonl``.
        columns: the fields of the records that ``csv`` and ``md`` show; none if a table makes no sense of them.
        show: prints it for people; default a table of the columns.
        documents: what ``md`` prints in the place of a table, texts in Markdown.
        ids: one a line, in ``ids``; None if what was found has none.
    """

    whole: Any
    records: Sequence[Mapping[str, Any]]
    columns: Sequence[str] = ()
    show: Callable[[Screen], None] | None = None
    documents: Sequence[str] = ()
    ids: Sequence[str] | None = None


def format_of(named: Format | None, as_json: bool) -> Format:
    """Return the format that was asked for.

    Raises:
        QueryError: --json, and another one.
    """
    if as_json and named not in (None, Format.json):
        raise QueryError(f"--json and --format {named.value} are two formats: give one")
    return Format.json if as_json else named or Format.table


def show(found: Found, format: Format) -> None:
    """Print what was found.

    Raises:
        QueryError: it cannot be written in this format.
    """
    if format is Format.json:
        print_json(found.whole)
    elif format is Format.jsonl:
        for record in found.records:
            print_json_line(record)
    elif format is Format.ids:
        if found.ids is None:
            raise QueryError("--format ids: what this command prints has no ids")
        for id in found.ids:
            print(flat(id))
    elif format is Format.table:
        _show_table(found)
    elif format is Format.md and found.documents:
        print("\n".join(found.documents), end="")
    elif not found.columns:
        raise QueryError(f"--format {format.value}: this command has no rows: table, json or jsonl")
    elif format is Format.csv:
        _show_csv(found)
    else:
        _show_markdown(found)


def table(out: Screen, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, measured in cells of the terminal; on a narrow one a line for each value.

    Where the line is too short, the last column gives way first, then whichever is widest.
    """
    from septet.cli.screen import cells, fitted

    lines = [[flat(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(cells, column)) for column in zip(*lines, strict=True)]
    room = out.width - 2 * (len(widths) - 1)
    if sum(min(width, _LEAST_CELL) for width in widths) > room:
        _show_values(out, lines)
        return
    while sum(widths) > room:
        widest = len(widths) - 1 if widths[-1] > 2 * _LEAST_CELL else widths.index(max(widths))
        widths[widest] -= 1
    for number, line in enumerate(lines):
        said = [fitted(cell, width, ascii_only=out.ascii_only) for cell, width in zip(line, widths, strict=True)]
        padded = "  ".join(cell + " " * (width - cells(cell)) for cell, width in zip(said, widths, strict=True))
        out.print(padded.rstrip(), "" if number else "dim")


def _show_values(out: Screen, lines: Sequence[Sequence[str]]) -> None:
    """Print a line for each value, and a blank one between rows; what has no value is left out."""
    from septet.cli.screen import Line

    heads, *rows = lines
    widest = max(map(len, heads))
    for number, row in enumerate(rows):
        if number:
            out.print()
        for head, cell in zip(heads, row, strict=True):
            if cell:
                out.print(Line(f"{head.ljust(widest)}  ", "dim").append(cell))


def _show_table(found: Found) -> None:
    from septet.cli.screen import console

    out = console(sys.stdout)
    if found.show is not None:
        found.show(out)
    elif found.records:
        table(out, found.columns, [[_text(record.get(name)) for name in found.columns] for record in found.records])


def _show_csv(found: Found) -> None:
    """Print CSV as of RFC 4180: lines end with CR LF, and line feeds stay inside of quotes.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    import csv
    import io

    lines = io.StringIO(newline="")
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerow(found.columns)
    for record in found.records:
        writer.writerow([_cell(_dated(name, record.get(name))) for name in found.columns])
    sys.stdout.flush()
    # The cells are harmless; the guard would take the CR at the ends of lines for harm.
    stream = unguarded(sys.stdout)
    stream.write(lines.getvalue())
    stream.flush()


def _dated(name: str, value: Any) -> Any:
    """Return the value of a column, a time as ISO text, which `import` reads as well."""
    return iso_time(value) if name in _TIMES and isinstance(value, (int, float)) else value


def _cell(value: Any) -> str:
    from septet.exchange.rows import guarded_cell

    text = harmless(_text(value).replace("\r\n", "\n").replace("\r", "\n"))
    return text if isinstance(value, (int, float)) else guarded_cell(text)


def _show_markdown(found: Found) -> None:
    print(f"| {' | '.join(found.columns)} |")
    print(f"|{'---|' * len(found.columns)}")
    for record in found.records:
        print(f"| {' | '.join(flat(_text(record.get(name))).translate(_MARKDOWN) for name in found.columns)} |")


def _text(value: Any) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1_000 else repr(value)
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)
