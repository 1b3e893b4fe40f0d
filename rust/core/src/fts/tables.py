"""Write `tables.rs`: what FTS5's `unicode61 remove_diacritics 2` makes of every code point, asked of FTS5 itself.

Run it with the Python whose SQLite is the reference: ``python tables.py > tables.rs``.

Every code point stands once alone and once between two digits. Alone it is a token or none; between the digits it joins
them (a letter, perhaps folded), vanishes (a mark) or parts them (a separator). Anything else stops the script.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable

CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
BATCH = 200_000
WIDTH = 118

Run = tuple[int, int, int, int]


def tokens(texts: list[str]) -> list[list[bytes]]:
    """Return FTS5's tokens of each text, in order."""
    sql = sqlite3.connect(":memory:")
    sql.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'unicode61 remove_diacritics 2')")
    sql.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
    sql.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))
    found: list[list[bytes]] = [[] for _ in texts]
    for term, row in sql.execute("SELECT CAST(term AS BLOB), doc FROM v ORDER BY doc, offset"):
        found[row].append(term)
    return found


def classes() -> tuple[list[int], list[int], dict[int, int]]:
    """Return the separators, the marks, and what each letter that changes is folded to."""
    separators, marks, folds = [], [], {}
    for start in range(0, len(CODES), BATCH):
        part = CODES[start : start + BATCH]
        alone, between = tokens([chr(c) for c in part]), tokens([f"1{chr(c)}2" for c in part])
        for code, single, joined in zip(part, alone, between):
            if not single and joined == [b"1", b"2"]:
                separators.append(code)
            elif not single and joined == [b"12"]:
                marks.append(code)
            elif len(single) == 1 and joined == [b"1" + single[0] + b"2"]:
                folds[code] = ord(single[0].decode())
            else:
                raise SystemExit(f"U+{code:04X} behaves like nothing known: {single}, {joined}")
    return separators, marks, {code: to for code, to in folds.items() if to != code}


def ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending code points as ranges, both ends included."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def runs(folds: dict[int, int]) -> list[Run]:
    """Return the folds as runs: first, last, step, what to add."""
    found: list[Run] = []
    for code, to in sorted(folds.items()):
        first, last, step, shift = found[-1] if found else (0, 0, 0, 0)
        if found and shift == to - code and (code == last + step or (first == last and code - last <= 2)):
            found[-1] = (first, code, code - last, shift)
        else:
            found.append((code, code, 1, to - code))
    return found


def table(name: str, kind: str, about: str, items: list[str]) -> str:
    """Return one Rust table, as many items a line as fit."""
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) > WIDTH:
            lines.append(line)
            line = ""
        line += f" {item},"
    body = "\n".join(f"   {text}" for text in [*lines, line])
    return f"/// {about}\n#[rustfmt::skip]\npub(super) static {name}: [{kind}; {len(items)}] = [\n{body}\n];\n"


def main() -> None:
    """Print `tables.rs`."""
    separators, marks, folds = classes()
    pairs = "(u32, u32)"
    head = f"//! The code points as `unicode61 remove_diacritics 2` of SQLite {sqlite3.sqlite_version} classes them."
    parts = [
        f"{head} Written by `tables.py`; do not edit.\n",
        table(
            "SEPARATORS",
            pairs,
            "The separators: ranges, both ends included. Any other code point is part of a token.",
            [f"({a:#x}, {b:#x})" for a, b in ranges(separators)],
        ),
        table(
            "MARKS",
            pairs,
            "The marks that are dropped inside a token and cannot begin one: ranges, both ends included.",
            [f"({a:#x}, {b:#x})" for a, b in ranges(marks)],
        ),
        table(
            "FOLDS",
            "(u32, u32, u32, i32)",
            "The code points that fold inside a token: first, last, step, offset.",
            [f"({a:#x}, {b:#x}, {s}, {d})" for a, b, s, d in runs(folds)],
        ),
    ]
    sys.stdout.write("\n".join(parts))


if __name__ == "__main__":
    main()
