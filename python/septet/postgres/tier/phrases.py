"""Terms of a query that FTS5 splits into several tokens in a row, such as words of Hindi with vowel signs.

Postings have no positions, so the texts of entries with all tokens are searched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet import _core
from septet.postgres.store.analysis import GRAMS, MEMORIES, TEXTS
from septet.postgres.tables.fulltext import Posting, with_all
from septet.query.plan import MEMORY
from septet.ranking.bm25_scale import K1, B
from septet.ranking.pool import Candidate

if TYPE_CHECKING:
    from septet.postgres.store.pipeline import Statement
    from septet.postgres.store.vaults import VaultRow
    from septet.query.plan import SearchPlan


#: Maximum entries examined for each phrase.
MOST_ENTRIES = 10_000


class Phrases:
    """Which entries hold phrases, and how often in each column.

    Args:
        begun: the last token of each is a prefix, as in a cascade.

    Attributes:
        postings: by phrase; those of memories, too.
        cut: phrases whose tokens more entries hold than are looked at.
    """

    def __init__(self, wanted: Mapping[str, Sequence[bytes]], *, begun: bool = False) -> None:
        self._wanted, self._begun = wanted, begun
        self.postings: dict[str, list[Posting]] = {}
        self.cut: set[str] = set()

    def questions(self, vault: VaultRow) -> list[Statement]:
        """Return the statements for the entries that may contain each phrase, for `take`."""
        return [
            with_all(
                vault,
                _core.stored_terms(tokens[:-1] if self._begun else tokens),
                MOST_ENTRIES + 1,
            )
            for tokens in self._wanted.values()
        ]

    def take(self, answers: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        """Store the results of the statements."""
        for (name, tokens), rows in zip(self._wanted.items(), answers):
            if len(rows) > MOST_ENTRIES:
                self.cut.add(name)
            kept = rows[:MOST_ENTRIES]
            self.postings[name] = list(_postings(name, tokens, kept, begun=self._begun))

    def counts(self) -> Iterator[tuple[int, str, int]]:
        """Yield part, phrase, and how many entries hold it there; memories by their own parts."""
        for name, postings in self.postings.items():
            held = Counter(posting.part + (MEMORIES if posting.memory else 0) for posting in postings)
            for part in (TEXTS, GRAMS, TEXTS + MEMORIES, GRAMS + MEMORIES):
                yield part, name, held[part]

    def holding(self, name: str, parts: Sequence[int], *, memories: bool) -> int:
        """Return how many entries hold a phrase in any of the parts."""
        own = [place for place in self.postings.get(name, ()) if memories or not place.memory]
        return len({posting.row for posting in own if posting.part in parts})


def constants(plan: SearchPlan) -> tuple[float, float]:
    """Return k1 and b of a query: FTS5's own for one with a phrase, which in a local vault FTS5 alone ranks."""
    rules = plan.profile.text
    return (K1, B) if plan.query.has_phrase else (rules.k1, rules.b)


def columns_of(part: int, candidate: Candidate, grams: str) -> list[Sequence[bytes]]:
    """Return the tokens of an entry by column: of its texts, or of its grams."""
    c = candidate
    texts = (c.id, c.title, c.description, c.context, c.tags_json) if part == TEXTS else (grams,)
    return [_core.index_terms(text) for text in texts]


def times(tokens: Sequence[bytes], wanted: Sequence[bytes], *, begun: bool = False) -> int:
    """Return the number of occurrences of tokens in a row; with ``begun`` the last one is a prefix."""
    many, first = len(wanted), wanted[0]
    if begun:
        head, tail, last = list(wanted[:-1]), wanted[-1], many - 1
        return sum(
            tokens[at + last].startswith(tail) and list(tokens[at : at + last]) == head
            for at in range(len(tokens) - last)
        )
    return sum(
        tokens[at] == first and list(tokens[at : at + many]) == list(wanted) for at in range(len(tokens) - many + 1)
    )


def bm25_of(
    columns: Sequence[Sequence[bytes]],
    weights: Iterable[float],
    terms: Iterable[tuple[Sequence[bytes], float]],
    k1: float,
    norm: float,
    *,
    begun: bool = False,
    every: bool = False,
) -> float:
    """Return the BM25 score of an entry.

    Args:
        columns: its tokens, by column.
        terms: tokens and inverse document frequency of each.
        norm: k1, scaled by the length of the entry.
        begun: the last token of each term is a prefix.
        every: the score is 0 without a match of every term.
    """
    weights, total = list(weights), 0.0
    for tokens, idf in terms:
        counts = [times(column, tokens, begun=begun) if tokens else 0 for column in columns]
        f = float(sum(weight * count for weight, count in zip(weights, counts)))
        if every and not f:
            return 0.0
        total += idf * ((f * (k1 + 1)) / (f + norm)) if f else 0.0
    return total


def _postings(name: str, tokens: Sequence[bytes], rows: Iterable[tuple[Any, ...]], *, begun: bool) -> Iterator[Posting]:
    for bucket, part, _, grams, *facts in rows:
        candidate = Candidate._make(facts)
        columns = columns_of(part, candidate, grams)
        counts = [times(column, tokens, begun=begun) for column in columns]
        if any(counts):
            # Grams are counted in the column of titles.
            placed = counts if part == TEXTS else [0, *counts, 0, 0, 0]
            yield Posting._make(
                (name, bucket, candidate.row, part, candidate.kind == MEMORY, *placed, sum(map(len, columns)))
            )
