"""TF-IDF vectorizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from septet import _core
from septet.errors import QueryError
from septet.inputs.arguments import shown, whole
from septet.tfidf.counting import SparseRows, TermCounter, called_with, core_of
from septet.tfidf.parameters import OUTPUTS, TOKEN_PATTERN, fixed_vocabulary, native_options, one_of, reading_of

T = TypeVar("T")

#: Maximum number of threads.
MOST_THREADS = 256


class _Fitted(NamedTuple):
    """Result of a fit, with its options."""

    core: _core.TfidfVectorizer | TermCounter
    options: dict[str, Any]
    columns: int

    @property
    def idf(self) -> NDArray[Any]:
        return self.core.idf.astype(self.options["dtype"], copy=False)


class TfidfVectorizer:
    """Turns texts into rows of TF-IDF weights, counts times ``idf = ln((1 + n) / (1 + df)) + 1``, scaled to length 1.

    A text without known terms yields a row of zeros. Threads may transform while another fits: they use the fit that
    was current when they started. ``threads`` is the maximum number of threads, None for every core if there is work
    for more than one; results do not depend on it.

    Parameters and results equal those of scikit-learn's ``TfidfVectorizer``; as there, `fit` checks them, and texts
    without any term are an error. A document is a text, or bytes to decode; a function given as
    ``analyzer`` or ``preprocessor`` (or ``tokenizer`` with ``lowercase=False``) may take any other.

    The defaults of ``analyzer``, ``preprocessor``, ``lowercase``, ``strip_accents``, ``tokenizer`` and
    ``token_pattern`` are native code on all cores; any other value is analyzed in Python on one.

    Args:
        tokens: ``"words"`` takes runs of two or more letters, digits and underscores, in lower case, like the default
            pattern of scikit-learn. ``"signals"`` takes the terms of a vault's TF-IDF signal: three or more characters,
            hyphens included, without English stop words, accents folded, and pairs of characters of scripts that are
            written without spaces.
        ngram_range: minimum and maximum number of consecutive tokens per term, up to 100, joined by spaces.
        stop_words: dropped tokens: ``"english"``, or a list in lower case.
        min_df: minimum document frequency of a term, as an integer, or as a share of all texts from 0.0 to 1.0.
        max_df: maximum document frequency, likewise.
        max_features: maximum number of terms, the most frequent ones.
        norm: ``"l2"`` scales rows to Euclidean length 1, ``"l1"`` to a sum of 1, None leaves them.
        use_idf: False disables the idf.
        smooth_idf: False uses ``ln(n / df) + 1``.
        sublinear_tf: True replaces a count by ``1 + ln(count)``.
        analyzer: ``"word"`` takes tokens; ``"char"`` runs of ``ngram_range`` characters; ``"char_wb"`` runs inside
            words padded with a space on each side; a function returns the terms of a text, without any other step.
        preprocessor: function that replaces ``lowercase`` and ``strip_accents``.
        lowercase: False keeps upper case.
        strip_accents: ``"unicode"`` removes accents, ``"ascii"`` also all other non-ASCII characters; or a function.
        tokenizer: function that returns the tokens of a text, instead of ``token_pattern``.
        token_pattern: regular expression of a token; with a group, the group is the token.
        binary: True counts a term once per text.
        vocabulary: fixed terms in the order of columns, or a dict from terms to columns; disables ``min_df``,
            ``max_df`` and ``max_features``.
        input: ``"content"`` takes documents directly, ``"filename"`` paths of files, ``"file"`` open files.
        encoding: encoding of bytes.
        decode_error: handling of undecodable bytes: ``"strict"`` raises, ``"ignore"`` drops them, ``"replace"`` inserts
            U+FFFD.
        dtype: dtype of weights and idf, float64 or float32; integer types mean float64.
        output: ``"rows"`` returns `SparseRows`, ``"scipy"`` a ``scipy.sparse.csr_matrix`` for scikit-learn pipelines.
    """

    def __init__(
        self,
        *,
        tokens: str = "words",
        ngram_range: tuple[int, int] = (1, 1),
        stop_words: Literal["english"] | Sequence[str] | None = None,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        norm: Literal["l1", "l2"] | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        analyzer: Literal["word", "char", "char_wb"] | Callable[[str], Iterable[str]] = "word",
        preprocessor: Callable[[str], str] | None = None,
        lowercase: bool = True,
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        token_pattern: str | None = TOKEN_PATTERN,
        binary: bool = False,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        input: Literal["content", "filename", "file"] = "content",
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
        dtype: DTypeLike = np.float64,
        output: str = "rows",
    ) -> None:
        self.tokens = tokens
        self.ngram_range = ngram_range
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.analyzer = analyzer
        self.preprocessor = preprocessor
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.tokenizer = tokenizer
        self.token_pattern = token_pattern
        self.binary = binary
        self._vocabulary = vocabulary
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.dtype = dtype
        self.output = output

    def fit(self, texts: Iterable[str], y: object = None, *, threads: int | None = None) -> TfidfVectorizer:
        """Learn terms and document frequencies, replacing those learned before; return the vectorizer.

        Args:
            texts: the texts.
            y: ignored.
            threads: maximum number of threads.

        Raises:
            QueryError: a parameter is invalid, ``threads`` is below 1, ``texts`` is one text, or a document is not
                text, cannot be read or decoded, or has half a surrogate pair.
        """
        self._learn(texts, threads, lambda core: core.fit)
        return self

    def transform(self, texts: Iterable[str], *, threads: int | None = None) -> Any:
        """Return a row for each text, over the terms learned by `fit`, in the form of ``output``.

        Raises:
            QueryError: `fit` was not called, ``threads`` is below 1, ``texts`` is one text, or a document is not text,
                cannot be read or decoded, has half a surrogate pair, or a term with infinite idf.
        """
        fitted = self._known()
        documents, workers = fitted.options["reading"].texts(texts), _workers(threads)
        return self._output(_called(fitted.core, fitted.core.transform, documents, workers), fitted)

    def fit_transform(self, texts: Iterable[str], y: object = None, *, threads: int | None = None) -> Any:
        """Fit and transform, reading the texts once.

        Raises:
            QueryError: as `fit`.
        """
        return self._output(*self._learn(texts, threads, lambda core: core.fit_transform))

    def inverse_transform(self, rows: SparseRows | ArrayLike) -> list[NDArray[np.object_]]:
        """Return the terms with nonzero weight of each row, in the order of columns.

        Args:
            rows: `SparseRows`, a sparse matrix of scipy, or numbers of shape ``(n, len(vectorizer))``.

        Raises:
            QueryError: not fitted, or the rows have another number of columns.
        """
        terms = self.get_feature_names_out()
        n = len(terms)
        if isinstance(rows, SparseRows):
            sparse = rows
        elif hasattr(rows, "tocsr"):
            csr = rows.tocsr()
            sparse = SparseRows._of(csr.data, csr.indices, csr.indptr, csr.shape[1])
        else:
            sparse = _sparse(rows, n)
        inside = not len(sparse.indices) or (sparse.indices.min() >= 0 and sparse.indices.max() < n)
        if sparse.columns != n or not inside:
            raise _columns_fault(sparse.columns, n)
        ends = sparse.indptr.tolist()
        return [terms[sparse.indices[start:end][sparse.data[start:end] != 0]] for start, end in pairwise(ends)]

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the terms by column, as texts in an array of objects.

        Raises:
            QueryError: `fit` was not called, and ``vocabulary`` not given.
        """
        return np.array(self._terms(), dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the original parameters by name."""
        return {name: getattr(self, _ATTRIBUTES.get(name, name)) for name in PARAMETERS}

    def set_params(self, **params: Any) -> TfidfVectorizer:
        """Set parameters by name, for the next `fit`; return the vectorizer.

        Raises:
            QueryError: unknown parameter.
        """
        for name in params:
            if name not in PARAMETERS:
                raise QueryError(f"unknown parameter {shown(name)}: known are {', '.join(PARAMETERS)}")
        for name, value in params.items():
            setattr(self, _ATTRIBUTES.get(name, name), value)
        return self

    @property
    def vocabulary(self) -> list[str]:
        """The terms by column, in code point order or as given; empty before `fit`.

        `get_params` has the parameter of this name.
        """
        fitted = self._fitted
        return fitted.core.vocabulary if fitted else []

    @property
    def idf(self) -> NDArray[np.float64]:
        """The inverse document frequencies by column, 1 without ``use_idf``; empty before `fit`."""
        fitted = self._fitted
        return fitted.idf if fitted else np.empty(0)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The columns by term.

        Raises:
            AttributeError: not fitted, as in scikit-learn.
        """
        return {term: column for column, term in enumerate(self._learned("vocabulary_").core.vocabulary)}

    @property
    def idf_(self) -> NDArray[np.float64]:
        """Same as ``idf``, but settable, with a fixed ``vocabulary`` even before `fit`.

        Raises:
            AttributeError: not fitted, or ``use_idf`` is False.
        """
        fitted = self._learned("idf_")
        if not fitted.options["idf"]:
            raise AttributeError("there is no idf_: the vectorizer was fitted with use_idf=False")
        return fitted.idf

    @idf_.setter
    def idf_(self, weights: ArrayLike) -> None:
        """Set the idf of each term.

        Raises:
            QueryError: no terms are known, ``weights`` is not one number per term, or ``use_idf`` is False.
        """
        terms = self._terms()
        options = self._fitted.options if self._fitted else native_options(self.get_params(), 0)
        if not options["idf"]:
            raise QueryError("idf_ cannot be set: use_idf is False")
        try:
            idf = np.array(weights, dtype=np.float64)
        except (TypeError, ValueError, OverflowError, RecursionError):
            idf = np.empty(0)
        if idf.shape != (len(terms),) or np.isnan(idf).any():
            raise QueryError(f"idf_ is {shown(weights)}: wanted {len(terms):,} numbers, one for each term")
        self._fitted = _restored(options, terms, idf)

    def __len__(self) -> int:
        fitted = self._fitted
        return fitted.columns if fitted else 0

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<TfidfVectorizer of {len(self)} terms, tokens={self.tokens!r}>"

    def __getstate__(self) -> dict[str, Any]:
        attributes = {_ATTRIBUTES.get(name, name): value for name, value in self.get_params().items()}
        if fitted := self._fitted:
            attributes["_fitted"] = (fitted.core.vocabulary, fitted.core.idf, fitted.options)
        return attributes

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        learned = attributes.pop("_fitted", None)
        self.__dict__.update(attributes)
        if learned:
            vocabulary, idf, options = learned
            self._fitted = _restored(options, vocabulary, idf)

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def __sklearn_tags__(self) -> Any:
        # Called by scikit-learn only, so it is installed.
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, two_d_array=False),
        )

    #: Replaced atomically by each fit.
    _fitted: _Fitted | None = None

    def _learn(
        self, texts: Iterable[str], threads: int | None, method: Callable[[Any], Callable[..., T]]
    ) -> tuple[T, _Fitted]:
        parameters = self.get_params()
        documents, workers = reading_of(parameters).texts(texts), _workers(threads)
        options = native_options(parameters, len(documents))
        core = core_of(options)
        result = _called(core, method(core), documents, workers)
        if not documents or not len(core.idf):
            raise QueryError(
                "no term is left: the texts are empty or have only stop words, or min_df and max_df drop all terms"
            )
        fitted = self._fitted = _Fitted(core, options, len(core.idf))
        return result, fitted

    def _known(self) -> _Fitted:
        if self._fitted is None:
            raise QueryError("the vectorizer is not fitted: call fit first")
        return self._fitted

    def _terms(self) -> list[str]:
        """Return the terms by column, of the fit or the fixed vocabulary."""
        fixed = None if self._fitted else fixed_vocabulary(self._vocabulary)
        return self._known().core.vocabulary if fixed is None else fixed

    def _learned(self, name: str) -> _Fitted:
        if self._fitted is None:
            raise AttributeError(f"there is no {name} before fit")
        return self._fitted

    def _output(self, parts: Any, fitted: _Fitted) -> Any:
        data, indices, indptr = parts
        rows = SparseRows._of(data.astype(fitted.options["dtype"], copy=False), indices, indptr, fitted.columns)
        return rows.to_scipy() if one_of(self.output, "output", OUTPUTS) == "scipy" else rows


#: Names of the parameters.
PARAMETERS = tuple(name for name in TfidfVectorizer.__init__.__annotations__ if name != "return")
#: Attributes of parameters whose name is a property of the fit.
_ATTRIBUTES = {"vocabulary": "_vocabulary"}


def _restored(options: dict[str, Any], vocabulary: list[str], idf: NDArray[np.float64]) -> _Fitted:
    core = core_of(options)
    core.restore(vocabulary, idf.tolist())
    return _Fitted(core, options, len(vocabulary))


def _workers(threads: int | None) -> int | None:
    return None if threads is None else min(whole(threads, "threads", QueryError, 1), MOST_THREADS)


def _called(core: object, call: Callable[..., T], texts: list[Any], workers: int | None) -> T:
    # Errors of the caller's functions propagate unchanged.
    return call(texts, threads=workers) if isinstance(core, TermCounter) else called_with(call, texts, workers)


def _columns_fault(columns: int, terms: int) -> QueryError:
    return QueryError(f"rows has {columns:,} columns: wanted {terms:,}, one for each term")


def _sparse(rows: object, columns: int) -> SparseRows:
    """Convert a dense array to sparse rows."""
    try:
        dense: NDArray[Any] = np.asarray(rows)
    except (TypeError, ValueError, OverflowError, RecursionError, MemoryError):
        dense = np.empty(0, object)
    if dense.ndim != 2 or dense.dtype.kind not in "fiub":
        raise QueryError(f"rows is {shown(rows)}: wanted numbers of shape (n, {columns})")
    # Before the rows are read: a broadcast array may have any number of them.
    if dense.shape[1] != columns:
        raise _columns_fault(dense.shape[1], columns)
    row, column = np.nonzero(dense)
    ends = np.searchsorted(row, np.arange(len(dense) + 1))
    return SparseRows._of(dense[row, column].astype(np.float64), column.astype(np.int32), ends, dense.shape[1])
