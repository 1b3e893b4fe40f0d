"""The figures of `benches/RESULTS.md` on the page of benchmarks.

The page says `<!-- figures: TITLE -->` where the lines of a section are to stand that have a bar, reached or not, and
`<!-- figures -->` for machine, versions and date. The whole file is a page of its own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Section", "filled", "head", "sections"]

_MARK = re.compile(r"<!-- figures(?:: (.+?))? -->")


class Section(NamedTuple):
    """A section of the results: its title, what it says, and the rows of its table as cells."""

    title: str
    text: str
    header: list[str]
    rows: list[list[str]]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def head(results: str) -> str:
    """Return the list of what was measured with: everything before the first section, without the title."""
    return results.split("\n## ", 1)[0].split("\n", 1)[1].strip()


def sections(results: str) -> dict[str, Section]:
    """Return the sections of the results by title.

    Raises:
        ValueError: a row has another number of cells than its table's header.
    """
    found = {}
    for part in re.split(r"^## ", results, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        tables = [_cells(line) for line in rest.splitlines() if line.startswith("|")]
        text = "\n".join(line for line in rest.splitlines() if not line.startswith("|")).strip()
        header, rows = (tables[0], tables[2:]) if tables else ([], [])
        if odd := [row for row in rows if len(row) != len(header)]:
            raise ValueError(f"{title}: {odd[0]} has {len(odd[0])} cells, its table {len(header)}")
        found[title.strip()] = Section(title.strip(), text, header, rows)
    return found


def _table(section: Section) -> str:
    what, ours, theirs, unit, against, ratio, bar, said = range(8)
    judged = [row for row in section.rows if row[said]] or section.rows
    lines = ["| what | Septet | against | ratio | bar |", "|---|--:|---|--:|--:|"]
    for row in judged:
        other = f"{row[against]}: {row[theirs]} {row[unit]}" if row[theirs] else ""
        mark = {"reached": " ✓", "NOT REACHED": ", **missed**"}.get(row[said], f" {row[said]}")
        cells = (row[what], f"{row[ours]} {row[unit]}", other, row[ratio], (row[bar] + mark).strip())
        lines.append("| " + " | ".join(cells) + " |")
    left = len(section.rows) - len(judged)
    more = f"\n\n{left} more lines without a bar are on the page of all figures." if left else ""
    return "\n".join(lines) + more


def filled(page: str, results: str) -> str:
    """Return the page with the figures in the place of its marks.

    Raises:
        KeyError: a mark names a section that the results do not have.
    """
    found = sections(results)

    def stand_in(mark: re.Match[str]) -> str:
        if mark[1] is None:
            return head(results)
        section = found[mark[1]]
        return f"{section.text}\n\n{_table(section)}"

    return _MARK.sub(stand_in, page)
