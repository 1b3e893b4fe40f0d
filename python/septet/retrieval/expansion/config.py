"""ExpansionConfig: the ``expansion`` block of a retrieval's configuration: the model that rephrases queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from septet.embedding.config import Secret, error_of, plain, without_secrets
from septet.errors import ProfileError
from septet.inputs.arguments import shown
from septet.retrieval.expansion.expanding import (
    CACHE_SIZE,
    MOST_CACHED,
    MOST_PHRASINGS,
    MOST_VARIANTS,
    MOST_WAIT_S,
    TIMEOUT_S,
)

ChatProvider: TypeAlias = Literal["none", "openai", "openai-compatible", "openrouter", "ollama"]

#: The documented default; three phrasings are shorter.
MAX_TOKENS = 256
MOST_TOKENS, MOST_TEMPERATURE = 100_000, 2.0
BLOCK = "expansion"


def _provider_name(value: Any) -> Any:
    if value is False:
        # YAML reads a bare `off` or `no` as false.
        return "none"
    name = value.strip().lower().replace("_", "-") if isinstance(value, str) else value
    return "none" if name == "off" else name


class ExpansionConfig(BaseModel):
    """The model that rephrases queries, and its limits. Names may be ``snake_case`` or ``camelCase``.

    Keys never appear in a repr, a dump or an error.

    Attributes:
        provider: ``none``, ``openai``, ``openai-compatible``, ``openrouter`` or ``ollama``. If None, derived:
            ``openai-compatible`` with a `base_url`, ``openai`` with only a `model`, ``none`` without either.
        model: name of the model; required by every provider but ``none``.
        base_url: the address of any server with OpenAI's chat completions, such as vLLM's ``http://gpu:8000/v1``.
        api_key: the key.
        api_key_env: the variable with the key, instead of ``OPENAI_API_KEY`` or ``OPENROUTER_API_KEY``. Other
            providers get a key only with this or `api_key`.
        temperature: 0 to 2; None sends none.
        max_tokens: maximum tokens of a response, 1 to 100,000.
        body: more fields of a request, such as ``{"reasoning_effort": "minimal"}``; a field set to None is not sent.
        timeout_s: maximum wait of a search, 0.01 to 86,400 seconds.
        most: maximum phrasings beside the query, 1 to 10.
        cache_size: maximum queries in the cache, 0 to 1,000,000.

    Raises:
        ProfileError: a field is unknown or invalid; the message names it, never its value.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    provider: Annotated[ChatProvider | None, BeforeValidator(_provider_name)] = None
    model: str | None = Field(default=None, max_length=1_000)
    base_url: str | None = None
    api_key: Secret | None = None
    api_key_env: str | None = None
    temperature: float | None = Field(default=0.0, ge=0, le=MOST_TEMPERATURE)
    max_tokens: int = Field(default=MAX_TOKENS, ge=1, le=MOST_TOKENS)
    body: dict[str, Any] = Field(default_factory=dict, repr=False)
    timeout_s: float = Field(default=TIMEOUT_S, ge=0.01, le=MOST_WAIT_S)
    most: int = Field(default=MOST_PHRASINGS, ge=1, le=MOST_VARIANTS)
    cache_size: int = Field(default=CACHE_SIZE, ge=0, le=MOST_CACHED)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**{name: plain(name, value, BLOCK, ProfileError) for name, value in fields.items()})
        except ValidationError as fault:
            raise error_of(fault, ExpansionConfig, BLOCK, ProfileError) from None

    @field_validator("model", "api_key", "api_key_env", "base_url", mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        # Templates often leave fields empty.
        return None if isinstance(value, str) and not value.strip() else value

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        url = without_secrets(value)
        parts = urlsplit(url)
        # Reading an invalid port raises too.
        if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, url)) or parts.port == 0:
            raise ValueError("must be an address such as https://host/v1")
        return url

    @field_validator("body")
    @classmethod
    def _as_json(cls, value: dict[str, Any]) -> dict[str, Any]:
        json.dumps(value, allow_nan=False)
        return value

    @property
    def chosen(self) -> ChatProvider:
        """The provider, derived from the address or the model if not set."""
        if self.provider is not None:
            return self.provider
        return "openai-compatible" if self.base_url is not None else "none" if self.model is None else "openai"


ExpansionLike: TypeAlias = "Mapping[str, object] | ExpansionConfig | None"


def expansion_config(source: ExpansionLike) -> ExpansionConfig:
    """Return the configuration from a dict, which is the block itself or contains it under ``expansion``.

    Raises:
        ProfileError: a field is unknown or invalid. The message names it, never its value.
    """
    data: Any = None
    try:
        if source is None:
            return ExpansionConfig()
        if isinstance(source, ExpansionConfig):
            return source
        if not isinstance(source, Mapping):
            raise ProfileError(f"{BLOCK} is {shown(source)}: wanted a dict or an ExpansionConfig")
        data = source.get(BLOCK, source)
        return ExpansionConfig.model_validate({} if data is None else plain(BLOCK, data, BLOCK, ProfileError))
    except ValidationError as fault:
        error = error_of(fault, ExpansionConfig, BLOCK, ProfileError)
    except ProfileError as fault:
        error = fault
    # The traceback's frames contain the source with the keys.
    del source, data
    raise error.with_traceback(None) from None
