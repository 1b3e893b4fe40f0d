"""The first round trip of a search: statistics of the whole vault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from septet import _core
from septet.postgres.store.analysis import CONTEXTS, GRAMS, MEMORIES, TEXTS, TRIGRAMS
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.tables import counts, covered
from septet.postgres.tables.counts import FEEDBACK, PartCounts, Total
from septet.postgres.tables.statistics import SpacesAndLinks, outside, standing, texts_outside
from septet.postgres.tier.phrases import Phrases
from septet.ranking.bm25_scale import LEAST_IDF
from septet.ranking.pool import searched_text
from septet.store.rows import ACTIONS

if TYPE_CHECKING:
    from septet.model.vector import Space
    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.store.vaults import VaultRow
    from septet.query.plan import SearchPlan

NOTHING = Total(0, 0)


class QueryTerms(NamedTuple):
    """The terms of queries as they are counted.

    Attributes:
        tokens: FTS5's tokens by term of a query; several are a phrase.
        names: stored form of each term; for a phrase, its name in one search.
        stored: stored form of each token.
        trigrams: their numbers.
    """

    tokens: Mapping[str, Sequence[bytes]]
    names: Mapping[str, str]
    stored: Mapping[bytes, str]
    trigrams: Sequence[int]

    def of(self, terms: Iterable[str]) -> list[str]:
        """Return the stored forms of terms, in order, without those that FTS5 drops."""
        return [name for term in terms if (name := self.names.get(term)) is not None]

    def stem(self, term: str) -> bytes:
        """Return the prefix of a cascade's term: for a phrase its tokens, empty for no term."""
        return b" ".join(self.tokens.get(term, ()))

    def stems(self, plans: Sequence[SearchPlan]) -> list[bytes]:
        """Return the distinct prefixes of cascades."""
        stems = dict.fromkeys(self.stem(term) for plan in plans if plan.query.steps for term in plan.query.terms)
        return [stem for stem in stems if stem in self.stored]

    def stem_of(self, name: str) -> bytes:
        """Return the stem of a phrase by its stored form."""
        return next(self.stem(term) for term, own in self.names.items() if own == name)

    def phrases(self) -> dict[str, Sequence[bytes]]:
        """Return the tokens of each phrase, by its name."""
        return {self.names[term]: tokens for term, tokens in self.tokens.items() if len(tokens) > 1}


class Outside(NamedTuple):
    """Entries that TF-IDF must not count, as they are not valid: how many, and in how many of them each token is.

    Attributes:
        digest: the same as long as they and their texts are.
    """

    digest: str
    entries: int
    holding: Mapping[str, int]


NOTHING_OUTSIDE = Outside("", 0, {})


class Statistics:
    """Totals and counts of a vault; with memories, if the search ranks them like entries.

    Attributes:
        memories: memories are counted too.
        counted: counts read so far.
        linked: True if the vault has links.
        spaces: spaces with vectors, in the order of creation.
        indexed: measured recall of each space with an index, by number.
        phrases: which entries hold the phrases of the queries.
        cascade: the words of cascades, with the terms they are prefixes of.
        places: their places by stored form.
        begun: number of rows with a word that begins with a stem, in scored columns; read for cascades.
        begun_alone: the same without memories, where they are ranked apart.
        begun_in_memories: the same of these, as FTS5 knows them: without their context.
        counted_outside: number of entries not valid at the time of the search, with a digest; read for TF-IDF.
        outside: their tokens, which TF-IDF must not count.
        frequencies: of TF-IDF, over the entries that are valid: how many hold a token.
    """

    def __init__(self, memories: bool) -> None:
        self.memories, self.linked = memories, False
        self.counted = PartCounts({}, {})
        self.spaces: Sequence[Space] = ()
        self.indexed: Mapping[int, str | None] = {}
        self.phrases = Phrases({})
        self.cascade: _core.Begun | None = None
        self.places: Mapping[str, int] = {}
        self.begun: dict[bytes, int] = {}
        self.begun_alone: dict[bytes, int] = {}
        self.begun_in_memories: dict[bytes, int] = {}
        self.counted_outside = (0, "")
        self.outside = NOTHING_OUTSIDE
        self.frequencies: dict[str, int] = {}
        self._asked: set[tuple[int, str]] = set()

    def of_entries(self) -> Statistics:
        """Return the same statistics without memories, as of FTS5's tables of entries."""
        alone = copy(self)
        alone.memories, alone.begun = False, self.begun_alone
        return alone

    @property
    def held_memories(self) -> int:
        """The number of memories."""
        return self.counted.totals.get(TEXTS + MEMORIES, NOTHING).rows

    @property
    def average_memory(self) -> float:
        """The tokens of an average memory as FTS5's table has them: those of their grams too, and no context."""
        texts, grams, contexts = (
            self.counted.totals.get(part + MEMORIES, NOTHING).tokens for part in (TEXTS, GRAMS, CONTEXTS)
        )
        return (texts + grams - contexts) / self.held_memories if texts else 1.0

    @property
    def rows(self) -> int:
        """The number of ranked entries."""
        return self.totals(TEXTS)[0]

    def question(
        self,
        vault: VaultRow,
        terms: Iterable[tuple[int, str]],
        also: Mapping[int, Iterable[str]],
        spaces: Sequence[Space] = (),
    ) -> Statement:
        """Return the statement for the totals, and the counts of terms by part, for `take`.

        Args:
            also: terms by part as they are, not those of memories beside them.
            spaces: the spaces to read the coverage of.
        """
        wanted: dict[int, list[str]] = {part: list(names) for part, names in also.items()}
        for part, term in terms:
            self._asked.add((part, term))
            for more in (0, MEMORIES) if self.memories else (0,):
                wanted.setdefault(part + more, []).append(term)
        return Statement(*counts.question(vault, wanted, covered.needed(vault, spaces)))

    def take(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Store the rows of a `question`."""
        counts = PartCounts.read(rows)
        for part, own in counts.counts.items():
            self.counted.counts.setdefault(part, {}).update(own)
        self.counted.totals.update(counts.totals)

    def put(self, part: int, term: str, count: int) -> None:
        """Store a count from elsewhere; memories have their own part."""
        self._asked.add((part, term))
        self.counted.counts.setdefault(part, {})[term] = count

    def totals(self, part: int) -> tuple[int, int]:
        """Return the rows that have a part, and their tokens."""
        total = self.counted.totals.get(part, NOTHING)
        if not self.memories:
            return total.rows, total.tokens
        more = self.counted.totals.get(part + MEMORIES, NOTHING)
        return total.rows + more.rows, total.tokens + more.tokens

    def average(self, part: int) -> float:
        """Return the tokens of an average row; 1 without rows, which affects no score."""
        rows, tokens = self.totals(part)
        return tokens / rows if rows and tokens else 1.0

    def count(self, part: int, term: str) -> int:
        """Return the number of rows with a counted term."""
        counts = self.counted.counts.get(part, {}).get(term, 0)
        return counts + self.counted.counts.get(part + MEMORIES, {}).get(term, 0) if self.memories else counts

    def holding(self, name: str | None, *, grams: bool) -> int:
        """Return the number of rows with a counted term, in grams too if requested; 0 for None."""
        if name is None:
            return 0
        if name in self.phrases.postings:
            return self.phrases.holding(name, (TEXTS, GRAMS) if grams else (TEXTS,), memories=self.memories)
        # No row holds a term in both.
        return self.count(TEXTS, name) + (self.count(GRAMS, name) if grams else 0)

    def knows(self, part: int, term: str) -> bool:
        """Return True if the count of a term was read."""
        return (part, term) in self._asked

    def idf(self, part: int, term: str) -> float:
        """Return FTS5's inverse document frequency of a counted term, over texts and grams."""
        if not self.knows(GRAMS, term):
            return self.idf_of(part, self.count(part, term))
        # No row holds a term in both.
        rows = max(self.totals(TEXTS)[0], self.totals(GRAMS)[0])
        return _idf(rows, self.count(TEXTS, term) + self.count(GRAMS, term))

    def idf_of(self, part: int, count: int) -> float:
        """Return the inverse document frequency of a term with this count in a part."""
        return _idf(self.totals(part)[0], count)

    def feedback(self) -> dict[str, int]:
        """Return the number of feedback rows by action."""
        return dict(self.counted.counts.get(FEEDBACK, {}))

    def documents(self) -> int:
        """Return how many entries TF-IDF counts: those that are valid."""
        return self.rows - self.outside.entries


def _idf(rows: int, count: int) -> float:
    value = log((max(rows - count, 0) + 0.5) / (count + 0.5))
    return value if value > 0.0 else LEAST_IDF


def terms_of(plans: Sequence[SearchPlan]) -> QueryTerms:
    """Return the terms of queries as they are counted."""
    texts: dict[str, Sequence[bytes]] = {}
    for plan in plans:
        query = plan.query
        forms = [form for some, pieces in query.needed for form in (*some, *pieces)]
        for term in (*query.terms, *forms):
            if term not in texts:
                texts[term] = _core.index_terms(term)
    tokens = list(dict.fromkeys(token for tokens_of_term in texts.values() for token in tokens_of_term))
    stored = dict(zip(tokens, _core.stored_terms(tokens)))
    # No name in the database has a blank.
    names = {
        term: " ".join(stored[token] for token in tokens_of_term)
        for term, tokens_of_term in texts.items()
        if tokens_of_term
    }
    trigrams: dict[int, None] = {}
    if "trigram" in plans[0].corpus_columns:
        trigrams = dict.fromkeys(n for plan in plans if plan.asks_text for n in _core.trigram_numbers(plan.query.text))
    return QueryTerms(texts, names, stored, list(trigrams))


class Asking:
    """The first round trip of a search: statistics of the whole vault.

    Attributes:
        terms: of the plans.
        spaces: known spaces that may be compared; their coverage is read too.
        statements: of which `taken` takes the answers.
    """

    __slots__ = ("_begun", "_found", "_outside", "_plan", "_stems", "spaces", "statements", "terms")

    def __init__(self, vault: VaultRow, plans: Sequence[SearchPlan], spaces: Sequence[Space]) -> None:
        self._plan = plan = plans[0]
        self.spaces = spaces
        self.terms = terms = terms_of(plans)
        wanted = [(TEXTS, stored) for stored in terms.stored.values()]
        if plan.query.grams:
            wanted += [(GRAMS, stored) for stored in terms.stored.values()]
        wanted += [(TRIGRAMS, str(number)) for number in terms.trigrams]
        self._found = statistics = Statistics(plan.scores_memories)
        self.statements = [statistics.question(vault, wanted, {FEEDBACK: ACTIONS}, spaces), *standing(vault)]
        self._outside = "tfidf" in plan.corpus_columns or plan.scans_words
        if self._outside:
            self.statements.append(outside(vault, plan.now, memories=plan.scores_memories))
        self._stems = terms.stems(plans)
        begun = plan.profile.text.match == "cascade"
        weights = plan.profile.text.weights.array.tolist()
        #: Counts of a cascade, each with the weights of the columns, and whether entries (False) or memories count.
        self._begun: list[tuple[dict[bytes, int], Sequence[float], Sequence[bool]]] = []
        if begun:
            self._begun.append((statistics.begun, weights, (False, True) if plan.scores_memories else (False,)))
        if begun and plan.scores_memories and any(item.query.has_phrase for item in plans):
            without_context = [*weights[:3], 0.0, *weights[4:]]
            self._begun.append((statistics.begun_alone, weights, (False,)))
            self._begun.append((statistics.begun_in_memories, without_context, (True,)))
        if self._stems:
            from septet.postgres.tables import blocks, ranking

            self.statements += [ranking.of_beginning(vault, terms.stored[stem]) for stem in self._stems]
            self.statements.append(blocks.changes(vault))
        statistics.phrases = Phrases(terms.phrases(), begun=begun)
        self.statements += statistics.phrases.questions(vault)

    def taken(self, answers: Iterable[Sequence[tuple[Any, ...]]]) -> Statistics:
        """Return the statistics from the rows of the statements."""
        statistics, left = self._found, iter(answers)
        statistics.take(next(left))
        statistics.linked, statistics.spaces, statistics.indexed = SpacesAndLinks.read(
            next(left), next(left), next(left)
        )
        if self._outside:
            ((entries, digest),) = next(left)
            statistics.counted_outside = entries, digest
        words = {self.terms.stored[stem]: next(left) for stem in self._stems}
        changes = next(left) if words else ()
        statistics.phrases.take([*left])
        for part, name, count in statistics.phrases.counts():
            statistics.put(part, name, count)
        if self._begun:
            self._count_begun(words, changes)
        for held, weights, of in self._begun:
            for name, postings in statistics.phrases.postings.items():
                held[self.terms.stem_of(name)] = sum(
                    posting.part == TEXTS and posting.memory in of and posting.weighed(weights) > 0
                    for posting in postings
                )
        return statistics

    def _count_begun(self, words: dict[str, Sequence[tuple[Any, ...]]], changes: Sequence[tuple[Any, ...]]) -> None:
        """Count the rows with a word that begins with those of a cascade, and keep them for its ranking."""
        from septet.postgres.tables import blocks, ranking

        statistics = self._found
        phrases = statistics.phrases.postings
        words = {**words, **dict.fromkeys([*phrases, ""], ())}
        statistics.cascade = ranking.begun(words, changes, [posting for own in phrases.values() for posting in own])
        statistics.places = {name: place for place, name in enumerate(words)}
        for held, weights, of in self._begun:
            with blocks.checked():
                counts = statistics.cascade.counts(weights, entries=False in of, memories=True in of)
            held.update(zip(self._stems, counts))


def outside_of(
    read: PostgresReading, plan: SearchPlan, entries: int, digest: str, kept: dict[bool, Outside]
) -> Outside:
    """Return the entries that are not valid at the time of a plan; read them again if they changed.

    Args:
        entries: their number.
        digest: their digest, from the first round trip.
        kept: cache of earlier searches, with memories and without.
    """
    if not entries:
        return NOTHING_OUTSIDE
    memories = plan.scores_memories
    known = kept.get(memories)
    if known is None or (known.digest, known.entries) != (digest, entries):
        (rows,) = together(read, [texts_outside(read.vault, plan.now, memories=memories)])
        holding = Counter(token for row in rows for token in {*_core.tokenize(searched_text(*row))})
        kept[memories] = known = Outside(digest, entries, holding)
    return known
