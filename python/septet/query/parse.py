"""From a question to terms, and from terms to an FTS5 expression that cannot go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from septet._core import query_grams, stop_words, words

if TYPE_CHECKING:
    from septet.ranking.profile import TextRules

__all__ = ["MIN_TERM_CHARS", "TextQuery", "parse"]

MIN_TERM_CHARS = 2
_STOP_WORDS = stop_words()


class TextQuery(NamedTuple):
    """What the text leg asks for.

    Attributes:
        terms: lower-case words and grams, in the order of the question; repeated words count again in BM25.
        cut: how many terms were dropped because the question is too long.
        grams: whether the table of grams is asked as well.
    """

    text: str
    terms: tuple[str, ...]
    cut: int
    grams: bool

    @property
    def match(self) -> str:
        """The FTS5 expression: every term quoted, joined by OR. Operators and column filters cannot form."""
        return " OR ".join(f'"{t}"' for t in self.terms)


def parse(text: str, rules: TextRules) -> TextQuery:
    """Turn a question into terms by the documented steps.

    Split on everything that is no letter, digit or combining mark, lower-case, drop terms under two characters (unless
    none would be left), optionally drop stop words (likewise), and add grams for what ``unicode61`` cannot cut.
    """
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    found = words(text)
    kept = [w for w in found if len(w) >= MIN_TERM_CHARS] or found
    if rules.stop_words == "drop":
        kept = [w for w in kept if w not in _STOP_WORDS] or kept
    if rules.grams:
        plain = set(kept)
        kept += [g for g in query_grams(text) if g not in plain]
    return TextQuery(text, tuple(kept[: rules.max_terms]), max(0, len(kept) - rules.max_terms), rules.grams)
