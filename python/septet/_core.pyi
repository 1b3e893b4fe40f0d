"""The border between Python and Rust, on one page.

Shapes: ``n`` rows, ``d`` dimensions, ``m`` candidates, ``c`` columns, ``k`` wanted. Every array argument must be
C-contiguous and of the dtype written here; anything else raises ``TypeError`` (dtype, dimensions, layout) or
``ValueError`` (lengths that do not fit, slots out of range, non-finite input where finite input is required). Functions
that grow with the corpus release the GIL.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Singles = NDArray[np.float32]
_Integers = NDArray[np.int64]
_Mask = NDArray[np.bool_]
#: Rows ``(n, d)`` in one piece, or in two: those in a file, and those that were added since.
_Rows = _Singles | tuple[_Singles | FileRows, _Singles]
_Path = tuple[str, str | None]
_Problem = tuple[str, str, str]
_Symbol = tuple[str, int, str, str, str, float]
_Needed = Sequence[tuple[Sequence[str], Sequence[str]]]
_Steps = Sequence[tuple[bool, Sequence[int]]]
_Row = TypeVar("_Row")

class Damaged(ValueError):
    """A file of arrays is not what it was when it was made."""

# -- vectors ---------------------------------------------------------------------------------------------------------

def kernels() -> list[str]:
    """Return the SIMD levels this machine can run, fastest first, e.g. ``["avx512", "avx-vnni", "avx2", "scalar"]``."""

def kernel() -> str:
    """Return the level the dispatch uses by default."""

def unit_rows(rows: _Singles) -> _Singles:
    """Return the rows ``(n, d)`` scaled to Euclidean length 1 (norms are summed in float64).

    Rows that have unit length up to float32 rounding come back as they are. A ValueError names a row that has length 0,
    or a component that is NaN or infinite.
    """

def query_vector(value: object) -> tuple[_Floats, _Singles] | None:
    """Return a query ``(d,)`` in float64, and rounded to float32 and scaled to length 1 as by `unit_rows`.

    None for what is no array of float32 or float64 as this module takes them, has no direction, or has a component that
    is NaN or beyond the range of float32.
    """

def top_k(
    query: _Singles, rows: _Singles, k: int, mask: _Mask | None = None, *, kernel: str | None = None
) -> tuple[_Integers, _Floats]:
    """Find the ``k`` rows with the largest dot product: the cosine, when query and rows have unit length.

    Exact: the scan runs in float32, every row within its rounding error of the k-th best is summed again in float64,
    so ids and order are those of a float64 scan of the same float32 numbers. Equal scores are ordered by row index.

    Args:
        query: shape ``(d,)``.
        rows: shape ``(n, d)``, C-contiguous.
        k: how many, at least 0; fewer come back when fewer rows are allowed.
        mask: shape ``(n,)``, True where a row may be returned; None allows all.
        kernel: force one of `kernels()`; for tests.

    Returns:
        Row indices and float64 scores, best first, both of length ``min(k, allowed rows)``.
    """

@final
class Codes:
    """8-bit codes of float32 rows, append-only: the answers of `top_k` while reading an eighth of the bytes.

    Bounds by the upper four bits of the codes, then by whole codes, leave few rows that can be among the ``k`` best;
    these are scored in float64. Ids, order and scores equal those of `top_k` of the same rows, bit for bit.
    Searches and appends may run at once, from any thread; no search waits for an append.
    """
    def __new__(cls, dimensions: int, *, distances: bool = False) -> Codes:
        """Make an empty one for rows of ``dimensions`` components, at most 65,536 (else a ValueError).

        With ``distances`` the score is the squared Euclidean distance, smallest first, summed in float64.
        """
    def __len__(self) -> int: ...
    distances: bool
    dimensions: int
    #: The memory the codes take: ``d`` rounded up to 128, plus 16, a row; none for those in a file.
    size_bytes: int
    def save(self, path: str | os.PathLike[str], rows: int, stamp: bytes) -> None:
        """Write the codes of the first ``rows`` rows to a new file; a FileExistsError where there is one."""
    @staticmethod
    def open(path: str | os.PathLike[str], stamp: bytes, *, mapped: bool = True) -> Codes:
        """Map or read the codes that `save` wrote; `Damaged` if the file is cut, changed, or has another stamp."""
    def append(self, rows: _Singles) -> int:
        """Code the rows ``(n, d)`` of finite numbers, add them, and return the index of the first: all, or none."""
    #: The number of lists; 0 before `arranged`.
    lists: int
    #: The number of rows that were appended since the lists were made.
    unlisted: int
    def arranged(
        self, rows: _Rows, alive: _Mask | None = None, *, absorb: bool = False, threads: int | None = None
    ) -> Codes:
        """Return codes of the same rows in lists of 12 to 256 near ones; `save` and `open` keep them.

        Args:
            alive: shape ``(n,)``; false rows are in no list, so every search of the result needs a mask without them.
            absorb: keep existing lists, and add to them the rows that are in none; they are split and merged.
        """
    def probe(
        self, query: _Singles, rows: _Rows, k: int, recall: float, mask: _Mask | None = None
    ) -> tuple[_Integers, _Floats, bool]:
        """Find as many rows as `top_k`, a share ``recall`` of which is expected to be among the best.

        Returns:
            Row indices, scores, and true if these are the best rows for certain, as they are from ``recall`` 1 on.
        """
    def top_k(
        self,
        query: _Singles,
        rows: _Rows,
        k: int,
        mask: _Mask | None = None,
        *,
        kernel: str | None = None,
        threads: int | None = None,
        front: bool | None = None,
    ) -> tuple[_Integers, _Floats]:
        """Find the ``k`` rows with the largest dot product: as `top_k`, answer and arguments, but for these.

        Args:
            rows: shape ``(n, d)``: the first ``n`` rows that were appended, unchanged. They may be a mapped file; few
                of them are read.
            threads: how many, at least 1; None takes every core when there is work for more than one.
            front: read the upper four bits first, or never; None lets what they leave over decide. For tests.
        """
    def top_k_batch(
        self,
        queries: _Singles,
        rows: _Rows,
        k: int,
        mask: _Mask | None = None,
        *,
        kernel: str | None = None,
        threads: int | None = None,
        front: bool | None = None,
    ) -> tuple[_Integers, _Floats]:
        """Find the ``k`` best rows of each query ``(q, d)``, passing over the codes once for many queries.

        Returns:
            Row indices and float64 scores ``(q, min(k, allowed rows))``; line ``i`` equals `top_k` of query ``i``.
        """
    def within(
        self,
        queries: _Singles,
        rows: _Rows,
        k: int,
        radius: float,
        mask: _Mask | None = None,
        *,
        kernel: str | None = None,
        threads: int | None = None,
        front: bool | None = None,
    ) -> list[tuple[_Integers, _Floats]]:
        """As `top_k` of each query, of the rows whose score is at least ``radius`` or, of distances, at most."""

def row_keys(rows: _Singles) -> NDArray[np.uint32]:
    """Return what rows ``(n, d)`` are sampled by ``(n,)``: a hash of their components."""

@final
class Sample:
    """Some rows of a space, chosen by their keys: 256 to 512, or all while there are fewer.

    Attributes:
        population: how many rows of the space are alive.
        pairs: mean and standard deviation of the cosines of two different rows.
        agreement: how far the vectors agree with words, 0 to 1; None when it was not measured.
    """

    population: int
    agreement: float | None
    pairs: tuple[float, float]
    def __new__(
        cls,
        rows: _Rows,
        keys: NDArray[np.uint32],
        slots: _Integers,
        alive: _Mask,
        before: Sample | None = None,
        *,
        population: int | None = None,
    ) -> Sample:
        """Sample unit rows ``(v, d)``: of a ``population`` those of keys up to its `limit` at least; None: of all."""
    @staticmethod
    def limit(population: int) -> int:
        """Return the largest key that is sampled of so many rows."""
    def __len__(self) -> int: ...
    def kept(self, added: NDArray[np.uint32], went: NDArray[np.uint32]) -> Sample | None:
        """Return the sample after rows of these keys came and went, if it has the same rows; else None."""
    def agree(self, measured: float) -> None:
        """Remember how far the vectors agree with words; what was measured first stays."""
    def cosines(self, query: _Singles) -> tuple[float, float] | None:
        """Return mean and standard deviation of the cosines of a unit query ``(d,)``; None without rows."""

def cosine_at(query: _Floats, rows: _Rows, at: _Integers) -> _Floats:
    """Return the cosines ``(m,)`` of the query ``(d,)`` with the rows at the indices ``at``, in float64 throughout.

    Neither side needs unit length; a row of length 0 scores 0. The index -1 stands for no row, and gives NaN; a
    ValueError for an index outside ``-1 <= i < n``, or a query that is all zero or not finite.
    """

# -- entries ---------------------------------------------------------------------------------------------------------

def text_hash(*texts: str) -> str:
    """Return the digest of some texts, 32 hexadecimal digits (BLAKE2b); ("a", "bc") and ("ab", "c") differ."""

def made_id(kind: str, title: str, text_hash: str) -> str:
    """Return a readable id that the same kind, title and content always give again."""

def text_set(texts: Sequence[str]) -> tuple[str, int]:
    """Return texts as a JSON list, ascending, each once, and how many; NUL is `septet.sqlite.store.nul.escaped`."""

def plain_json(value: object) -> str | None:
    """Return a dict as `json` writes it, compact; None unless it holds texts, whole numbers, truth values and lists."""

def plain_rows(
    items: Iterable[object],
    now: float,
    attrs: Callable[[Any], str],
    span: Callable[[Any], tuple[str | None, int | None, int | None]],
    row: Callable[[tuple[Any, ...]], _Row],
) -> list[_Row] | None:
    """Return entries as rows, which ``row`` makes; None if a field must be checked or converted by other means."""

# -- terms -----------------------------------------------------------------------------------------------------------

def words(text: str) -> list[str]:
    """Split text into lower-case words: runs of Unicode letters, digits and combining marks; all else separates."""

def fold(word: str) -> str:
    """Return the search form of a word: compatibility forms, Latin diacritics, special letters as plain letters.

    ``Café`` -> ``cafe``, ``Đồng`` -> ``dong``, ``Straße`` -> ``strasse``, ``ＪＷＴ`` -> ``jwt``; letters of scripts
    whose marks carry meaning (Cyrillic й, Kana が) keep them; Arabic vowel signs and tatweel are dropped.
    """

def gram_text(id: str, title: str, texts: Sequence[str]) -> str:
    """Return the extra index terms of an entry: grams of its texts that are no words of it, three times the title's."""

def grams(text: str) -> list[str]:
    """Return the extra index terms of a text, those that SQLite's ``unicode61`` cannot make.

    Character pairs of scripts written without spaces (and single Han characters), pairs of Hangul words, folded
    words where folding goes beyond ``unicode61``, German ``ae/oe/ue`` spellings, and the parts of identifiers such as
    ``getUserName`` or ``sha256``. Empty for plain text.
    """

def query_grams(text: str) -> list[str]:
    """Return the extra query terms of a text: as `grams`, without names and single characters that a pair covers."""

def tokenize(text: str) -> list[str]:
    """Return the TF-IDF tokens of a text.

    Lower case; everything but letters, digits, marks and hyphens separates; tokens under three characters and the 95
    English stop words are dropped; non-ASCII words are folded; Hangul and scripts written without spaces give
    character pairs. On ASCII text this is exactly the tokenizer of the documented seven-signal search.
    """

def stop_words() -> frozenset[str]:
    """Return the 95 English stop words that `tokenize` drops."""

def trigram_numbers(text: str) -> list[int]:
    """Return the numbers of a query's trigrams, ascending, each once: what `SpellingIndex.statistics_given` needs."""

def stored_terms(terms: Sequence[str | bytes]) -> list[str]:
    """Return the text that stands for each term in a database: the term, or a hash of what is long or no text.

    Of a term of more than 200 bytes, or one that ends in half a letter: its beginning, U+FFFD, 32 hexadecimal digits.
    """

#: Names as `stored_terms`, where the terms of each text begin ``(n + 1,)``, and the numbers of these among the names.
_Listed: TypeAlias = tuple[list[str], _Integers, NDArray[np.int32]]
#: The same, how often each is in each column ``(p, c)``, and the tokens of each text ``(n,)``.
_ListedRows: TypeAlias = tuple[list[str], _Integers, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]

@final
class Analysis:
    """What a store elsewhere keeps of texts ``(n,)``: each term of a text once, counted as the indexes count.

    Attributes:
        texts: the terms that FTS5 makes of the five columns.
        grams: those of the grams, in one column.
        trigrams: where those of each text begin ``(n + 1,)``, their numbers, ascending, and how many each text has,
            repeated ones too ``(n,)``.
        tfidf: terms as `tokenize` makes them.
        words: as spelling compares them, folded.
    """

    texts: _ListedRows
    grams: _ListedRows
    trigrams: tuple[_Integers, NDArray[np.int32], _Integers]
    tfidf: _Listed
    words: _Listed

def analysed(texts: Sequence[Sequence[str]], searched: Sequence[str]) -> Analysis:
    """Analyse entries: id, title, description, context, tags and grams as stored, and `searched_text` of each."""

@final
class SpellingIndex:
    """The spelling of texts by slot, append-only: the character trigrams inside their words.

    Words are folded; stop words and single ASCII characters are left out; each word is padded with one blank on both
    sides. Threads may read while one appends.
    """
    def __new__(cls) -> SpellingIndex: ...
    def __len__(self) -> int: ...
    #: The memory the index takes: about 100 bytes for a text of 60 words, and 20 for each distinct word.
    size_bytes: int
    def append(self, texts: Sequence[str]) -> int:
        """Cut the texts into words, in order, into new slots and return the first new slot."""
    def frozen(self) -> SpellingIndex:
        """Return the index as it is now; appending to one leaves the other alone."""
    def statistics(self, slots: _Integers) -> SpellingStatistics:
        """Count in how many of the slots ``(m,)`` each trigram is."""
    def statistics_given(self, slots: int, trigrams: int, counts: Mapping[int, int]) -> SpellingStatistics:
        """Return statistics of a larger corpus: its texts, their trigrams, and how many texts hold each, by number."""
    def bm25(self, statistics: SpellingStatistics, query: str, slots: _Integers) -> _Floats:
        """Return BM25 of the query's trigrams for slots ``(m,)``, at least 0: k1 = 1.2, b = 0.75, a positive idf."""

@final
class SpellingStatistics:
    """In how many slots each trigram is, at one moment: immutable, made from a `SpellingIndex`."""

    #: The number of slots counted.
    slots: int
    def moved(self, index: SpellingIndex, added: _Integers, removed: _Integers) -> SpellingStatistics:
        """Return new statistics with slots added and removed."""

@final
class TermIndex:
    """Token counts of texts by slot, append-only: slots already handed out never change, so readers need no lock."""
    def __new__(cls) -> TermIndex: ...
    def __len__(self) -> int: ...
    #: The memory that the counts take: about two bytes for a token, and eight for a text; none of it in a file.
    size_bytes: int
    def frozen(self) -> TermIndex:
        """Return the index as it is now; appending to one leaves the other alone."""
    def append(self, texts: Sequence[str], *, threads: int | None = None) -> int:
        """Tokenise the texts in order into new slots and return the first; ``threads`` as in `TfidfVectorizer`."""
    def frequencies(self, slots: _Integers) -> Frequencies:
        """Count document frequencies over the given slots ``(m,)`` (each slot at most once)."""
    def frequencies_given(self, documents: int, counts: Mapping[str, int]) -> Frequencies:
        """Return frequencies of a larger corpus; a term that is not named has no weight."""
    def cosines(self, frequencies: Frequencies, query: str, slots: _Integers) -> _Floats:
        """Return the TF-IDF cosine of the query with each slot ``(m,)``, in 0..1; 0 when either side is empty.

        ``weight = (count / tokens) * idf``, ``idf = ln((N + 1) / (df + 1)) + 1`` with N and df from ``frequencies``.
        Terms unknown to ``frequencies`` (df 0) carry no weight on either side.
        """

@final
class Frequencies:
    """Document frequencies at one moment: immutable, made from a `TermIndex`."""

    #: The number of documents counted.
    documents: int
    def moved(self, index: TermIndex, added: _Integers, removed: _Integers) -> Frequencies:
        """Return new frequencies with slots added and removed; equal to counting from scratch."""
    def document_frequency(self, term: str) -> int:
        """Return the number of counted documents that hold the term."""
    def idf(self, term: str) -> float:
        """Return ``ln((N + 1) / (df + 1)) + 1``."""
    def to_dict(self) -> dict[str, int]:
        """Return every term with a document frequency of at least 1."""

_Csr: TypeAlias = tuple[_Floats, NDArray[np.int32], _Integers]

@final
class TfidfVectorizer:
    """TF-IDF of whole corpora, numerically equal to scikit-learn's ``TfidfVectorizer`` (``smooth_idf``, ``l2``).

    ``tokens="words"`` takes runs of at least two word characters, lower-cased (scikit-learn's default), "signals" takes
    `tokenize`. Columns are numbered by the terms' code point order. ``threads``: how many, at least 1; None takes every
    core when there is work for more than one. No number depends on them.
    """

    #: The terms, by column.
    vocabulary: list[str]
    #: The inverse document frequencies by column: ``ln((1 + n) / (1 + df)) + 1``.
    idf: _Floats
    def __new__(
        cls,
        *,
        tokens: str = "signals",
        ngrams: tuple[int, int] = ...,
        stop_words: Sequence[str] = ...,
        least: float = 1.0,
        most: float = ...,
        features: int | None = None,
        norm: str = "l2",
        sublinear: bool = False,
        idf: bool = True,
        smooth: bool = True,
    ) -> TfidfVectorizer:
        """Make one that has learned nothing.

        Args:
            ngrams: the fewest and the most tokens of a term.
            least, most: in how many texts a term is.
            features: so many terms at most, those that come most often.
            norm: ``l2``, ``l1`` or ``none``.
        """
    def restore(self, vocabulary: Sequence[str], idf: Sequence[float]) -> None:
        """Take over what ``vocabulary`` and ``idf`` of a fitted one gave."""
    def fit(self, texts: Sequence[str], *, threads: int | None = None) -> None:
        """Learn vocabulary and document frequencies; replaces what was learned before."""
    def transform(self, texts: Sequence[str], *, threads: int | None = None) -> _Csr:
        """Return unit-length rows in CSR form: data, column indices (ascending in a row), row offsets ``(n + 1,)``."""
    def fit_transform(self, texts: Sequence[str], *, threads: int | None = None) -> _Csr:
        """Return `transform` of the same texts after `fit`, tokenising them once."""

# -- full text -------------------------------------------------------------------------------------------------------

def index_terms(text: str) -> list[bytes]:
    """Return the terms that FTS5 with ``porter unicode61 remove_diacritics 2`` makes of a text, in order.

    Bytes, as stemming, and the cut at 32,768 bytes, may leave half a letter. A query term of several is a phrase.
    """

@final
class TextIndex:
    """Postings of texts by slot, append-only; a row has one text a column. Threads may read while one appends.

    Args:
        terms: what there are postings of; of others only their number is known. None for all. Such an index cannot be
            written, and answers for these terms as one of all does.
    """
    def __new__(cls, columns: int, terms: Sequence[bytes] | None = None) -> TextIndex: ...
    def __len__(self) -> int: ...
    #: The number of texts a row has.
    columns: int
    def append(self, rows: Sequence[Sequence[str]]) -> int:
        """Cut the rows' texts, one for each column, into terms, into new slots; return the first: all rows, or none."""
    def frozen(self) -> TextIndex:
        """Return the index as it is now; appending to one leaves the other alone."""
    def statistics(self, slots: _Integers) -> Statistics:
        """Count the rows of the given slots ``(m,)`` (each at most once): the rows that the FTS5 table holds."""
    def statistics_given(
        self,
        slots: _Integers,
        rows: int,
        tokens: int,
        counts: Mapping[bytes, int],
        begun: Mapping[bytes, int] | None = None,
    ) -> Statistics:
        """Take the rows of slots ``(m,)`` for some of a larger corpus: they get the scores that they have there.

        Neither `Statistics.moved` nor `ArrayWriter.statistics` takes such statistics, and `Corpus.term_counts` refuses
        a term that both tables hold.

        Args:
            rows, tokens: of the whole corpus.
            counts: how many rows of it hold a term, in any column; a term that is not named counts 0, held or not.
            begun: how many hold words that begin with a stem (`index_terms` of a cascade's word), in columns whose
                weight is above 0; a cascade raises a ValueError for one that is not named. It needs no ``counts``.
        """

@final
class Statistics:
    """The rows that count at one moment, their tokens and document frequencies; no search finds other slots."""

    #: The number of tokens of all rows, as FTS5 counts them: the sum of ``fts5vocab``'s ``cnt``.
    tokens: int
    rows: int
    def moved(self, index: TextIndex, added: _Integers, removed: _Integers) -> Statistics:
        """Return new statistics with slots removed, which count now, and added, which do not: as from scratch."""
    def document_frequency(self, term: bytes) -> int:
        """Return the number of rows that hold an index term in any column."""
    def to_dict(self) -> dict[bytes, int]:
        """Return every index term that a row holds with the number of rows: ``fts5vocab``'s ``term`` and ``doc``."""

def bm25_top_k(
    parts: Sequence[tuple[TextIndex, Statistics, _Floats]],
    terms: Sequence[str],
    k: int,
    mask: _Mask | None = None,
    *,
    ties: _Integers | None = None,
    constants: tuple[float, float] | None = None,
) -> tuple[_Integers, _Floats, int]:
    """Find the ``k`` best slots for the FTS5 expression ``"a" OR "b" OR ...`` by FTS5's ``bm25()``, to the last bit.

    ``idf * f * (k1 + 1) / (f + k1 * (1 - b + b * tokens / average))`` summed over the terms in their order, ``k1 =
    1.2``, ``b = 0.75``; ``idf = ln((N - n + 0.5) / (n + 0.5))``, 1e-6 where it is not positive; ``f`` is the sum of the
    column's weight over all occurrences. A repeated term counts again; a term that gives no token matches nothing.

    Args:
        parts: by table its index, its rows and the weight of each column (finite, not negative). The tables share
            their slots; a slot's scores in them are added in the order given.
        k: how many, at least 0; fewer come back when fewer rows match.
        mask: shape ``(n,)``, True where a row may be returned, False for slots beyond its end; None allows all.
        constants: k1, above 0, and b, 0 to 1; None for FTS5's.
        ties: by slot a key; of equal scores the smaller key comes first. None takes the slot.

    Returns:
        Slots, their scores (positive: higher is better), best first, and how many allowed rows hold a term.

    A ValueError for a term of more than one token (see `index_terms`), weights or ties of the wrong length, a negative
    weight, statistics of another index.
    """

def matched_in(
    terms: Sequence[str],
    words: int,
    rows: int,
    counts: Sequence[int],
    texts: Sequence[tuple[str, str]],
    scores: _Floats,
    begun: bool = False,
) -> tuple[_Floats, _Floats, _Floats, _Floats, _Floats]:
    """Return of texts (title, everything), each ``(m,)``: information, share, share by the title, title, reach.

    ``scores`` are BM25 / (k1 + 1), ``counts`` document frequencies among ``rows``; the first ``words`` terms are words.
    """

def bm25_at(
    parts: Sequence[tuple[TextIndex, Statistics, _Floats]],
    terms: Sequence[str],
    slots: _Integers,
    *,
    constants: tuple[float, float] | None = None,
) -> _Floats:
    """Return the scores ``(m,)`` that `bm25_top_k` gives slots; NaN for those that hold no term or do not count."""

# -- search ----------------------------------------------------------------------------------------------------------

def spans(texts: Sequence[str], terms: Sequence[str], prefixes: int, grams: bool) -> list[list[tuple[int, int, int]]]:
    """Return by text where terms stand in it as FTS5 finds them: start, end (characters), number of the term.

    Terms from the number ``prefixes`` on match words that begin with them; ``grams`` looks for those of texts too.
    """

def query_terms(
    text: str, stop_words: bool | Set[str], grams: bool, most: int, least: int = 2, names: bool = True
) -> tuple[tuple[str, ...], int, int, bool]:
    """Cut a query into the terms of a full-text search by the documented steps; see `septet.query.parse`.

    Args:
        stop_words: what is left out: True the documented words, False none, or these.
        least: words of fewer characters are left out where there are others.
        names: with grams, names that signs join or mark are terms too.

    Returns:
        At most ``most`` terms, how many of the first are words, how many were left out, and whether one is a phrase.
    """

def cascade_words(text: str, stop_words: bool | Set[str], most: int) -> tuple[tuple[str, ...], int, bool, bool]:
    """Cut a query into words whose beginnings are looked for; none may be left.

    Returns at most ``most`` words, how many were left out, whether FTS5 takes one for several tokens, and whether the
    query has words but none is left.
    """

def needed_words(
    text: str, stop_words: bool | Set[str], grams: bool, most: int, least: int = 2
) -> tuple[tuple[tuple[tuple[str, ...], tuple[str, ...]], ...], bool]:
    """Return the words that an entry must hold to hold a whole query, each once: those that `query_terms` keeps.

    Returns:
        By word its forms, any of which stands for it, and its pieces, all of which do; no words where they are more
        than 64, or their forms and pieces more than 256. And whether FTS5 takes one for several tokens.
    """

def edits_between(word: str, others: Sequence[str], most: int) -> list[int | None]:
    """Return the edits from a word to each of other, folded words, as `Corpus.words_near`; None for too many."""

@final
class NameTable:
    """Texts by number, append-only: what the numbered columns of a `Corpus` point into."""
    def __new__(cls) -> NameTable: ...
    def __len__(self) -> int: ...
    def extend(self, names: Sequence[str]) -> None:
        """Add texts at the end."""

@final
class Selection:
    """Which slots of a snapshot a search may return, from a mask ``(s,)``; for that snapshot alone."""
    def __new__(cls, mask: _Mask) -> Selection: ...
    def allowed(self, slots: _Integers) -> _Integers:
        """Return those of the slots that may be returned, in their order; never one that is out of range."""

@final
class Links:
    """The links between rows of a store ``(l,)``, immutable, walked both ways: the newest first, then the lower row."""
    def __new__(cls, source: _Integers, target: _Integers, age: _Integers) -> Links: ...
    @staticmethod
    def of_columns(rows: _Integers, ends: _Integers, lists: NDArray[np.uint32]) -> Links:
        """Return the links of `columns`; a ValueError where they do not fit each other."""
    def columns(self) -> tuple[_Integers, _Integers, NDArray[np.uint32]]:
        """Return the rows that have links, ascending, where the list of each ends, and the lists."""
    def moved(self, source: _Integers, target: _Integers, age: _Integers, there: _Mask) -> Links:
        """Return the links after changes ``(c,)``: those stored are there, those removed are not; the newest counts."""
    def near(
        self, anchors: _Integers, known: _Integers, depth: int, most: int | None
    ) -> tuple[_Integers, _Integers, _Integers]:
        """Return the steps to known rows ``(m,)``, 0 for far ones, and the others within ``depth`` steps of an anchor
        that is not themselves, over ``most`` neighbours of each row, nearest first; and the steps to these.
        """

#: Two indexes with their statistics (entries, grams) and the spelling.
_FullText: TypeAlias = tuple[TextIndex, Statistics, TextIndex, Statistics, SpellingIndex, SpellingStatistics]
#: A space's number, its unit rows ``(v, d)``, the slot of each ``(v,)``, their codes (None for few), the row of each
#: slot ``(s,)``, a sample.
_SpaceParts: TypeAlias = tuple[int, _Rows, _Integers, Codes | None, NDArray[np.int32], Sample]
#: The query; its terms, none when full text is not searched; how many of the first are words; whether grams count; the
#: query vector as given and of unit length ``(d,)``; slots and scores ``(m,)`` that FTS5 found; words of which entries
#: that hold all come first, by forms and pieces; steps of a cascade: whether all of their words are wanted, and which.
_Query: TypeAlias = tuple[
    str, Sequence[str], int, bool, tuple[_Floats, _Singles] | None, tuple[_Integers, _Floats] | None, _Needed, _Steps
]

@final
class Corpus:
    """A snapshot's arrays ``(s,)`` and indexes, as searches read them. Threads may search it at once."""
    def __new__(
        cls,
        columns: dict[str, NDArray[Any]],
        names: NameTable,
        *,
        text: _FullText | None = None,
        terms: tuple[TermIndex, Frequencies] | None = None,
    ) -> Corpus:
        """Take the columns ``rows``, ``created_at``, ``updated_at``, ``valid_from``, ``valid_until``, ``kind``,
        ``severity`` and ``domain``, all of one length, which must not be written to any more.
        """
    def recall(
        self,
        queries: Sequence[_Query],
        *,
        tier: int,
        k: tuple[int, int],
        guard: tuple[int, int] | None,
        weights: _Floats,
        columns: Set[str],
        space: _SpaceParts | None = None,
        selection: Selection | None = None,
        feedback: tuple[int, int, int, float] | None = None,
        constants: tuple[float, float] | None = None,
        recall: float = 1.0,
    ) -> list[tuple[Pool, int, int, bool, int, int | None, bool]]:
        """Return the candidates of each query: by full text, best first, then what vectors added; every column filled.

        Args:
            tier: what candidates carry as the place of their tier.
            k: candidates that each leg takes, for a query without a vector and for one with.
            guard: (below, limit): with fewer matches than ``below``, more than half of which ``limit`` would drop, all
                of them become candidates; None never.
            weights: of the five columns of full text ``(5,)``.
            columns: which of ``tfidf``, ``trigram``, ``feedback``, ``cosine`` to fill beside ``bm25``, and ``vectors``.
            feedback: rows, terms, agreeing and covered of `Feedback`; None leaves the column out.
            space: the vectors that query vectors are compared with.
            selection: which slots may be returned; None allows all.
            constants, recall: k1 and b of BM25, None for FTS5's; of vectors in lists, see `Codes.probe`.

        Returns:
            By query its pool, how many slots match the full text and may be returned (by FTS5: how many it brought),
            how many candidates full text found, whether no entry holds some term, how many matches hold every needed
            word, the step of a cascade, and whether no other vector is nearer for certain. ``bm25`` is NaN for others
            found by FTS5, ``trigram`` without full text; with needed words ``all_words`` is 1 where all are held.

        A ValueError for arrays that do not fit each other and a term that is a phrase, an OSError of a file of vectors.
        """
    def text_place(
        self,
        query: _Query,
        slot: int | None,
        *,
        weights: _Floats,
        selection: Selection | None = None,
        constants: tuple[float, float] | None = None,
        before: int | None = None,
    ) -> tuple[int, int, int, float | None, bool, list[tuple[bool, bool]], float]:
        """Return the place of a slot, or of none, among the full-text matches of a query, in a cascade of its one step.

        ``before`` is the number of matches that `recall` found before it; a cascade counts them itself.

        Returns:
            How many slots match, of these hold every needed word, and come before it; its score, None if it does not
            match; whether it holds every needed word; by term whether it holds it, and as a word; the grams' share.
        """
    def vector_place(
        self, query: tuple[_Floats, _Singles], slot: int | None, space: _SpaceParts, selection: Selection | None
    ) -> tuple[int, float | None, int | None]:
        """Return how many vectors may be returned, the cosine of a slot's, and how many are nearer; None without one.

        A ValueError as for `recall`, an OSError of a file of vectors.
        """
    def term_counts(
        self, terms: Sequence[str], grams: bool, begun: _Floats | None = None
    ) -> tuple[int, list[int]] | None:
        """Return the entries and how many hold each term, in grams too if asked; None if no full text is given.

        With ``begun``, the weights of the columns, how many hold words that begin with each, where a weight is above 0.
        """
    def words_near(self, word: str, edits: int, most: int) -> list[tuple[str, int, int]] | None:
        """Return words at most so many edits from another: word, edits, entries that hold it; None without full text.

        An edit leaves out, adds or replaces a letter, or exchanges two neighbours. Words are folded; nearest first,
        of those the most frequent first.
        """
    def words_from(self, prefix: str, most: int) -> list[tuple[str, int, int]] | None:
        """Return the words that begin with letters, the most frequent first, as `words_near`."""
    def candidates_at(
        self,
        query: _Query,
        slots: _Integers,
        *,
        tier: int,
        weights: _Floats,
        columns: Set[str],
        space: _SpaceParts | None = None,
        constants: tuple[float, float] | None = None,
    ) -> Pool:
        """Return slots ``(m,)`` as candidates of a query, with every column filled as `recall` fills it."""

@final
class Pool:
    """Candidates ``(m,)`` as parallel arrays, immutable. Their texts stay in the store.

    Args:
        rows: each candidate's row in its store.
        tiers: the place of its tier among those that are searched.
        facts: ``kind``, ``severity`` and ``domain`` of each candidate, and ``id``, if they are known.
        columns: named columns; NaN is unknown. A ValueError for lengths that differ.
    """

    rows: list[int]
    tiers: list[int]
    ids: list[str] | None
    def __new__(
        cls, rows: Sequence[int], tiers: Sequence[int], facts: dict[str, Sequence[str]], columns: dict[str, _Floats]
    ) -> Pool: ...
    def __len__(self) -> int: ...
    #: Copies of the columns, by name.
    columns: dict[str, _Floats]
    def with_columns(self, columns: dict[str, _Floats]) -> Pool:
        """Return the pool with columns added or replaced."""
    def with_ids(self, ids: Sequence[str]) -> Pool:
        """Return the pool with the ids of its candidates."""
    def at(self, positions: Sequence[int]) -> Pool:
        """Return the candidates at the given positions, in that order; a ValueError for one out of range."""
    @staticmethod
    def united(pools: Sequence[Pool]) -> Pool:
        """Join pools given from the highest priority to the lowest: of equal ids the first one stays.

        A column that a pool lacks is NaN for its candidates. Pools of one tier need no ids: rows stand in for them.
        """

@final
class FactRules:
    """How facts become signals of 0 to 1: the value of each severity (others get the least), and how entries age."""
    def __new__(cls, severity: dict[str, float], *, half_life_s: float, ramp: float) -> FactRules: ...

#: Position in the pool, place of the tier, row, score, weight x signal, signals (None where unknown), confidence
#: and raw values. A memory has position -1, -2, …, its score and the confidence 0.
_Values: TypeAlias = dict[str, float | None]
_Placed: TypeAlias = tuple[int, int, int, float, dict[str, float] | None, _Values | None, float, _Values | None]

@final
class Ranking:
    """A pool with its scores: ``m`` candidates, ``c`` signals."""

    #: The candidates, with the columns that were added.
    pool: Pool
    #: The names of the signals ``(c,)``.
    names: tuple[str, ...]
    #: Raw signals ``(c, m)``, NaN where unknown.
    signals: _Floats
    #: Weight x signal ``(c, m)``; a candidate's score is the sum of its column.
    contributions: _Floats
    #: The scores ``(m,)``.
    scores: _Floats
    #: Candidate positions, best first; equal scores keep the pool's order ``(m,)``.
    order: _Integers
    #: The weight of each signal as it counted ``(c,)``.
    weights: _Floats
    #: How likely an answer is there at all, 0 to 1.
    confidence: float
    def named_weights(self) -> dict[str, float]:
        """Return the weights by signal."""
    def raw(self, positions: Sequence[int]) -> list[dict[str, float | None]]:
        """Return the signals of candidates; None where unknown."""
    def best(
        self,
        limit: int | None = None,
        *,
        least: float | None = None,
        least_confidence: float | None = None,
        memories: int = 0,
        memory_score: float = 0.0,
    ) -> list[_Placed]:
        """Return the best candidates, best first, and memories of one score among them, behind equal scores.

        Args:
            limit: at most so many; None for all.
            least: none under this score.
            least_confidence: none of less confidence.
            memories: how many there are.
        """
    def place(
        self, copies: Set[tuple[int, int]], memories: Sequence[tuple[int, int]], memory_score: float, returned: Set[int]
    ) -> tuple[int, int | None, _Placed | None, int | None]:
        """Return how many candidates and memories there are, the 0-based place of the first copy of an entry as `best`
        orders them, this candidate, and the last place of the returned positions. A copy or memory is tier and row.
        """

# -- blocks of postings ----------------------------------------------------------------------------------------------

def written_postings(
    parts: Sequence[tuple[int, Sequence[str], _Integers, _Integers, NDArray[np.int32], _Integers]],
    rows: _Integers,
    memories: _Mask,
    gone: int,
) -> bytes:
    """Return the change of postings by a write of entries ``(n,)``, the first ``gone`` of which are what was before.

    A part is its number, its terms, the term and the entry of each pair ``(p,)``, the counts by column ``(p, 5)``, or
    ``(p, 1)`` of the second column, and the tokens of each entry ``(n,)``.
    """

def folded_postings(changes: Sequence[bytes]) -> list[tuple[int, str, int, bytes]]:
    """Return the changes of writes, in their order, as one for each block: part, term, span, change."""

def merged_postings(pairs: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Return blocks, each with its change; empty where nothing is left. `Damaged` for bytes that are neither."""

def checked_postings(blocks: Sequence[tuple[int, str, bytes]]) -> tuple[int, int]:
    """Return the number of the postings in blocks of a part and term, and the sum of their hashes modulo 2^64."""

def ranked_postings(
    asked: Sequence[tuple[int, str, float | None]],
    blocks: Sequence[tuple[int, str, bytes]],
    changes: Sequence[bytes],
    k: int,
    *,
    weights: Sequence[float],
    average: tuple[float, float],
    constants: tuple[float, float],
    needed: Sequence[Sequence[Sequence[Sequence[int]]]],
    outside: Sequence[int],
    memories: bool,
) -> tuple[_Integers, _Floats, int, int]:
    """Find the ``k`` best rows as `bm25_top_k` does: those that hold every needed word first, then by row.

    ``asked`` is part, term and idf (None: it scores nothing), ``needed`` by word the ways to hold it: a term of each
    group, by its place. Returns rows, scores, and the numbers of matches and of those that hold every needed word.
    """

@final
class Begun:
    """The words of a cascade: by word the first term that begins with it, what is behind the last, and their blocks."""
    def __new__(
        cls, words: Sequence[tuple[str, str, Sequence[tuple[str, bytes]]]], changes: Sequence[bytes]
    ) -> Begun: ...
    def counts(self, weights: Sequence[float], entries: bool, memories: bool) -> list[int]:
        """Return how many rows hold each word in a column of a weight above 0."""
    def best(
        self,
        k: int,
        steps: _Steps,
        *,
        idf: Sequence[float],
        weights: Sequence[float],
        average: float,
        constants: tuple[float, float],
        outside: Sequence[int],
        memories: bool,
    ) -> tuple[_Integers, _Floats, int, int | None]:
        """Find the ``k`` best rows of the first step that a row takes: all of its words, or any; `ranked_postings`."""

# -- sentence models -------------------------------------------------------------------------------------------------

_Linear: TypeAlias = tuple[_Singles, _Singles] | tuple[NDArray[np.int8], _Singles, _Singles]
_Layer: TypeAlias = tuple[_Linear, _Linear, _Singles, _Linear, _Linear, _Singles]

@final
class Encoder:
    """The forward pass of a BERT-type sentence model, without its table of words. Threads may share it."""
    def __new__(
        cls,
        positions: _Singles,
        norm: _Singles,
        layers: Sequence[_Layer],
        *,
        heads: int,
        epsilon: float,
        activation: str,
        pooling: str,
        kernel: str | None = None,
    ) -> Encoder:
        """Copy the weights of a model of ``d`` components, ``w`` between the two halves of a layer.

        Args:
            positions: shape ``(p, d)``: what is added to a token at each position; ``p`` bounds a text's length.
            norm: shape ``(2, d)``: scale and shift of the normalisation before the first layer.
            layers: attention (queries, keys, values, one under the other: ``(3d, d)``), output ``(d, d)``, norm
                ``(2, d)``, up ``(w, d)``, down ``(d, w)``, norm ``(2, d)``. A map is a pair of weight ``(to, from)``
                and bias ``(to,)``; or codes ``(to, from)``, the scale of each 32 ``(to, from / 32)``, and bias.
            heads, epsilon: parts of a vector in the attention; what is added to the variance in normalisations.
            activation: ``gelu`` (exact), ``gelu_new``, ``gelu_pytorch_tanh`` or ``gelu_fast`` (with tanh), ``relu``.
            pooling: ``mean``, ``cls`` or ``max``.

        A ValueError for shapes that do not fit, heads that do not divide ``d``, an unknown name.
        """
    #: The number of components of a vector.
    dimensions: int
    def encode(self, words: _Singles, lengths: _Integers, *, threads: int = 1) -> _Singles:
        """Return the unit vectors ``(n, d)`` of texts; zeros for one without a direction, or whose numbers are none.

        Args:
            words: shape ``(t, d)``: the vectors of the texts' tokens, one text behind the other.
            lengths: shape ``(n,)``: the texts' numbers of tokens, summing to ``t``.
            threads: how many may work at once, the caller's among them.

        A ValueError for lengths that do not fit, a text without tokens or with more than there are positions.
        """
    def hidden(self, words: _Singles, lengths: _Integers, *, threads: int = 1) -> _Singles:
        """Return the vectors ``(t, d)`` of all tokens after the last layer, for a head; see `encode`."""
    def hidden_first(self, words: _Singles, lengths: _Integers, *, threads: int = 1) -> _Singles:
        """Return the vector ``(n, d)`` of each text's first token after the last layer; see `encode`."""

def code_weights(weight: _Singles) -> tuple[NDArray[np.int8], _Singles]:
    """Return codes ``(n, k)``, -127 to 127, and scales ``(n, k / 32)`` of a weight; a ValueError for another ``k``."""

def four_bit_rows(blocks: NDArray[np.uint8]) -> _Singles:
    """Return rows ``(n, 32b)`` that are stored in blocks of four bits, shape ``(n, 18b)``.

    A block is a float16 scale, then 16 bytes: number ``j`` is in the lower half of byte ``j``, ``j + 16`` in the upper
    one, each 8 too large.
    """

@final
class Unigram:
    """The tokenizer of XLM-R: words are cut into the pieces whose scores have the largest sum. Threads may share it."""
    def __new__(
        cls,
        offsets: NDArray[np.uint32],
        scores: _Singles,
        text: NDArray[np.uint8],
        characters: NDArray[np.uint8],
        *,
        unknown: int,
    ) -> Unigram:
        """Copy the pieces, of at most 256 bytes each, and the map of characters; a ValueError for what does not fit.

        Args:
            offsets, scores, text: shapes ``(n + 1,)``, ``(n,)``, ``(bytes,)``; a piece ends where the next begins.
            characters: for each character that is replaced, in ascending order: its number in 4 bytes, the count of
                others in 1, and their numbers in 4 each.
            unknown: the piece of characters that are in no piece; those in a row are one.
        """
    def encode(self, text: str) -> tuple[_Integers, _Integers]:
        """Return the numbers of a text's pieces, and where each ends, in characters of the text."""

# -- fusion ----------------------------------------------------------------------------------------------------------

@final
class Formula:
    """Signals of a profile, evaluated for all candidates of a search in one call.

    A signal is nested tuples, as `septet.ranking.fusion` documents each. ``confidence``, ``balance`` and ``smoothing``
    have the numbers of the classes of these names, with positions for names of signals; ``adjustment`` has the factors,
    the floor expression with its score, and the pinned expression.
    """
    def __new__(
        cls,
        signals: Sequence[tuple[Any, ...]],
        *,
        missing: str,
        confidence: tuple[Any, ...] | None = None,
        balance: tuple[int, int, float] | None = None,
        smoothing: tuple[Sequence[int], float, int, int, Sequence[float]] | None = None,
        adjustment: tuple[Sequence[tuple[Any, ...]], tuple[tuple[Any, ...], float] | None, tuple[Any, ...] | None]
        | None = None,
    ) -> Formula: ...
    def evaluate(self, columns: Mapping[str, _Floats], kinds: Sequence[str]) -> _Floats:
        """Return the signals ``(c, m)`` of candidates, NaN where unknown.

        Args:
            columns: by name, ``(m,)``; one that is not there is unknown for everyone.
            kinds: of each candidate ``(m,)``.
        """
    def score(
        self, columns: Mapping[str, _Floats], kinds: Sequence[str], weights: _Floats
    ) -> tuple[_Floats, _Floats, _Floats, _Integers, _Floats]:
        """Weigh the signals ``(c,)`` and order the candidates by the sums.

        With ``missing="zero"`` unknown signals are 0; with ``"share"`` those unknown for everyone leave their weight to
        the others, so that the weights in use sum to 1.

        Returns:
            Signals ``(c, m)``, weight x signal ``(c, m)``, scores ``(m,)``, the candidates' order, best first, stable
            ``(m,)``, and the weights as they counted ``(c,)``.
        """
    def rank(
        self,
        pool: Pool,
        names: Sequence[str],
        weights: Sequence[float],
        *,
        rules: FactRules | None = None,
        now: float = 0.0,
        domain: str | None = None,
        least: float | None = None,
        taken: int | None = None,
    ) -> Ranking:
        """Return `score` of a pool.

        Args:
            names, weights: of the signals ``(c,)``; also the names of what changes the scores afterwards.
            rules: fill the columns ``severity``, ``decay`` and ``domain`` first; None scores the pool as it is.
            now: when entries are judged, epoch seconds.
            domain: which domain the query asks for; None leaves that signal unknown.
            least: the score wanted at least: the floor raises to no more.

        A ValueError for lengths that differ, and a pool without the times of its candidates.
        """

def rrf(
    lists: Sequence[_Integers], weights: _Floats, *, k: float = 60.0, first_rank: int = 1
) -> tuple[_Integers, _Floats]:
    """Fuse ranked id lists by reciprocal rank: ``sum(weight / (k + rank))`` (Cormack, Clarke, Buettcher 2009).

    Ids come back best first; equal scores keep the order in which the ids were first met, list by list. An id that a
    list repeats counts once there, at its best rank.
    """

def unite(first: _Integers, second: _Integers) -> _Integers:
    """Return the ids of one list, and after them those of another that the first does not hold, in their order."""

def jaccard(query: Sequence[str], tags: Sequence[Sequence[str]]) -> _Floats:
    """Return ``|a & b| / |a | b|`` of a query's and each candidate's set of tags ``(m,)``; 0 when both are empty."""

def decay(
    now: float,
    created: _Floats,
    updated: _Floats,
    valid_from: _Floats,
    valid_until: _Floats,
    *,
    half_life_s: float,
    ramp: float,
) -> _Floats:
    """Return the temporal decay, 0..1, of candidates ``(m,)``; times are epoch seconds, NaN where absent.

    Without ``valid_until``: ``exp(-ln 2 * age / half_life_s)``, age from ``updated``, else ``created``, else 0; an age
    under 0 counts as 0. With it: ``start = valid_from``, else ``created``, else ``now``; ``window = valid_until -
    start``; 0 when nothing remains, 1 when the window is empty or more than ``ramp`` of it remains, else
    ``remaining / (ramp * window)``.
    """

def windows(text: str, words: int) -> list[tuple[int, int, int, int]]:
    """Cut a text into windows of at most ``words`` words, at ends of paragraphs, lines or sentences if there are any:
    first character, the one behind the last, and the lines, from 1, of the first and last word.
    """

@final
class Redactions:
    """Rules that mask secrets, ready to run: patterns with how to mask and what to check (`septet.files.redaction`)."""
    def __new__(cls, rules: Sequence[tuple[str, str, str]]) -> Redactions:
        """Compile rules; a ValueError for a pattern that is malformed or too large, an unknown mask or check."""
    def redact(self, text: str) -> tuple[str, list[int]]:
        """Return the text with its secrets masked, and how many each rule found; in linear time."""
    def spans(self, text: str) -> tuple[list[tuple[int, int, int]], list[int]]:
        """Return start, end and rule of each secret in a text, ascending, apart; and how many each rule found."""
    def redact_all(self, texts: Sequence[str]) -> list[tuple[int, str, list[int]]]:
        """Return of those texts that hold secrets the position, the masked text, and how many each rule found."""

def chunk_markdown(
    text: str, tokens: int, overlap: int, variant: str, most_bytes: int = 0
) -> list[tuple[str, int, int, str]]:
    """Cut a text into chunks of whole lines: text, first and last line, SHA-256; see `septet.chunk_markdown`.

    Chunks above ``most_bytes`` (0: any) are cut again. A ValueError where overlaps make 16 times the text and 64 MiB.
    """

def document_chunks(
    text: str, tokens: int, overlap: int, variant: str, markup: str
) -> tuple[list[list[str]], list[tuple[str, int, int, int, list[tuple[str, str, str]]]]]:
    """Cut a document (``markdown``, ``rst`` or ``plain``) into chunks, blank ones left out, and read its outline.

    Returns the heading paths that occur, and a row a chunk: text, first and last line, which of the paths leads to
    its first line that the chunk before does not have (-1: none), and what it mentions: target, anchor, ``wiki`` or
    ``link``.
    """

def split_utf8(text: str, most_bytes: int) -> list[str]:
    """Cut a text into pieces of at most so many bytes (0: any), between characters; one alone may be larger."""

# -- files below a folder --------------------------------------------------------------------------------------------

def walk_folder(
    folder: str,
    *,
    prefix: str = "",
    within: Sequence[str] = ...,
    endings: Sequence[str] = ...,
    any_case: bool = False,
    sessions: bool = False,
    hidden: bool = False,
    ignore_files: Sequence[str] = ...,
    include: Sequence[str] = ...,
    exclude: Sequence[str] = ...,
    pattern: str | None = None,
) -> tuple[list[tuple[str, str | None, int, int, bool]], list[_Path], list[_Path], list[_Problem], dict[str, int]]:
    """List files, links, folders and problems below a folder, in the order of paths; follows no link, never raises.

    A path is below the folder, as text, and as the system has it where that is something else. A file has its size in
    bytes, its time in nanoseconds since 1970, and whether it is a session log; a problem a path, a reason, a detail.
    ``within`` bounds the walk to paths and what is below them. ``include`` and ``exclude`` are globs as in .gitignore
    for paths with ``prefix`` before them, ``pattern`` one for paths below the folder. Links are listed that lead to a
    folder, or have the name of a file that is wanted. Last, how many files only their ending leaves out, by ending.
    """

def check_globs(globs: Sequence[str]) -> None:
    """Raise ValueError unless all of these are globs in the syntax of .gitignore."""

def shown_path(path: str) -> tuple[str, str | None]:
    """Return the text that `walk_folder` gives for a path, and the path where that is something else."""

@final
class Repository:
    """A folder at one moment, first of all unknown; ``cut`` says what ended the look at it: ``files`` or ``time``."""

    cut: str | None
    problems: list[_Problem]
    def __new__(cls, folder: str, skip: Sequence[str], rules: Sequence[str], most: int) -> Repository: ...
    def looked(self, timeout_s: float | None, most_bytes: int = 0) -> Repository:
        """Return it as it is now, with what files of at most so many bytes define; what did not change is not read."""
    def paths(self, words: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """Return paths that hold words, in lower case: 1.0 each, 1.3 where one ends, or a part of it begins, so."""
    def symbols(self, words: Sequence[str], names: Sequence[str], limit: int) -> list[_Symbol]:
        """Return those near words of names or near names, the best first (`symbols/rank.rs`); of neither, all."""

def proximities(name: str, others: Sequence[str]) -> list[float]:
    """Return how near a name is to others: 1 where one holds the other, else 1 - edits / length of the longer."""

# -- arrays in files -------------------------------------------------------------------------------------------------

@final
class ArrayFile:
    """A file of named columns: mapped, so that processes share the pages they touch, or, if small or told so, read.

    An OSError says that it cannot be read, `Damaged` that it is cut or no such file, a ValueError that it is of another
    format. Where it is cut or overwritten while mapped, every function that looked at it raises `Damaged`.
    """
    def __new__(cls, path: str | os.PathLike[str], *, mapped: bool = True) -> ArrayFile: ...
    #: What the writer stamped the file with.
    stamp: bytes
    #: The length of the file.
    size_bytes: int
    #: Whether it is mapped and, by its times, unmodified since it was made; else `verify` it first.
    is_sealed: bool
    def names(self) -> list[str]:
        """Return the names of the columns, in their order."""
    def check(self) -> None:
        """Raise `Damaged` if the file was cut or overwritten since it was opened."""
    def column(self, name: str) -> NDArray[np.uint8]:
        """Return the bytes of a column, read-only and aligned to 64; `Damaged` where there is none."""
    def rows(self, name: str, dimensions: int, most_bytes: int) -> FileRows:
        """Return the float32 rows ``(n, dimensions)`` of a column; of more than ``most_bytes`` each read one by one."""
    def verify(self, name: str | None = None) -> None:
        """Compare the checksum of a column, or of all, without touching the map; `Damaged` where it differs."""
    def text_index(self, prefix: str) -> TextIndex:
        """Return the index that `ArrayWriter.text_index` wrote; what is appended stays in memory."""
    def statistics(self, prefix: str, index: TextIndex) -> Statistics:
        """Return the statistics that `ArrayWriter.statistics` wrote, over the index of this file."""
    def spelling_index(self, prefix: str) -> tuple[SpellingIndex, SpellingStatistics]:
        """Return what `ArrayWriter.spelling_index` wrote; what is appended stays in memory."""
    def term_index(self, prefix: str, documents: int) -> tuple[TermIndex, Frequencies]:
        """Return what `ArrayWriter.term_index` wrote; frequencies of so many documents, as right as the file is."""
    def codes(self, prefix: str) -> Codes:
        """Return the codes that `ArrayWriter.codes` wrote; rows that are added stay in memory."""

@final
class FileBytes:
    """All bytes of a file of another format, mapped or read; an OSError says that it cannot be."""
    def __new__(cls, path: str | os.PathLike[str], *, mapped: bool = True) -> FileBytes: ...
    def view(self) -> NDArray[np.uint8]:
        """Return the bytes, read-only, where they lie; `check` what was made of them before it is believed."""
    def check(self) -> None:
        """Raise `Damaged` if the file was cut or overwritten since it was opened."""

@final
class FileRows:
    """Float32 rows of a file, looked at where they lie or read one by one; `Damaged` says that the file was changed."""
    @staticmethod
    def open(path: str | os.PathLike[str], at: int, rows: int, dimensions: int, *, mapped: bool = True) -> FileRows:
        """Return the rows that begin ``at`` bytes into a file, where more may follow; `Damaged` for a shorter one."""
    def __len__(self) -> int: ...
    def read(self, start: int, stop: int) -> _Singles:
        """Return a copy of the rows from ``start`` on, before ``stop``."""
    #: The number of components of a row.
    dimensions: int

@final
class ArrayWriter:
    """A new file of arrays in the making; a FileExistsError where there is a file. Without `finish` it is none."""
    def __new__(cls, path: str | os.PathLike[str], stamp: bytes) -> ArrayWriter: ...
    def column(self, name: str, item_bytes: int, pieces: Sequence[NDArray[np.uint8]]) -> None:
        """Write a column of items of so many bytes, given in pieces."""
    def rows(self, name: str, base: FileRows, first: int, more: _Singles) -> None:
        """Write a column of the first rows of a file, and of more in memory."""
    def text_index(self, prefix: str, index: TextIndex) -> None:
        """Write an index; its columns' names begin with the prefix."""
    def statistics(self, prefix: str, statistics: Statistics) -> None:
        """Write statistics; their columns' names begin with the prefix."""
    def spelling_index(self, prefix: str, index: SpellingIndex, statistics: SpellingStatistics) -> None:
        """Write an index and statistics over it; their columns' names begin with the prefix."""
    def term_index(self, prefix: str, index: TermIndex, frequencies: Frequencies) -> None:
        """Write an index and frequencies over it; their columns' names begin with the prefix."""
    def codes(self, prefix: str, codes: Codes, rows: int) -> None:
        """Write the codes of the first ``rows`` rows; their columns' names begin with the prefix."""
    def finish(self) -> int:
        """Complete the file, have it reach the disk, and return its length in bytes."""

# -- what is given back, at the latest when its holder dies: no interrupt comes between (`rust/binding/src/leases`) --

def shut_gate(timeout_s: float) -> bool:
    """Let no other thread begin to use SQLite, before a fork, and say whether all others have stopped in time."""

def passed_gate() -> bool:
    """Say whether a thread lost its patience before the shut gate, and may use SQLite or have left connections."""

def open_gate() -> None:
    """Let other threads in again."""

def leak(object: object) -> None:
    """Keep an object for ever, so that it is never finalised."""

@final
class Lock:
    """A lock: ``gated`` for users of SQLite; ``again``: its thread takes it twice; ``handed_on``: no thread owns it."""

    mine: bool
    held_by_any: bool
    def __new__(cls, *, gated: bool = False, again: bool = False, handed_on: bool = False) -> Lock: ...
    def hold(self, timeout_s: float | None = None) -> Any:
        """Return what holds the lock until its ``release``, its ``with`` block or its life ends; None after a wait."""

@final
class Readers:
    """The connections of a store that reads borrow: threads that read, connections that nobody uses."""

    out: int
    idle: int
    def __new__(cls, most_idle: int) -> Readers: ...
    def begin(self, connect: Any, question: str, make: Any, faults: Any) -> ReadTransaction | None:
        """Begin a read by a question that stays open; ``make`` gets the connection and the first row."""
    def close(self, wait_s: float) -> None:
        """Let no read begin, wait for other threads' reads, and close idle connections."""
    def close_idle(self) -> None:
        """Close the connections that nobody uses."""

@final
class ReadTransaction:
    """What ``make`` made, until the read is ended."""

    reading: Any
    @staticmethod
    def of_writer(lock: Lock, opened: Any, question: str, make: Any, faults: Any) -> ReadTransaction:
        """Begin a read on the connection of a writer, whose turn it then is."""
    def end(self) -> None:
        """Give the connection back."""
    def __enter__(self) -> Any: ...
    def __exit__(self, *fault: object) -> None: ...

@final
class WriteTransaction:
    """What ``begun`` makes of the connection, until it is committed or rolled back; ``faults`` may raise others."""
    def __new__(cls, lock: Lock, opened: Any, begun: Any, committed: Any, faults: Any, in_memory: bool) -> Any: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *fault: object) -> None: ...
