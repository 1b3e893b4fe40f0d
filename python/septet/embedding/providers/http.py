"""HttpEmbedder: texts to vectors, over HTTP, in one provider's format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from septet.embedding.config import EmbeddingConfig, config_of
from septet.embedding.embedder import (
    InputTooLong,
    Kind,
    SpaceIdentity,
    Usage,
    checked_call,
    checked_texts,
    embedding_error,
    estimate_tokens,
)
from septet.embedding.providers.formats import (
    DIMENSIONS,
    KEY_VARIABLES,
    ProviderFormat,
    answer_bytes,
    batches,
    pieces,
    split_bytes,
)
from septet.embedding.providers.prices import month, usd_per_million
from septet.embedding.rows import finish, mean_row
from septet.errors import EmbeddingConfigError, EmbeddingError, EmbeddingRefused
from septet.inputs.arguments import flag, shown, variables
from septet.net.client import IO, ServiceClient
from septet.net.exchange import Steps, exchange, parsed

if TYPE_CHECKING:
    from typing_extensions import Unpack

Matrix = NDArray[np.float32]

#: Shorter texts are never split.
_SHORT_BYTES = 64
#: The timeout of one attempt to upload or download a file.
FILE_ATTEMPT_S = 600.0


class Fields(TypedDict, total=False):
    """The keyword arguments of all providers over HTTP: fields of `EmbeddingConfig`."""

    api_key: str | SecretStr | None
    api_keys: Sequence[str | SecretStr]
    api_key_env: str | None
    base_url: str | None
    batch_size: int | None
    input_type: Kind | None
    dimensions: int | None
    max_input_tokens: int | None
    query_prefix: str
    document_prefix: str
    attempt_timeout_s: float


class HttpEmbedder(ABC):
    """An `Embedder` that calls a provider over HTTP. Safe to share between threads and event loops.

    Args:
        model: the provider's default if None.
        environment: variables that may hold keys and addresses; ``os.environ`` if None.
        outside: clock, sleep, random numbers and transport; the real ones if None.
        fields: those of `EmbeddingConfig`, in snake_case.

    Raises:
        EmbeddingConfigError: a field is invalid, the key is missing, or the model is missing and has no default.
    """

    _name: str
    #: The provider's address; None if it has no public one.
    _home: str | None = None

    def __init__(
        self,
        model: str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        outside: IO | None = None,
        **fields: Unpack[Fields],
    ) -> None:
        env: Mapping[str, str] = {}
        try:
            env = variables(environment, EmbeddingConfigError)
            config = config_of({**fields, "provider": self._name, "model": model})
            provider_format = self._format(config, env)
            keys = find_keys(config, env)
        except EmbeddingConfigError as fault:
            # A traceback's frames would hold the fields, the environment, and self, which has no repr yet.
            del fields, environment, env, self
            raise fault.with_traceback(None) from None
        self.format = provider_format
        name, authorise = provider_format.provider, provider_format.authorise
        client = partial(ServiceClient, name, authorise=authorise, error_of=embedding_error, io=outside)
        self.client = client(keys, attempt_timeout_s=config.attempt_timeout_s)
        self._file_client = partial(client, keys[:1], attempt_timeout_s=FILE_ATTEMPT_S)
        limits = provider_format.limits
        self._dimensions = _dimensions(config, provider_format)
        self._batch_size = min(config.batch_size or limits.batch_size, limits.inputs)
        self._tokens_each = config.max_input_tokens or limits.tokens_each
        self._kind = config.input_type or "document"
        self._prefixes: dict[Kind, str] = {"query": config.query_prefix, "document": config.document_prefix}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.provider!r}, {self.model!r}, dimensions={self._dimensions})"

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.format.provider

    @property
    def model(self) -> str:
        """The model's name, with the document prefix if any: prefixed vectors have a separate space."""
        return _space_model(self.format, self._prefixes["document"])

    @property
    def dimensions(self) -> int | None:
        """The length of the vectors; None if it is unknown before the first answer."""
        return self._dimensions

    @property
    def address(self) -> str | None:
        """The server's address; None for the provider's default."""
        return None if self._home is not None and self.format.url.startswith(self._home) else self.format.url

    @classmethod
    def of(
        cls, config: EmbeddingConfig, environment: Mapping[str, str] | None = None, outside: IO | None = None
    ) -> HttpEmbedder:
        """Return the embedder of a configuration.

        Raises:
            EmbeddingConfigError: the key, or a model without a default, is missing, or the address is invalid.
        """
        config = config_of(config)
        fields = {name: getattr(config, name) for name in config.model_fields_set & Fields.__annotations__.keys()}
        return cls(config.model, environment=environment, outside=outside, **cast("Fields", fields))

    @classmethod
    def space_of(cls, config: EmbeddingConfig, environment: Mapping[str, str]) -> SpaceIdentity:
        """Return the space of a configuration's embedder, without needing a key.

        Raises:
            EmbeddingConfigError: the model is missing and has no default, or the address is invalid.
        """
        config = config_of(config)
        provider_format = cls._format(config, environment)
        model = _space_model(provider_format, config.document_prefix)
        return SpaceIdentity(provider_format.provider, model, _dimensions(config, provider_format))

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

    def usage(self, texts: Sequence[str], *, batch: bool = False) -> Usage:
        """Return the consumption of the provider by documents. Sends nothing.

        Args:
            batch: by the provider's batch API, which has the same tokens and another price.

        Raises:
            EmbeddingConfigError: `texts` is not a list of texts, or ``batch`` is neither True nor False.
        """
        flag(batch, "batch", EmbeddingConfigError)
        parts = self._parts([text for text in checked_texts(texts) if text.strip()], "document")
        flat = [piece for part in parts for piece in part]
        tokens = sum(map(estimate_tokens, flat))
        requests = sum(1 for _ in batches(flat, self.format.limits, self._batch_size))
        # A hosted model has other prices at another address.
        price = (
            None
            if self._home and self.address
            else usd_per_million(self.format.provider, self.format.model, batch=batch)
        )
        if price is None:
            return Usage(tokens, requests)
        return Usage(tokens, requests, tokens * price / 1e6, month() if price else None)

    async def aembed(self, texts: Sequence[str], kind: Kind | None = None, *, timeout_s: float | None = None) -> Matrix:
        """Embed in the running event loop; see `embed`."""
        return await self.client.arun(lambda: self._vectors(texts, kind, self.client.ends_at(timeout_s)), timeout_s)

    def whole(self, text: str, kind: Kind) -> str | None:
        """Return a text with its prefix; None if it is blank or must be split."""
        parts = pieces(text, self._tokens_each) if text.strip() else []
        return self._prefixes[kind] + parts[0] if len(parts) == 1 else None

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
            message = f"text {blank} of {len(texts)} is blank: {self.provider} refuses blank texts, remove it"
            raise EmbeddingRefused(message, provider=self.provider)
        prefix = self._prefixes[kind]
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
        max_bytes = answer_bytes(len(texts), self._dimensions)
        body = yield from exchange(call, self.client.context, parsed, ends_at, max_bytes=max_bytes)
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

    @classmethod
    @abstractmethod
    def _format(cls, config: EmbeddingConfig, env: Mapping[str, str]) -> ProviderFormat:
        """Return the provider's format, with its defaults filled in."""


def key_source(config: EmbeddingConfig, environment: Mapping[str, str] | None = None) -> str | None:
    """Return the source of the provider's key: ``apiKey``, ``apiKeys`` or a variable's name; None without one."""
    if config.api_key is not None:
        return "apiKey"
    if config.api_keys:
        return "apiKeys"
    env = variables(environment, EmbeddingConfigError)
    return next((name for name in _variables(config) if env.get(name, "").strip()), None)


def find_keys(config: EmbeddingConfig, environment: Mapping[str, str]) -> list[SecretStr]:
    """Return the provider's keys; empty for a provider that needs none.

    Raises:
        EmbeddingConfigError: the key is missing, or the environment's is malformed.
    """
    source = key_source(config, environment)
    if source == "apiKey" and config.api_key is not None:
        return [config.api_key]
    if source == "apiKeys":
        return list({key.get_secret_value(): key for key in config.api_keys}.values())
    if source is not None:
        try:
            key = config_of({"api_key": environment[source]}).api_key
        except EmbeddingConfigError as fault:
            message = f"{source} in the environment: {fault}"
            raise EmbeddingConfigError(message, provider=config.provider) from None
        return [key] if key else []
    if variables := _variables(config):
        names = " or ".join(name if name.isprintable() and len(name) < 200 else shown(name) for name in variables)
        message = f"no API key for {config.provider}: set {names} or apiKey"
        raise EmbeddingConfigError(message, provider=config.provider)
    return []


def _variables(config: EmbeddingConfig) -> tuple[str, ...]:
    return (config.api_key_env,) if config.api_key_env else KEY_VARIABLES.get(config.provider, ())


def _dimensions(config: EmbeddingConfig, provider_format: ProviderFormat) -> int | None:
    return config.dimensions or DIMENSIONS.get(provider_format.provider, {}).get(provider_format.model)


def _space_model(provider_format: ProviderFormat, prefix: str) -> str:
    """Return the model's name in a space; it includes the document prefix, which changes the vectors."""
    return f"{provider_format.model} after {prefix!r}" if prefix else provider_format.model
