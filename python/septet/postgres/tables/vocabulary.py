"""The words that live entries hold, as spelling compares them: those like others, and those that begin with letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from septet.postgres.store.analysis import MEMORIES, WORDS
from septet.postgres.store.pipeline import Statement

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow

__all__ = ["beginning", "like", "range_of"]

#: Behind every text that begins with the same letters: no letter has the last code point.
_LAST = "\U0010ffff"
#: Words of entries and those of memories alike.
_PARTS = (WORDS, WORDS + MEMORIES)

# By what was asked for, the words of the table of counts and of the changes that are not in it yet.
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
# An edit brings at most one letter, and takes away at most one.
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
    """Return the texts from which on, and before which, all lie that begin with letters, in the order of ``"C"``."""
    return beginning, beginning + _LAST


def like(vault: VaultRow, words: Mapping[str, int]) -> Statement:
    """Return what asks for words that may be so many edits away from others, given folded: the place, and the word.

    Some are further away; `septet._core.edits_between` tells.
    """
    return _asked(_LIKE, vault, (list(words), list(words.values())))


def beginning(vault: VaultRow, beginnings: Sequence[str]) -> Statement:
    """Return what asks for words that begin with letters, given folded: the place of the letters, and the word."""
    lows, highs = zip(*map(range_of, beginnings))
    return _asked(_BEGINNING, vault, (list(lows), list(highs)))


def _asked(sql: str, vault: VaultRow, asked: tuple[object, ...]) -> Statement:
    return Statement(sql, (*asked, vault.number, list(_PARTS), [str(part) for part in _PARTS], *asked, vault.number))
