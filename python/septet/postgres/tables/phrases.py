"""Phrases in filters. Postings have no positions, so the texts of entries with all words are checked before a search.

`settled` replaces each filter on a phrase by one on the rows that hold it, read in the same snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from septet._core import index_terms, stored_terms

if TYPE_CHECKING:
    from septet.postgres.store.transactions import PostgresReading
    from septet.query.filters import Filter

#: Terms in a row, and True if the last one is a prefix.
_Phrase: TypeAlias = tuple[tuple[str, ...], bool]
#: The format of `septet.query.words`: quoted phrases joined by OR, with `*` after a prefix.
_QUOTED = re.compile(r'"([^"]*)"( \*)?')
#: Entries with all words of a phrase in one column, or in their grams.
_HOLDING = (
    "SELECT e.row, e.kind = 'memory', e.grams, e.id, e.title, e.description, e.tags, e.context "
    "FROM (SELECT DISTINCT p.bucket, p.row FROM septet.postings p WHERE p.vault = %s AND p.part IN (0, 1) "
    "AND p.term = ANY(%s::text[]) GROUP BY p.bucket, p.part, p.row HAVING count(*) = %s::bigint AND "
    "(bool_and(p.id > 0) OR bool_and(p.title > 0) OR bool_and(p.description > 0) OR bool_and(p.context > 0) "
    "OR bool_and(p.tags > 0))) t "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = t.bucket AND e.row = t.row WHERE e.live"
)


@dataclass(frozen=True, slots=True)
class Among:
    """A filter on the rows of entries."""

    rows: tuple[int, ...]


def terms_of(text: str) -> list[str]:
    """Return the terms of a text, as stored in the table of postings."""
    return stored_terms(index_terms(text))


def alternatives(match: str) -> list[tuple[list[str], bool]]:
    """Return the terms of each phrase of a filter, and True if the last one is a prefix."""
    return [(terms_of(words), bool(begun)) for words, begun in _QUOTED.findall(match)]


def settled(read: PostgresReading, filters: Mapping[str, Filter]) -> Mapping[str, Filter]:
    """Return filters with phrases replaced by rows; unchanged if none has a phrase."""
    if not any(map(_has_phrase, filters.values())):
        return filters
    known: dict[_Phrase, tuple[int, ...]] = {}
    return {name: _settle(read, item, known) for name, item in filters.items()}


def _has_phrase(item: Filter) -> bool:
    from septet.query.filters import AllOf, AnyOf, Holds, Not

    if isinstance(item, Not):
        return _has_phrase(item.part)
    if isinstance(item, (AllOf, AnyOf)):
        return any(map(_has_phrase, item.parts))
    return isinstance(item, Holds) and any(len(words) > 1 for words, _ in alternatives(item.match))


def _settle(read: PostgresReading, item: Filter, known: dict[_Phrase, tuple[int, ...]]) -> Filter:
    from septet.query.filters import AllOf, AnyOf, Holds, Not

    if isinstance(item, Not):
        return Not(_settle(read, item.part, known))
    if isinstance(item, (AllOf, AnyOf)):
        return type(item)(tuple(_settle(read, part, known) for part in item.parts))
    if not (isinstance(item, Holds) and _has_phrase(item)):
        return item
    single: list[str] = []
    keys: list[_Phrase] = []
    for (words, begun), (text, star) in zip(alternatives(item.match), _QUOTED.findall(item.match)):
        if len(words) < 2:
            single.append(f'"{text}"{star}')
        else:
            keys.append((tuple(words), begun))
    _read_rows(read, keys, known)
    phrases = [cast("Filter", Among(known[key])) for key in keys]
    return AnyOf((*phrases, Holds(" OR ".join(single), item.grams)))


def _read_rows(read: PostgresReading, phrases: Sequence[_Phrase], known: dict[_Phrase, tuple[int, ...]]) -> None:
    """Add the rows of the entries with consecutive terms in one text, for each phrase that is not known yet."""
    from septet.postgres.store.pipeline import Statement, together

    new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in known]
    # The words of a prefix are matched in the texts.
    whole = [[*dict.fromkeys(words[:-1] if begun else words)] for words, begun in new]
    vault = read.vault.number
    answers = together(read, [Statement(_HOLDING, (vault, terms, len(terms), vault)) for terms in whole])
    for (words, begun), answer in zip(new, answers):
        # As in a local vault, full text does not index the context of memories.
        known[words, begun] = tuple(
            int(row)
            for row, memory, grams, *texts in answer
            if any(_are_consecutive(terms_of(text), words, begun) for text in (grams, *texts[: 4 if memory else 5]))
        )


def _are_consecutive(terms: Sequence[str], words: Sequence[str], begun: bool) -> bool:
    first, many = words[0], len(words)
    for at in range(len(terms) - many + 1):
        if terms[at] == first or (begun and many == 1):
            window = terms[at : at + many]
            if window == [*words] or (begun and window[:-1] == [*words[:-1]] and window[-1].startswith(words[-1])):
                return True
    return False
