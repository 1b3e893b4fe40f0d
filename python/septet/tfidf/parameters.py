"""The parameters of a vectorizer, checked when it is fitted: stop words, and the reading and analysis of documents."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sized
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from septet.errors import QueryError
from septet.inputs.arguments import called, exact, file_path, flags, listed, real, shown, utf8, whole

#: The list of the Glasgow Information Retrieval Group, as in scikit-learn.
ENGLISH = tuple(
    """
a about above across after afterwards again against all almost alone along already also although always am among
amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at back be became
because become becomes becoming been before beforehand behind being below beside besides between beyond bill both
bottom but by call can cannot cant co con could couldnt cry de describe detail do done down due during each eg eight
either eleven else elsewhere empty enough etc even ever every everyone everything everywhere except few fifteen fifty
fill find fire first five for former formerly forty found four from front full further get give go had has hasnt have
he hence her here hereafter hereby herein hereupon hers herself him himself his how however hundred i ie if in inc
indeed interest into is it its itself keep last latter latterly least less ltd made many may me meanwhile might mill
mine more moreover most mostly move much must my myself name namely neither never nevertheless next nine no nobody
none noone nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours ourselves
out over own part per perhaps please put rather re same see seem seemed seeming seems serious several she should show
side since sincere six sixty so some somehow someone something sometime sometimes somewhere still such system take ten
than that the their them themselves then thence there thereafter thereby therefore therein thereupon these they thick
thin third this those though three through throughout thru thus to together too top toward towards twelve twenty two
un under until up upon us very via was we well were what whatever when whence whenever where whereafter whereas
whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why will with within
without would yet you your yours yourself yourselves
""".split()
)


#: Maximum documents per call.
MOST_TEXTS = 100_000_000


class DocumentReading(NamedTuple):
    """Checked parameters for reading documents; see `septet.TfidfVectorizer`."""

    input: str
    encoding: str
    decode_error: str
    #: True if a function of the caller gets the documents, which may be of any type.
    anything: bool = False

    def texts(self, documents: Iterable[Any]) -> list[Any]:
        """Return the documents as texts; raise QueryError for one text, or for a document that does not fit."""
        if isinstance(documents, (str, bytes)):
            raise QueryError(f"texts is one {type(documents).__name__}: wanted several, as in [text]")
        if isinstance(documents, Sized):
            documents = listed(documents, "texts", QueryError, "a list of texts", MOST_TEXTS)
            if self.input == "content" and all(type(document) is str for document in documents):
                return documents
        try:
            source = map(self._text, documents, count())
        except TypeError:
            raise QueryError(f"texts is {shown(documents)}: wanted a list of texts") from None
        return listed(source, "texts", QueryError, "a list of texts", MOST_TEXTS)

    def _text(self, document: Any, at: int) -> Any:
        if self.input == "filename":
            try:
                document = Path(file_path(document, f"text {at}", QueryError)).read_bytes()
            except OSError as error:
                raise QueryError(f"text {at}, {shown(document)}, cannot be read: {error.strerror or error}") from error
        elif self.input == "file":
            read: Callable[[], Any] | None = getattr(document, "read", None)
            if not callable(read):
                raise QueryError(f"text {at} is {shown(document)}: wanted a file, with read(), for input='file'")
            document = read()
        if isinstance(document, bytes):
            try:
                return document.decode(self.encoding, self.decode_error)
            except UnicodeError as error:
                raise QueryError(
                    f"text {at} is not {self.encoding} ({error}): name its encoding, or set decode_error='replace'"
                ) from error
        missing = isinstance(document, float) and document != document
        if missing or not (self.anything or isinstance(document, str)):
            raise QueryError(f"text {at} is {shown(document)}, of type {type(document).__name__}: wanted text")
        return document


OUTPUTS = ("rows", "scipy")
#: Cap of counts; larger ones mean all.
MOST = 2**31 - 1
MOST_STOP_WORDS, MOST_TERMS = 1_000_000, 100_000_000
#: Maximum tokens of a term: each length adds as many terms per text as it has tokens.
MOST_TOKENS = 100


def native_options(parameters: Mapping[str, Any], texts: int) -> dict[str, Any]:
    """Return the options of `septet.tfidf.counting.core_of` for a corpus of ``texts`` texts, or raise QueryError."""
    one_of(parameters["output"], "output", OUTPUTS)
    names = ("use_idf", "smooth_idf", "sublinear_tf", "lowercase", "binary")
    switches = {name: parameters[name] for name in names}
    flags({name: bool(value) if isinstance(value, np.bool_) else value for name, value in switches.items()}, QueryError)
    norm, vocabulary = parameters["norm"], fixed_vocabulary(parameters["vocabulary"])
    least, most = _frequency(parameters["min_df"], "min_df", texts), _frequency(parameters["max_df"], "max_df", texts)
    if most < least and texts and vocabulary is None:
        bounds = f"max_df is {shown(parameters['max_df'])} and min_df {shown(parameters['min_df'])}"
        raise QueryError(
            f"{bounds}: of {texts:,} texts that is at most {most:g} and at least {least:g}, which no term can be in"
        )
    ngrams, stop_words = _ngrams(parameters["ngram_range"]), _stop_words(parameters["stop_words"])
    features = parameters["max_features"]
    return {
        "tokens": one_of(parameters["tokens"], "tokens", ("words", "signals")),
        "ngrams": ngrams,
        "stop_words": stop_words,
        "analysis": analysis_of(parameters, ngrams, stop_words),
        "reading": reading_of(parameters),
        "vocabulary": vocabulary,
        "dtype": _dtype(parameters["dtype"]),
        "binary": bool(parameters["binary"]),
        "least": least,
        "most": most,
        "features": None if features is None else min(whole(features, "max_features", QueryError, 1), MOST),
        "norm": "none" if norm is None else one_of(norm, "norm", ("l2", "l1"), " or None"),
        "sublinear": bool(parameters["sublinear_tf"]),
        "idf": bool(parameters["use_idf"]),
        "smooth": bool(parameters["smooth_idf"]),
    }


def reading_of(parameters: Mapping[str, Any]) -> DocumentReading:
    """Return the reader of documents; raise QueryError for an invalid parameter."""
    custom = callable(parameters["analyzer"]) or parameters["preprocessor"] is not None
    encoding = utf8(parameters["encoding"], "encoding", QueryError)
    try:
        b"text".decode(encoding, "replace")
    except (LookupError, ValueError, TypeError, AssertionError):
        raise QueryError(f"encoding is {shown(encoding)}: wanted an encoding of text, such as 'utf-8'") from None
    bare = parameters["tokenizer"] is not None and not parameters["lowercase"] and parameters["strip_accents"] is None
    return DocumentReading(
        one_of(parameters["input"], "input", ("content", "filename", "file")),
        encoding,
        one_of(parameters["decode_error"], "decode_error", ("strict", "ignore", "replace")),
        custom or (bare and parameters["analyzer"] == "word"),
    )


def fixed_vocabulary(value: Mapping[str, int] | Iterable[str] | None) -> list[str] | None:
    """Return the terms of a vocabulary by column; None for None. Raise QueryError for an invalid one."""
    if value is None:
        return None
    expected = "a list of terms, or a dict from terms to columns"
    if isinstance(value, Mapping):
        columns = {term: exact(column) for term, column in value.items()}
        inside = [column for column in columns.values() if isinstance(column, (int, np.integer))]
        if sorted(inside) != list(range(len(columns))):
            raise QueryError(f"vocabulary is {shown(value)}: wanted each column from 0 to {len(columns) - 1:,} once")
        value = sorted(columns, key=columns.__getitem__)
    elif isinstance(value, (set, frozenset)):
        value = sorted(utf8(term, "a term of vocabulary", QueryError) for term in value)
    values = listed(value, "vocabulary", QueryError, expected, MOST_TERMS, of=str)
    terms = [utf8(term, "a term of vocabulary", QueryError) for term in values]
    if not terms:
        raise QueryError(f"vocabulary is empty: wanted {expected}, or None to learn them")
    if len(set(terms)) < len(terms):
        duplicate = Counter(terms).most_common(1)[0][0]
        raise QueryError(f"duplicate term {shown(duplicate)} in vocabulary")
    return terms


def _dtype(value: Any) -> np.dtype[Any]:
    """Return the dtype of weights: float32 for float32, float64 for all other numbers."""
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError, SyntaxError, AttributeError, RecursionError, OverflowError):
        dtype = np.dtype(object)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)) and dtype.kind not in "iu":
        raise QueryError(f"dtype is {shown(value)}: wanted numpy.float64 or numpy.float32")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def one_of(value: object, name: str, known: tuple[str, ...], more: str = "") -> str:
    """Return a value that is one of the known names; raise QueryError for any other."""
    text = exact(value)
    if isinstance(text, str) and text in known:
        return text
    expected = " or ".join(map(repr, known))
    raise QueryError(f"{name} is {shown(value)}: wanted {expected}{more}")


def _frequency(value: object, name: str, texts: int) -> float:
    """Return a number of texts: an integer is a count, a float a share of all texts."""
    number = exact(value)
    if isinstance(number, (bool, np.bool_)):
        raise QueryError(f"{name} is {shown(value)}: wanted a number of texts, or a share from 0.0 to 1.0")
    if isinstance(number, (int, np.integer)):
        return float(min(whole(number, name, QueryError, 1), MOST))
    return real(number, name, QueryError, 0.0, 1.0) * texts


def _ngrams(value: object) -> tuple[int, int]:
    expected = "two whole numbers, the fewest and the most tokens of a term"
    bounds = listed(value, "ngram_range", QueryError, expected, 2)
    if len(bounds) != 2:
        raise QueryError(f"ngram_range is {shown(value)}: wanted {expected}")
    fewest, most = (whole(bound, "ngram_range", QueryError, 1, MOST_TOKENS) for bound in bounds)
    if fewest > most:
        raise QueryError(f"ngram_range is {shown(value)}: wanted {expected}")
    return fewest, most


def _stop_words(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        one_of(value, "stop_words", ("english",), ", or a list of words")
        return list(ENGLISH)
    words = listed(value, "stop_words", QueryError, "'english', or a list of words", MOST_STOP_WORDS)
    return [utf8(word, "a stop word", QueryError) for word in words]


# -- analysis ----------------------------------------------------------------------------------------------------------

#: Two or more letters, digits and underscores: the default, implemented natively.
TOKEN_PATTERN = r"(?u)\b\w\w+\b"
_BLANKS = re.compile(r"\s\s+")


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

    def function(self) -> Callable[[str], Iterable[str]]:
        """Return the function from a text to its terms."""
        if not isinstance(self.analyzer, str):
            return self.analyzer
        prepared = self.preprocessor or self._prepared
        fewest, most = self.ngrams
        if self.analyzer == "char":
            return lambda text: _runs(_BLANKS.sub(" ", prepared(text)), fewest, most)
        if self.analyzer == "char_wb":
            return lambda text: _chars_of_words(_BLANKS.sub(" ", prepared(text)), fewest, most)
        tokens = self.tokenizer or re.compile(self.token_pattern or TOKEN_PATTERN).findall

        def words(text: str) -> list[str]:
            kept = [token for token in tokens(prepared(text)) if token not in self.stop_words]
            return kept if most == 1 else [" ".join(run) for run in _runs(kept, fewest, most)]

        return words

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
    """Return the analysis of texts, None for the native default; raise QueryError for an invalid parameter."""
    names = ("analyzer", "preprocessor", "lowercase", "strip_accents", "tokenizer", "token_pattern")
    analyzer, preprocessor, lowercase, strip_accents, tokenizer, pattern = (parameters[name] for name in names)
    for name, known in (("analyzer", ("word", "char", "char_wb")), ("strip_accents", ("ascii", "unicode", None))):
        value = parameters[name]
        if not callable(value) and not (isinstance(value, (str, type(None))) and value in known):
            expected = ", ".join(map(repr, known))
            raise QueryError(f"{name} is {shown(value)}: wanted {expected}, or a function of a text")
    called(preprocessor, "preprocessor", QueryError)
    called(tokenizer, "tokenizer", QueryError)
    if tokenizer is None and analyzer == "word":
        try:
            groups = re.compile(pattern).groups
        except (TypeError, ValueError, re.error, RecursionError, OverflowError) as error:
            raise QueryError(f"token_pattern is {shown(pattern)}: wanted a regular expression ({error})") from None
        if groups > 1 or not isinstance(pattern, str):
            expected = "wanted text with at most one group, which is the token"
            raise QueryError(f"token_pattern is {shown(pattern)}: {expected}")
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


def _runs(items: Any, fewest: int, most: int) -> list[Any]:
    """Return the runs of tokens or characters, the shortest first."""
    return [
        items[at : at + length]
        for length in range(fewest, min(most, len(items)) + 1)
        for at in range(len(items) - length + 1)
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
