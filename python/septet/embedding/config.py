"""EmbeddingConfig: the ``embedding`` block of a configuration file or dict."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StrictBool,
    ValidationError,
    field_validator,
)
from pydantic.alias_generators import to_camel

from septet.embedding.embedder import Kind
from septet.errors import EmbeddingConfigError, SeptetError
from septet.inputs.arguments import cut, exact, file_path, listed, shown, utf8
from septet.inputs.documents import SUFFIXES, read_settings
from septet.model.vector import MOST_DIMENSIONS

#: Maximum levels, members of a list and characters of a text in a configuration.
MOST_DEPTH, MOST_LISTED, MOST_CHARS = 8, 1_000, 100_000

ProviderName: TypeAlias = Literal["none", "auto", "local", "openai", "openai-compatible", "voyage", "gemini", "ollama"]

#: Maximum wait that the system's clocks support.
MAX_TIMEOUT_S = 86_400.0

_OTHER_NAMES = {"google": "gemini", "off": "none", "openai_compatible": "openai-compatible", "voyageai": "voyage"}


def _provider_name(value: Any) -> Any:
    # YAML reads a bare `off` or `no` as false.
    if value is None or value is False:
        return "none"
    name = value.strip().lower() if isinstance(value, str) else value
    return _OTHER_NAMES.get(name, name) if isinstance(name, str) else name


def _key(value: Any) -> Any:
    """Strip a key; it must be printable ASCII, as headers require."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if not isinstance(value, str):
        raise ValueError("a key must be a string")
    key = value.strip()
    if not (key and key.isascii() and key.isprintable()) or " " in key:
        raise ValueError("a key must be printable ASCII without spaces, and not empty")
    return key


Secret: TypeAlias = Annotated[SecretStr, BeforeValidator(_key)]


class EmbeddingConfig(BaseModel):
    """The provider and its options. Field names may be ``snake_case`` or ``camelCase``.

    API keys never appear in a repr, a dump or an error. `api_key` takes precedence over `api_keys`, and these over the
    environment.

    Attributes:
        provider: ``none`` (the default, which embeds nothing), ``auto``, or a name. ``auto`` chooses the first
            configured one of local (`model_path`), OpenAI, Gemini and Voyage (a key in the environment).
        model: the provider's default if None.
        api_key: a single key.
        api_keys: a pool of keys; if one is rate-limited, the next is used.
        api_key_env: the environment variable with the key; the provider's default if None.
        base_url: the provider's address; its default if None.
        batch_size: maximum texts per request; the provider's default if None.
        input_type: the kind of texts for calls without one. A vault always passes it.
        dimensions: the length of the vectors, for models that offer shorter ones.
        max_input_tokens: longer texts are split into pieces whose vectors are averaged.
        query_prefix: prepended to each query, for models trained with prefixes.
        document_prefix: prepended to each document.
        model_path: the folder, or installed package, of a local model.
        attempt_timeout_s: the time limit of one attempt.
        query_timeout_s: maximum wait of a search for its query's vector, over all attempts.
        automatic: embed new texts in the background; false if another process or `embed()` embeds them. A field of
            the first provider only, not of a fallback. `EmbeddingOptions` can turn it off too.
        fallback: configurations to use, in order, when this one fails. The same model at another provider, or with
            another key, fills the same space. Another model has a separate space, which a vault fills and searches
            while the models before it fail. Keys and addresses are not inherited.
        strict: refuse a fallback of another model.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    provider: Annotated[ProviderName, BeforeValidator(_provider_name)] = "none"
    model: str | None = None
    api_key: Secret | None = None
    api_keys: tuple[Secret, ...] = ()
    api_key_env: str | None = None
    base_url: str | None = None
    batch_size: int | None = Field(default=None, ge=1)
    input_type: Kind | None = None
    dimensions: int | None = Field(default=None, ge=1, le=MOST_DIMENSIONS)
    max_input_tokens: int | None = Field(default=None, ge=1)
    query_prefix: str = ""
    document_prefix: str = ""
    model_path: str | None = None
    attempt_timeout_s: float = Field(default=60.0, gt=0, le=MAX_TIMEOUT_S)
    query_timeout_s: float = Field(default=3.0, gt=0, le=MAX_TIMEOUT_S)
    automatic: StrictBool = True
    fallback: tuple[EmbeddingConfig, ...] = ()
    strict: bool = False

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**{name: plain(name, value) for name, value in fields.items()})
        except ValidationError as fault:
            raise error_of(fault, EmbeddingConfig) from None

    @field_validator("model", "api_key", "api_key_env", "base_url", "model_path", mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        # Templates often leave fields empty.
        return None if isinstance(value, str) and not value.strip() else value

    @field_validator("model_path", mode="before")
    @classmethod
    def _path_is_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, Path) else value

    @field_validator("fallback")
    @classmethod
    def _automatic_for_all(cls, value: tuple[EmbeddingConfig, ...]) -> tuple[EmbeddingConfig, ...]:
        if not all(fallback.automatic for fallback in value):
            raise ValueError("automatic belongs to the first provider, not to a fallback")
        return value

    @field_validator("base_url")
    @classmethod
    def _an_address_without_secrets(cls, value: str | None) -> str | None:
        return None if value is None else without_secrets(value)

    @field_validator("fallback", mode="before")
    @classmethod
    def _one_fallback_or_several(cls, value: Any) -> Any:
        if value is None or value == "none":
            return ()
        items = [value] if isinstance(value, (str, Mapping, EmbeddingConfig)) else value
        if not isinstance(items, (list, tuple)):
            return items
        return [{"provider": item} if isinstance(item, str) else item for item in items]

    @field_validator("fallback")
    @classmethod
    def _no_chain_in_a_chain(cls, value: tuple[EmbeddingConfig, ...]) -> tuple[EmbeddingConfig, ...]:
        if any(each.fallback or each.provider in ("none", "auto") for each in value):
            raise ValueError("each fallback must have a provider other than none and auto, and no fallback")
        return value

    @property
    def without_provider(self) -> str | None:
        """The error message about fields of a provider without ``provider``; None if there are none.

        ``provider: none`` disables the other fields, and is valid.
        """
        if "provider" in self.model_fields_set:
            return None
        names = [to_camel(name) for name in _OF_PROVIDERS if getattr(self, name) not in (None, ())]
        if not names:
            return None
        return (
            f"the block embedding has {', '.join(names)} but no provider, so nothing is embedded: "
            "add provider, such as openai, voyage, gemini, ollama or local"
        )


#: Fields of a provider.
_OF_PROVIDERS = ("model", "api_key", "api_keys", "api_key_env", "base_url", "dimensions", "model_path", "fallback")

_FIELDS = tuple(EmbeddingConfig.model_fields)

ConfigLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, object] | EmbeddingConfig | None"


def config_of(source: ConfigLike) -> EmbeddingConfig:
    """Read a configuration from any supported form.

    Args:
        source: a configuration; a dict; the path of a ``.yaml``/``.yml``, ``.toml`` or ``.json`` file; a provider's
            name; None for none. A dict or file is the block itself, or contains it under ``embedding``; a file without
            such a block embeds nothing.

    Raises:
        EmbeddingConfigError: the file is unreadable, or a field is invalid. The message never contains its value.
    """
    try:
        return _config_of(source)
    except EmbeddingConfigError as fault:
        # A traceback's frames hold the source, and with it the keys.
        del source
        raise fault.with_traceback(None) from None


def _config_of(source: ConfigLike) -> EmbeddingConfig:
    if source is None:
        return EmbeddingConfig()
    if isinstance(source, EmbeddingConfig):
        return source
    if isinstance(source, os.PathLike) or (isinstance(source, str) and Path(source).suffix in SUFFIXES):
        path = file_path(source, "the path of the embedder's configuration", EmbeddingConfigError)
        data = read_settings(Path(path), EmbeddingConfigError)
        # A file may contain other settings besides the block.
        is_block = "provider" in data or {*data} <= {*_FIELDS, *map(to_camel, _FIELDS)}
        return _validate(data.get("embedding", data if is_block else {}))
    if isinstance(source, str):
        return _validate({"provider": source})
    if not isinstance(source, Mapping):
        raise EmbeddingConfigError(
            f"embedder is {shown(source)}: wanted an embedder, a provider's name, a dict, an EmbeddingConfig or a file"
        )
    return _validate(source.get("embedding", source))


def _validate(data: Any) -> EmbeddingConfig:
    if data is None:
        return EmbeddingConfig()
    try:
        return EmbeddingConfig.model_validate(plain("embedding", data))
    except ValidationError as fault:
        raise error_of(fault, EmbeddingConfig) from None


def without_secrets(url: str) -> str:
    """Return an address without surrounding whitespace; raise `ValueError` if it contains a possible key."""
    parts = urlsplit(url if "://" in url else f"//{url}")
    if parts.username or parts.password or parts.query:
        raise ValueError("contains a name, a password or a query: put keys into apiKey, which errors never show")
    return url.strip()


def plain(
    name: str, value: Any, block: str = "embedding", error: type[SeptetError] = EmbeddingConfigError, depth: int = 0
) -> Any:
    """Return a value as text, numbers, lists and dicts of exactly these types; pydantic would convert any iterable.

    Raises:
        error: it has another type, or is too large; its value is not shown, because it may be a key.
    """
    if value is None or isinstance(value, (bool, SecretStr, EmbeddingConfig, os.PathLike)):
        return value
    value = exact(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return utf8(value, cut(name), error, MOST_CHARS)
    if isinstance(value, Mapping) and depth < MOST_DEPTH:
        if not all(isinstance(key, str) for key in value):
            raise error(f"{block} is invalid at {cut(name)}: a dict with keys that are not text")
        return {exact(key): plain(str(exact(key)), inner, block, error, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth < MOST_DEPTH:
        items = listed(value, name, error, "a list", MOST_LISTED)
        return [plain(name, inner, block, error, depth + 1) for inner in items]
    raise error(f"{block} is invalid at {cut(name)}: {type(value).__name__} is not text, a number or a list")


def error_of(
    fault: ValidationError,
    model: type[BaseModel],
    block: str = "embedding",
    error: type[SeptetError] = EmbeddingConfigError,
) -> SeptetError:
    """Return the first error of a configuration's block; the message names the field, never its value."""
    first = fault.errors(include_input=False, include_context=False)[0]
    where = cut(".".join(str(part) for part in first["loc"]))
    where = where if where.isprintable() else shown(where)
    kind, message = first["type"], cut(first["msg"])
    if kind == "extra_forbidden":
        known = ", ".join(sorted(to_camel(name) for name in model.model_fields))
        return error(f"{block} has no field {where}; its fields are {known}")
    message = message.removeprefix("Value error, ")
    if not where and message.startswith(f"{block} "):
        # The message of a nested configuration names the field already.
        return error(message)
    return error(f"{block} is invalid at {where or 'the top'}: {message}")
