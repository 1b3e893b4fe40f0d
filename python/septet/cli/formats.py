"""Output formats: a table for people; JSON, JSON lines, Markdown, CSV or ids for programs.

Commands describe their result as an `Output`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.terminal import flat, harmless, print_json, print_json_line, unguarded
from septet.errors import QueryError
from septet.inputs.times import iso_time
from septet.system.records import dataclass

if TYPE_CHECKING:
    from septet.cli.screen import Screen

#: Escapes for Markdown markup in the cell of a table.
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*_[]<>#"})
_LEAST_CELL = 8
_TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until"})


class Format(str, Enum):
    """An output format."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    md = "md"
    csv = "csv"
    ids = "ids"


FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format", metavar="table|json|jsonl|md|csv|ids", help="The output format; default table.",
        show_default=False,
    ),
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Output:
    """The result of a command.

    Attributes:
        whole: the ``json`` output.
        records: the lines of ``jsonl``.
        columns: the fields of the records in ``csv``, ``md`` and ``table``; empty if the result is not tabular.
        show: prints the result for people; default a table of the columns.
        documents: Markdown texts that ``md`` prints instead of a table.
        ids: the lines of ``ids``; None without ids.
    """

    whole: Any
    records: Sequence[Mapping[str, Any]]
    columns: Sequence[str] = ()
    show: Callable[[Screen], None] | None = None
    documents: Sequence[str] = ()
    ids: Sequence[str] | None = None


def format_of(named: Format | None, as_json: bool) -> Format | None:
    """Return the format that the options select; None without any (`QueryError`)."""
    if as_json and named not in (None, Format.json):
        raise QueryError(f"--json conflicts with --format {named.value}: use one of them")
    return Format.json if as_json else named


def show(output: Output, format: Format) -> None:
    """Print a result (`QueryError`)."""
    if format is Format.json:
        print_json(output.whole)
    elif format is Format.jsonl:
        for record in output.records:
            print_json_line(record)
    elif format is Format.ids:
        if output.ids is None:
            raise QueryError("--format ids: this command prints no ids")
        for id in output.ids:
            print(flat(id))
    elif format is Format.table:
        _show_table(output)
    elif format is Format.md and output.documents:
        print("\n".join(output.documents), end="")
    elif not output.columns:
        raise QueryError(f"--format {format.value}: this command has no rows: table, json or jsonl")
    elif format is Format.csv:
        _show_csv(output)
    else:
        print(f"| {' | '.join(output.columns)} |")
        print(f"|{'---|' * len(output.columns)}")
        for record in output.records:
            print(f"| {' | '.join(flat(_text(record.get(name))).translate(_MARKDOWN) for name in output.columns)} |")


def table(out: Screen, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns; on a narrow terminal, a line per value.

    Shrinks the last column first, then the widest one.
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
        cut = [fitted(cell, width, ascii_only=out.ascii_only) for cell, width in zip(line, widths, strict=True)]
        padded = "  ".join(cell + " " * (width - cells(cell)) for cell, width in zip(cut, widths, strict=True))
        out.print(padded.rstrip(), "" if number else "dim")


def _show_values(out: Screen, lines: Sequence[Sequence[str]]) -> None:
    """Print a line per non-empty value, and a blank line between rows."""
    from septet.cli.screen import StyledLine

    heads, *rows = lines
    widest = max(map(len, heads))
    for number, row in enumerate(rows):
        if number:
            out.print()
        for head, cell in zip(heads, row, strict=True):
            if cell:
                out.print(StyledLine(f"{head.ljust(widest)}  ", "dim").append(cell))


def _show_table(output: Output) -> None:
    from septet.cli.screen import console

    out = console(sys.stdout)
    if output.show is not None:
        output.show(out)
    elif output.records:
        table(out, output.columns, [[_text(record.get(name)) for name in output.columns] for record in output.records])


def _show_csv(output: Output) -> None:
    """Print CSV as in RFC 4180: lines end with CR LF; quoted cells may contain LF.

    Prefixes texts that a spreadsheet would read as a formula with an apostrophe.
    """
    import csv
    import io

    lines = io.StringIO(newline="")
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerow(output.columns)
    for record in output.records:
        # Times as ISO texts, which `septet import` reads.
        values = {name: iso_time(record[name]) for name in _TIMES if isinstance(record.get(name), (int, float))}
        writer.writerow([_cell(values.get(name, record.get(name))) for name in output.columns])
    sys.stdout.flush()
    # The cells are escaped already, and the guard would replace the CR of line ends.
    stream = unguarded(sys.stdout)
    stream.write(lines.getvalue())
    stream.flush()


def _cell(value: Any) -> str:
    from septet.exchange.tables import guarded_cell

    text = harmless(_text(value).replace("\r\n", "\n").replace("\r", "\n"))
    return text if isinstance(value, (int, float)) else guarded_cell(text)


def _text(value: Any) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1_000 else repr(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)
