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

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Format", "FormatOption", "Found", "format_of", "show", "table"]


#: Characters that a cell of a spreadsheet must not begin with: it would be a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: What Markdown would take for more than text, in the cell of a table.
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*_[]<>#"})
_LEAST_CELL = 8


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
    show: Callable[[Console], None] | None = None
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


def table(out: Console, rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> None:
    """Print rows in columns as wide as they need, in cells of the terminal.

    The last column takes what is left of the line. Where that is not enough, the widest of the others are cut.
    """
    from rich.cells import cell_len, set_cell_size

    lines = [[flat(cell) for cell in row] for row in ([list(heads)] if heads else []) + [list(row) for row in rows]]
    if not lines:
        return
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    room = out.width - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _LEAST_CELL:
        # A text at the end gives way first, then whatever is widest.
        widest = len(widths) - 1 if widths[-1] > 2 * _LEAST_CELL else widths.index(max(widths))
        widths[widest] -= 1
    for number, line in enumerate(lines):
        cells = [_cut(cell, width) for cell, width in zip(line, widths, strict=True)]
        said = "  ".join(set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        out.print(said, style="dim" if heads and not number else "")


def _cut(cell: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return cell if cell_len(cell) <= width else set_cell_size(cell, width - 1).rstrip() + "…"


def _show_table(found: Found) -> None:
    from septet.cli.render import console

    out = console(sys.stdout)
    if found.show is not None:
        found.show(out)
    elif found.records:
        table(out, [[_text(record.get(name)) for name in found.columns] for record in found.records], found.columns)


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
        writer.writerow([_cell(record.get(name)) for name in found.columns])
    sys.stdout.flush()
    # The cells are harmless; the guard would take the CR at the ends of lines for harm.
    stream = unguarded(sys.stdout)
    stream.write(lines.getvalue())
    stream.flush()


def _cell(value: Any) -> str:
    text = harmless(_text(value).replace("\r\n", "\n").replace("\r", "\n"))
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text


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
