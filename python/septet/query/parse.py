"""From a query to terms, and from terms to an FTS5 expression that cannot go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from septet._core import needed_words, query_terms

if TYPE_CHECKING:
    from septet.query.words import AskedWords
    from septet.ranking.profile import TextRules

__all__ = ["TextQuery", "parse", "with_words"]


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
    """

    text: str
    terms: tuple[str, ...]
    cut: int
    grams: bool
    has_phrase: bool
    begun: tuple[str, ...] = ()
    cuts_last: bool = False
    needed: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()

    @property
    def match(self) -> str:
        """The FTS5 expression: every term quoted, joined by OR. Operators and column filters cannot form."""
        return " OR ".join([*(f'"{t}"' for t in self.terms), *(f'"{t}" *' for t in self.begun)])


def parse(text: str, rules: TextRules) -> TextQuery:
    """Turn a query into terms by the documented steps.

    Split on everything that is no letter, digit or combining mark, lower-case, drop terms under two characters (unless
    none would be left), optionally drop stop words (likewise), and add grams for what ``unicode61`` cannot cut.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    drop = rules.stop_words == "drop"
    terms, cut, phrase = query_terms(text, drop, rules.grams, rules.max_terms)
    if rules.match == "any":
        return TextQuery(text, terms, cut, rules.grams, phrase)
    needed, also_phrase = needed_words(text, drop, rules.grams, rules.max_terms)
    return TextQuery(text, terms, cut, rules.grams, phrase or also_phrase, needed=needed)


def with_words(query: TextQuery, asked: AskedWords, rules: TextRules) -> TextQuery:
    """Return a query whose full text also counts the words that are asked for beside it."""
    more = parse(asked.text, rules)
    terms = (*query.terms, *(term for term in more.terms if term not in query.terms))
    cut = query.cut + max(len(terms) - rules.max_terms, 0)
    phrase = query.has_phrase or more.has_phrase
    # What is only begun is no word; a filter asks for those that begin so.
    needed = tuple([word for word in query.needed if not asked.cut or word[0][:1] != asked.begun[-1:]])
    return TextQuery(query.text, terms[: rules.max_terms], cut, query.grams, phrase, asked.begun, asked.cut, needed)
