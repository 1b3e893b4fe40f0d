"""Text analysis in Python, for scikit-learn's options other than the default."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import called, shown

#: Two or more letters, digits and underscores: the default, implemented natively.
TOKEN_PATTERN = r"(?u)\b\w\w+\b"
_BLANKS = re.compile(r"\s\s+")
_ANALYZERS, _STRIPPING = ("word", "char", "char_wb"), ("ascii", "unicode")


class Analysis(NamedTuple):
    """The steps from a text to its terms, checked; see `septet.TfidfVectorizer`."""

    analyzer: str | Callable[[str], Iterable[str]]
    preprocessor: Callable[[str], str] | None
    lowercase: bool
    strip_accents: str | Callable[[str], str] | None
    tokenizer: Callable[[str], Iterable[str]] | None
    token_pattern: str | None
    ngrams: tuple[int, int]
    stop_words: frozenset[str]

    def made(self) -> Callable[[str], Iterable[str]]:
        """Return the function from a text to its terms."""
        if not isinstance(self.analyzer, str):
            return self.analyzer
        prepared = self.preprocessor or self._prepared
        fewest, most = self.ngrams
        if self.analyzer == "char":
            return lambda text: _chars(_BLANKS.sub(" ", prepared(text)), fewest, most)
        if self.analyzer == "char_wb":
            return lambda text: _chars_of_words(_BLANKS.sub(" ", prepared(text)), fewest, most)
        tokens = self.tokenizer or re.compile(self.token_pattern or TOKEN_PATTERN).findall
        stop_words = self.stop_words
        return lambda text: _words([token for token in tokens(prepared(text)) if token not in stop_words], fewest, most)

    def _prepared(self, text: str) -> str:
        text = text.lower() if self.lowercase else text
        if self.strip_accents is None or (isinstance(self.strip_accents, str) and text.isascii()):
            return text
        if not isinstance(self.strip_accents, str):
            return self.strip_accents(text)
        apart = unicodedata.normalize("NFKD", text)
        if self.strip_accents == "ascii":
            return apart.encode("ascii", "ignore").decode("ascii")
        return "".join(char for char in apart if not unicodedata.combining(char))


def analysis_of(parameters: Mapping[str, Any], ngrams: tuple[int, int], stop_words: Iterable[str]) -> Analysis | None:
    """Return the analysis of texts; None for the native default.

    Raises:
        QueryError: an invalid parameter.
    """
    names = ("analyzer", "preprocessor", "lowercase", "strip_accents", "tokenizer", "token_pattern")
    analyzer, preprocessor, lowercase, strip_accents, tokenizer, pattern = (parameters[name] for name in names)
    for name, known in (("analyzer", _ANALYZERS), ("strip_accents", (*_STRIPPING, None))):
        value = parameters[name]
        if not callable(value) and not (isinstance(value, (str, type(None))) and value in known):
            expected = ", ".join(map(repr, known))
            raise QueryError(f"{name} is {shown(value)}: wanted {expected}, or a function of a text")
    called(preprocessor, "preprocessor", QueryError)
    called(tokenizer, "tokenizer", QueryError)
    if tokenizer is None and analyzer == "word":
        _checked(pattern)
    usual = ("word", None, True, None, None, TOKEN_PATTERN)
    if (analyzer, preprocessor, bool(lowercase), strip_accents, tokenizer, pattern) == usual:
        return None
    if parameters["tokens"] != "words":
        raise QueryError(
            f"tokens={parameters['tokens']!r} has an analyzer of its own: leave {', '.join(names)} at their defaults"
        )
    return Analysis(
        analyzer, preprocessor, bool(lowercase), strip_accents, tokenizer, pattern, ngrams, frozenset(stop_words)
    )


def _checked(pattern: object) -> None:
    try:
        groups = re.compile(pattern).groups  # type: ignore[call-overload]
    except (TypeError, ValueError, re.error, RecursionError, OverflowError) as error:
        raise QueryError(f"token_pattern is {shown(pattern)}: wanted a regular expression ({error})") from None
    if groups > 1 or not isinstance(pattern, str):
        raise QueryError(f"token_pattern is {shown(pattern)}: wanted text with at most one group, which is the token")


def _words(tokens: list[str], fewest: int, most: int) -> list[str]:
    if most == 1:
        return tokens
    return [
        " ".join(tokens[at : at + length])
        for length in range(fewest, min(most, len(tokens)) + 1)
        for at in range(len(tokens) - length + 1)
    ]


def _chars(text: str, fewest: int, most: int) -> list[str]:
    return [
        text[at : at + length]
        for length in range(fewest, min(most, len(text)) + 1)
        for at in range(len(text) - length + 1)
    ]


def _chars_of_words(text: str, fewest: int, most: int) -> list[str]:
    """Return the runs of characters in words padded with a space on each side; a shorter word once, as a whole."""
    runs = []
    for word in text.split():
        padded = f" {word} "
        for length in range(fewest, most + 1):
            runs += [padded[at : at + length] for at in range(max(1, len(padded) - length + 1))]
            if length >= len(padded):
                break
    return runs
