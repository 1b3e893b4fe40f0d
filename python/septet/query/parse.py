"""Parse a query into terms, and build FTS5 expressions that are always valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet._core import cascade_words, needed_words, query_terms
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from septet.query.words import RequiredWords
    from septet.ranking.profile import TextRules

#: Maximum words of a cascade; longer queries match any word, as no entry contains all.
MOST_STRICT = 64
#: Columns of the memory table by those of the entry table.
_OF_MEMORIES = {"id": "id", "title": "context", "description": "summary", "tags": "topics"}


class Step(NamedTuple):
    """One step of a cascade.

    Attributes:
        name: ``all``, ``4 of 6`` or ``any``.
        every: True if entries must contain all of its words, else any.
        words: indexes of the words in the terms of the query.
    """

    name: str
    every: bool
    words: tuple[int, ...]


class TextQuery(NamedTuple):
    """The query of the text leg.

    Attributes:
        terms: lower-case words and grams, in the order of the query; repeated words count again in BM25.
        cut: number of terms dropped because the query is too long.
        grams: True if the gram table is searched too.
        has_phrase: True if FTS5 splits a term into several tokens; only FTS5 ranks such a query.
        begun: prefixes of words, each counted as a term.
        cuts_last: True if the last word of the query is a prefix.
        needed: words; entries with all of them rank first. Forms of each word, any of which matches it, and pieces, all
            of which match it; empty if the profile matches any word.
        steps: steps of a cascade, whose terms are prefixes of words; the first step with matches counts.
        columns: columns that a cascade searches.
        vague: True if all words of the query were dropped.
        words: number of leading terms that are words; the others are grams.
    """

    text: str
    terms: tuple[str, ...]
    cut: int
    grams: bool
    has_phrase: bool
    begun: tuple[str, ...] = ()
    cuts_last: bool = False
    needed: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    steps: tuple[Step, ...] = ()
    columns: tuple[str, ...] = ()
    vague: bool = False
    words: int = 0

    @property
    def match(self) -> str:
        """The FTS5 expression: all terms quoted, joined by OR, so the query cannot add operators or column filters."""
        return self.match_in("entries_fts")

    def match_in(self, table: str) -> str:
        """Return the FTS5 expression for a table; for a cascade, that of its last step (see `at_step`)."""
        if not self.steps:
            return " OR ".join([*(f'"{t}"' for t in self.terms), *(f'"{t}" *' for t in self.begun)])
        step = self.steps[-1]
        return self._begun([self.terms[at] for at in step.words], table, " AND " if step.every else " OR ")

    def holding(self, term: str, table: str) -> str:
        """Return the FTS5 expression for one term in a table."""
        return self._begun([term], table, "") if self.steps else f'"{term}"'

    def at_step(self, step: int) -> TextQuery:
        """Return the query with one step of its cascade only."""
        return self._replace(steps=(self.steps[step],))

    def _begun(self, terms: Sequence[str], table: str, operator: str) -> str:
        columns = [_OF_MEMORIES.get(c, "") for c in self.columns] if table == "memories_fts" else self.columns
        # Without columns nothing may match: an empty phrase matches nothing in FTS5.
        phrases = operator.join(f'"{term}" *' for term in terms) if any(columns) else '""'
        return f"{{{' '.join(filter(None, columns)) or 'id'}}} : ({phrases})"


def parse(text: str, rules: TextRules) -> TextQuery:
    """Turn a query into terms by the documented steps.

    Split on everything except letters, digits and combining marks, lower-case, drop terms shorter than ``least_chars``
    (2 by default) unless none would remain, optionally drop stop words (likewise), and add grams for text that
    ``unicode61`` cannot split.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    drop, whole = rules.dropped, text
    if rules.conversation:
        from septet.query.conversation import topic_of
        from septet.query.times import without_spans

        text = without_spans(topic_of(text))
    if rules.match == "cascade":
        words, cut, phrase, vague = cascade_words(text, drop, rules.max_terms)
        steps = _cascade(words, rules.min_terms)
        return TextQuery(
            whole, words, cut, False, phrase, steps=steps, columns=rules.weighed, vague=vague, words=len(words)
        )
    terms, count, cut, phrase = query_terms(text, drop, rules.grams, rules.max_terms, rules.least_chars, rules.names)
    if rules.match == "any":
        return TextQuery(whole, terms, cut, rules.grams, phrase, words=count)
    needed, also_phrase = needed_words(text, drop, rules.grams, rules.max_terms, rules.least_chars)
    return TextQuery(whole, terms, cut, rules.grams, phrase or also_phrase, needed=needed, words=count)


def _cascade(words: Sequence[str], min_terms: int | None) -> tuple[Step, ...]:
    """Return the documented steps: all words; repeatedly without the shortest word; any word.

    Ties are dropped in query order. The remaining words are in order of length.
    """
    count, every = len(words), tuple(range(len(words)))
    if not words:
        return ()
    if count == 1:
        return (Step("all", True, every),)
    steps = []
    if count <= MOST_STRICT:
        steps.append(Step("all", True, every))
        by_length = sorted(every, key=lambda at: len(words[at]))
        counts = range(count - 1, count - 1 if min_terms is None else min_terms - 1, -1)
        steps += [Step(f"{n} of {count}", True, tuple(by_length[count - n :])) for n in counts]
    return (*steps, Step("any", False, every))


def with_words(query: TextQuery, required: RequiredWords, rules: TextRules) -> TextQuery:
    """Return the query with the words of options such as ``must`` added to its terms."""
    added = parse(required.text, rules)
    if rules.match == "cascade":
        words = dict.fromkeys((*query.terms, *added.terms, *required.begun))
        terms = (*query.terms, *(word for word in words if word not in query.terms))
        counted, cut = terms[: rules.max_terms], query.cut + max(len(terms) - rules.max_terms, 0)
        phrase, steps = query.has_phrase or added.has_phrase, _cascade(counted, rules.min_terms)
        return query._replace(terms=counted, cut=cut, has_phrase=phrase, steps=steps, vague=not counted and query.vague)
    terms = (*query.terms, *(term for term in added.terms if term not in query.terms))
    cut = query.cut + max(len(terms) - rules.max_terms, 0)
    phrase = query.has_phrase or added.has_phrase
    # An unfinished last word is not needed as a word: the prefix filter covers it.
    needed = tuple([word for word in query.needed if not required.cut or word[0][:1] != required.begun[-1:]])
    used = terms[: rules.max_terms]
    return query._replace(
        terms=used, cut=cut, has_phrase=phrase, begun=required.begun, cuts_last=required.cut, needed=needed
    )
