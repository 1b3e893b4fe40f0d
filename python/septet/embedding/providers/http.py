"""HttpEmbedder: texts to vectors, over HTTP, in one provider's format."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from septet.embedding.batching import group
from septet.embedding.embedder import InputTooLong, Kind, checked_call, checked_texts, embedding_error
from septet.embedding.providers.formats import Limits, ProviderFormat
from septet.embedding.rows import finish, mean_row
from septet.errors import EmbeddingError, EmbeddingRefused
from septet.net.answers import parsed
from septet.net.calls import MAX_ANSWER_BYTES
from septet.net.client import ATTEMPT_TIMEOUT_S, IO, ServiceClient
from septet.net.exchange import Steps, exchange

Matrix = NDArray[np.float32]

#: Shorter texts are never split.
_SHORT_BYTES = 64
#: The timeout of one attempt to upload or download a file.
FILE_ATTEMPT_S = 600.0
#: Maximum bytes of one number in indented JSON, and of the fields around one vector.
_NUMBER_BYTES, _FIELDS_BYTES = 40, 1024
#: Assumed while the dimension is unknown; models rarely exceed it.
_ASSUMED_DIMENSIONS = 8192


class Prefixes(dict[Kind, str]):
    """Prefixes of texts by kind, for models that need them."""


def space_model(provider_format: ProviderFormat, prefixes: Prefixes) -> str:
    """Return the model's name in a space; it includes the document prefix, which changes the vectors."""
    prefix = prefixes.get("document", "")
    return f"{provider_format.model} after {prefix!r}" if prefix else provider_format.model


class HttpEmbedder:
    """An `Embedder` that calls a provider over HTTP. Safe to share between threads and event loops.

    Args:
        provider_format: the provider's format.
        keys: API keys; may be empty. If one is rate-limited, the next is used.
        dimensions: the length of the vectors; None if it is unknown before the first answer.
        batch_size: maximum texts per request; the provider's default if None.
        max_input_tokens: longer texts are split into pieces whose vectors are averaged; the provider's limit if None.
        kind: of texts for calls without one.
        prefixes: prepended to each text.
    """

    def __init__(
        self,
        provider_format: ProviderFormat,
        keys: Sequence[SecretStr],
        *,
        dimensions: int | None = None,
        batch_size: int | None = None,
        max_input_tokens: int | None = None,
        kind: Kind = "document",
        prefixes: Prefixes | None = None,
        attempt_timeout_s: float = ATTEMPT_TIMEOUT_S,
        io: IO | None = None,
    ) -> None:
        self.format = provider_format
        client = partial(
            ServiceClient,
            provider_format.provider,
            authorise=provider_format.authorise,
            error_of=embedding_error,
            io=io,
        )
        self.client = client(keys, attempt_timeout_s=attempt_timeout_s)
        self._file_client = partial(client, keys[:1], attempt_timeout_s=FILE_ATTEMPT_S)
        self._dimensions = dimensions
        self._batch_size = min(batch_size or provider_format.limits.batch_size, provider_format.limits.inputs)
        self._tokens_each = max_input_tokens or provider_format.limits.tokens_each
        self._kind = kind
        self._prefixes = prefixes or Prefixes()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.provider!r}, {self.model!r}, dimensions={self._dimensions})"

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.format.provider

    @property
    def model(self) -> str:
        """The model's name, with the document prefix if any: prefixed vectors have a separate space."""
        return space_model(self.format, self._prefixes)

    @property
    def dimensions(self) -> int | None:
        """The length of the vectors; None if it is unknown before the first answer."""
        return self._dimensions

    @property
    def batch_size(self) -> int:
        """Maximum texts per request."""
        return self._batch_size

    def embed(self, texts: Sequence[str], kind: Kind | None = None, *, timeout_s: float | None = None) -> Matrix:
        """Return one vector of unit length for each text, in order, shape ``(n, d)``.

        Args:
            kind: of the texts; None for the embedder's default.
            timeout_s: the time limit of the whole call; None allows each request twice as long as an attempt may take.

        Raises:
            EmbeddingRefused: a wrong key, no quota, a blank text, or a request that the provider refuses.
            EmbeddingUnavailable: no valid answer in three attempts, or in time.

            The ``rows`` of either error hold the vectors received so far.
        """
        return self.client.run(lambda: self._vectors(texts, kind, self.client.ends_at(timeout_s)), timeout_s)

    async def aembed(self, texts: Sequence[str], kind: Kind | None = None, *, timeout_s: float | None = None) -> Matrix:
        """Embed in the running event loop; see `embed`."""
        return await self.client.arun(lambda: self._vectors(texts, kind, self.client.ends_at(timeout_s)), timeout_s)

    def whole(self, text: str, kind: Kind) -> str | None:
        """Return a text with its prefix; None if it is blank or must be split."""
        parts = pieces(text, self._tokens_each) if text.strip() else []
        return self._prefixes.get(kind, "") + parts[0] if len(parts) == 1 else None

    def file_client(self) -> ServiceClient:
        """Return a client for files. It uses only the first key: a file belongs to the key that uploads it."""
        return self._file_client()

    def close(self) -> None:
        """Close connections; the next call opens new ones. Idempotent."""
        self.client.close()

    async def aclose(self) -> None:
        """Close the running event loop's connections too."""
        await self.client.aclose()

    def _vectors(self, texts: Sequence[str], kind: Kind | None, ends_at: float) -> Steps[Matrix]:
        """Return the rows of all texts."""
        kind = kind or self._kind
        checked_call(kind, None)
        parts = self._parts(checked_texts(texts), kind)
        flat = [piece for part in parts for piece in part]
        matrices: list[Matrix] = []
        try:
            for run in batches(flat, self.format.limits, self._batch_size):
                matrices += [(yield from self._batch(flat[run.start : run.stop], kind, ends_at))]
        except EmbeddingError as error:
            error.rows = self._join(parts, matrices)
            raise
        return self._join(parts, matrices)

    def _parts(self, texts: Sequence[str], kind: Kind) -> list[list[str]]:
        """Return the prefixed pieces of each text."""
        blank = next((i for i, text in enumerate(texts) if not text.strip()), None)
        if blank is not None:
            raise EmbeddingRefused(
                f"text {blank} of {len(texts)} is blank: {self.provider} refuses blank texts, remove it",
                provider=self.provider,
            )
        prefix = self._prefixes.get(kind, "")
        return [[prefix + piece for piece in pieces(text, self._tokens_each)] for text in texts]

    def _batch(self, texts: list[str], kind: Kind, ends_at: float) -> Steps[Matrix]:
        """Return the rows of one request; a request that is too large is split."""
        try:
            return (yield from self._request(texts, kind, ends_at))
        except InputTooLong as error:
            smaller = self._smaller(texts)
            if smaller is None:
                raise
            del error
        rows: list[Matrix] = []
        for part in smaller:
            rows += [(yield from self._batch(part, kind, ends_at))]
        joined = np.concatenate(rows)
        if len(texts) == 1:
            return mean_row(joined, [len(text) for part in smaller for text in part])[np.newaxis, :]
        return joined

    def _smaller(self, texts: list[str]) -> list[list[str]] | None:
        """Return the halves of a batch or the pieces of a single text; None if neither can be split."""
        if len(texts) > 1:
            middle = len(texts) // 2
            return [texts[:middle], texts[middle:]]
        size = len(texts[0].encode("utf-8", "replace"))
        if size <= _SHORT_BYTES:
            return None
        # A token has at least one byte, so pieces of that many bytes are within the limit.
        most = self._tokens_each if self._tokens_each and self._tokens_each < size else size
        return [[piece] for piece in split_bytes(texts[0], most if most < size else -(-size // 2))]

    def _request(self, texts: list[str], kind: Kind, ends_at: float) -> Steps[Matrix]:
        call = self.format.call(texts, kind)
        body = yield from exchange(
            call, self.client.context, parsed, ends_at, max_bytes=answer_bytes(len(texts), self._dimensions)
        )
        try:
            rows = finish(self.format.read(body, len(texts)), self.provider, self._dimensions)
        except EmbeddingError as error:
            # The traceback's frames hold the answer, which may echo a key.
            del body
            raise error.with_traceback(None) from None
        self._dimensions = rows.shape[1]
        return rows

    def _join(self, parts: list[list[str]], matrices: list[Matrix]) -> Matrix:
        """Return one row for each text with complete pieces."""
        if not matrices:
            return np.empty((0, self._dimensions or 0), np.float32)
        rows = np.concatenate(matrices)
        if len(rows) == len(parts) == sum(map(len, parts)):
            return rows
        texts: list[Matrix] = []
        start = 0
        for part in parts:
            end = start + len(part)
            if end > len(rows):
                break
            span = rows[start:end]
            texts.append(span[0] if len(part) == 1 else mean_row(span, [len(piece) for piece in part]))
            start = end
        return np.stack(texts) if texts else np.empty((0, rows.shape[1]), np.float32)


def answer_bytes(texts: int, dimensions: int | None) -> int:
    """Return the maximum size of an answer in bytes: its vectors as JSON, and 16 MiB for everything else."""
    return MAX_ANSWER_BYTES + texts * (_FIELDS_BYTES + _NUMBER_BYTES * (dimensions or _ASSUMED_DIMENSIONS))


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens, too high rather than too low.

    A token has three ASCII characters (prose has four, code three), or two bytes of other scripts. If an estimate is
    too low, the provider refuses the request, and the batch is split.
    """
    size = len(text.encode("utf-8", "replace"))
    ascii_size = size if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_size / 3 + (size - ascii_size) / 2)


def batches(texts: Sequence[str], limits: Limits, batch_size: int) -> Iterator[range]:
    """Yield runs of texts, in order; each fits into one request."""
    tokens = limits.tokens
    for run in group([estimate_tokens(t) for t in texts], most=min(batch_size, limits.inputs), budget=tokens):
        sizes = [len(texts[i].encode("utf-8", "replace")) for i in run]
        for part in group(sizes, most=len(sizes), budget=limits.bytes):
            yield run[part.start : part.stop]


def pieces(text: str, limit: int | None) -> list[str]:
    """Split a text into the fewest pieces that its estimated tokens allow."""
    tokens = estimate_tokens(text)
    if limit is None or tokens <= limit:
        return [text]
    return split_bytes(text, max(1, limit * len(text.encode("utf-8", "replace")) // tokens))


def split_bytes(text: str, most: int) -> list[str]:
    """Split a text into pieces of at most `most` UTF-8 bytes, as long as possible, never inside a character.

    A single character beyond the bound makes a separate piece; 0 or less means no bound.
    """
    if most <= 0 or len(text) * 4 <= most:
        return [text]
    parts: list[str] = []
    start = size = 0
    for position, char in enumerate(text):
        width = len(char.encode("utf-8", "replace"))
        if size + width > most and position > start:
            parts.append(text[start:position])
            start, size = position, 0
        size += width
    return [*parts, text[start:]]
