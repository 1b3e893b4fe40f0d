"""The words of live entries: those similar to others, and those with a prefix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from septet.postgres.store.analysis import MEMORIES, WORDS
from septet.postgres.store.pipeline import Statement

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow

#: The last code point, which ends a range of texts with the same prefix.
_LAST = "\U0010ffff"
#: Words of entries and of memories.
_PARTS = (WORDS, WORDS + MEMORIES)

# Matching words of the counts and of their unfolded changes.
_HELD = """
SELECT h.place::integer, h.term FROM (
    SELECT t.bucket, a.place, t.term, t.count FROM ({asked}) a JOIN septet.term_counts t
        ON t.vault = %s AND t.part = ANY(%s::smallint[]) AND {of_counts}
    UNION ALL
    SELECT c.bucket, a.place, o.key COLLATE "C", o.value::bigint
    FROM septet.count_changes c
    CROSS JOIN unnest(%s::text[]) AS p (part)
    CROSS JOIN LATERAL jsonb_each_text(c.counts -> p.part) AS o (key, value)
    JOIN ({asked}) a ON {of_changes}
    WHERE c.vault = %s
) h GROUP BY h.place, h.term HAVING sum(h.count) > 0
"""
# An edit adds at most one letter and removes at most one.
_NEAR = """
    char_length({0}) BETWEEN a.letters - a.edits AND a.letters + a.edits
    AND char_length(translate({0}, a.word, '')) <= a.edits
    AND char_length(translate(a.word, {0}, '')) <= a.edits
"""
_LIKE = _HELD.format(
    asked="SELECT w.word, char_length(w.word) AS letters, w.edits, w.place - 1 AS place "
    "FROM unnest(%s::text[], %s::integer[]) WITH ORDINALITY AS w (word, edits, place)",
    of_counts=_NEAR.format("t.term"),
    of_changes=_NEAR.format("o.key"),
)
_BEGINNING = _HELD.format(
    asked="SELECT w.low, w.high, w.place - 1 AS place "
    "FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS w (low, high, place)",
    of_counts='t.term >= a.low COLLATE "C" AND t.term < a.high COLLATE "C"',
    of_changes='o.key >= a.low COLLATE "C" AND o.key < a.high COLLATE "C"',
)


def range_of(beginning: str) -> tuple[str, str]:
    """Return the bounds ``[low, high)`` of all texts with a prefix, in "C" collation."""
    return beginning, beginning + _LAST


def like(vault: VaultRow, words: Mapping[str, int]) -> Statement:
    """Return the statement for words within about ``words[word]`` edits of folded words: place, and similar word.

    Some are further away; filter them with `septet._core.edits_between`.
    """
    return _statement(_LIKE, vault, (list(words), list(words.values())))


def beginning(vault: VaultRow, beginnings: Sequence[str]) -> Statement:
    """Return the statement for words with folded prefixes: place of the prefix, and word."""
    lows, highs = zip(*map(range_of, beginnings))
    return _statement(_BEGINNING, vault, (list(lows), list(highs)))


def _statement(sql: str, vault: VaultRow, terms: tuple[object, ...]) -> Statement:
    return Statement(sql, (*terms, vault.number, list(_PARTS), [str(part) for part in _PARTS], *terms, vault.number))
