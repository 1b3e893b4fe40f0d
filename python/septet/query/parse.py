"""From a query to terms, and from terms to an FTS5 expression that cannot go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet._core import cascade_words, needed_words, query_terms

if TYPE_CHECKING:
    from septet.query.words import AskedWords
    from septet.ranking.profile import TextRules

__all__ = ["Step", "TextQuery", "parse", "with_words"]

#: Longer queries of a cascade are searched for any of their words: no entry holds all of so many.
MOST_STRICT = 64
#: The columns of the table of memories by those of entries.
_OF_MEMORIES = {"id": "id", "title": "context", "description": "summary", "tags": "topics"}


class Step(NamedTuple):
    """One step of a cascade.

    Attributes:
        name: ``all``, ``4 of 6`` or ``any``.
        every: whether entries must hold all of its words, or any.
        words: the places of these among the terms of the query.
    """

    name: str
    every: bool
    words: tuple[int, ...]


class TextQuery(NamedTuple):
    """What the text leg asks for.

    Attributes:
        terms: lower-case words and grams, in the order of the query; repeated words count again in BM25.
        cut: how many terms were dropped because the query is too long.
        grams: whether the table of grams is searched as well.
        has_phrase: whether FTS5 cuts a term into several tokens; only FTS5 ranks such a query.
        begun: beginnings of words, any of which counts as a term.
        cuts_last: the last word of the query is one of them.
        needed: words of which entries that hold all come before others: the forms of each, any of which stands for it,
            and its pieces, all of which do; empty where the profile asks for any word.
        steps: of a cascade, where terms are beginnings of words; the first that has an answer counts.
        columns: in which a cascade looks for them.
        vague: the query has words, and all of them are left out.
        words: how many of the first terms are words; others are grams.
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
        """The FTS5 expression: every term quoted, joined by OR. Operators and column filters cannot form."""
        return self.match_in("entries_fts")

    def match_in(self, table: str) -> str:
        """Return the FTS5 expression for a table; of a cascade that of its last step (see `at_step`)."""
        if not self.steps:
            return " OR ".join([*(f'"{t}"' for t in self.terms), *(f'"{t}" *' for t in self.begun)])
        step = self.steps[-1]
        return self._begun([self.terms[at] for at in step.words], table, " AND " if step.every else " OR ")

    def holding(self, term: str, table: str) -> str:
        """Return the FTS5 expression for one term in a table."""
        return self._begun([term], table, "") if self.steps else f'"{term}"'

    def at_step(self, step: int) -> TextQuery:
        """Return the query with one step of its cascade alone."""
        return self._replace(steps=(self.steps[step],))

    def _begun(self, terms: Sequence[str], table: str, word: str) -> str:
        columns = [_OF_MEMORIES.get(c, "") for c in self.columns] if table == "memories_fts" else self.columns
        # Nothing can be found in no column: an empty phrase is what FTS5 finds nowhere.
        wanted = word.join(f'"{term}" *' for term in terms) if any(columns) else '""'
        return f"{{{' '.join(filter(None, columns)) or 'id'}}} : ({wanted})"


def parse(text: str, rules: TextRules) -> TextQuery:
    """Turn a query into terms by the documented steps.

    Split on everything that is no letter, digit or combining mark, lower-case, drop terms under ``least_chars`` (2, as
    documented, unless the rules say otherwise, or none would be left), optionally drop stop words (likewise), and add
    grams for what ``unicode61`` cannot cut.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    drop = rules.dropped
    if rules.match == "cascade":
        words, cut, phrase, vague = cascade_words(text, drop, rules.max_terms)
        steps = _cascade(words, rules.min_terms)
        return TextQuery(
            text, words, cut, False, phrase, steps=steps, columns=rules.weighed, vague=vague, words=len(words)
        )
    terms, count, cut, phrase = query_terms(text, drop, rules.grams, rules.max_terms, rules.least_chars, rules.names)
    if rules.match == "any":
        return TextQuery(text, terms, cut, rules.grams, phrase, words=count)
    needed, also_phrase = needed_words(text, drop, rules.grams, rules.max_terms, rules.least_chars)
    return TextQuery(text, terms, cut, rules.grams, phrase or also_phrase, needed=needed, words=count)


def _cascade(words: Sequence[str], min_terms: int | None) -> tuple[Step, ...]:
    """Return the documented steps: all words; without the shortest one, again and again; any word.

    Of equally short words the first one goes first. What is left stands in the order of its length.
    """
    count, every = len(words), tuple(range(len(words)))
    if not words:
        return ()
    if count == 1:
        return (Step("all", True, every),)
    steps = []
    if count <= MOST_STRICT:
        steps.append(Step("all", True, every))
        left = sorted(every, key=lambda at: len(words[at]))
        kept = range(count - 1, count - 1 if min_terms is None else min_terms - 1, -1)
        steps += [Step(f"{few} of {count}", True, tuple(left[count - few :])) for few in kept]
    return (*steps, Step("any", False, every))


def with_words(query: TextQuery, asked: AskedWords, rules: TextRules) -> TextQuery:
    """Return a query whose full text also counts the words that are asked for beside it."""
    more = parse(asked.text, rules)
    if rules.match == "cascade":
        words = dict.fromkeys((*query.terms, *more.terms, *asked.begun))
        terms = (*query.terms, *(word for word in words if word not in query.terms))
        left, cut = terms[: rules.max_terms], query.cut + max(len(terms) - rules.max_terms, 0)
        phrase, steps = query.has_phrase or more.has_phrase, _cascade(left, rules.min_terms)
        return query._replace(terms=left, cut=cut, has_phrase=phrase, steps=steps, vague=not left and query.vague)
    terms = (*query.terms, *(term for term in more.terms if term not in query.terms))
    cut = query.cut + max(len(terms) - rules.max_terms, 0)
    phrase = query.has_phrase or more.has_phrase
    # What is only begun is no word; a filter asks for those that begin so.
    needed = tuple([word for word in query.needed if not asked.cut or word[0][:1] != asked.begun[-1:]])
    kept = terms[: rules.max_terms]
    return query._replace(terms=kept, cut=cut, has_phrase=phrase, begun=asked.begun, cuts_last=asked.cut, needed=needed)
