"""Chat: rephrases queries with a model on a server with OpenAI's chat completions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypedDict

from pydantic import SecretStr

from septet.embedding.embedder import embedding_error
from septet.embedding.providers.formats import OLLAMA_URL, ollama_url
from septet.errors import EmbeddingUnavailable, ProfileError, QueryError
from septet.inputs.arguments import called, shown, utf8, variables
from septet.net.calls import Answer, Call, bearer, json_call
from septet.net.client import IO, ServiceClient
from septet.net.exchange import as_text, exchange, garbled, parsed, shortened
from septet.retrieval.expansion.config import ExpansionConfig, ExpansionLike, expansion_config
from septet.retrieval.expansion.expanding import Expander, Expanding
from septet.retrieval.planning.knobs import Resolver

if TYPE_CHECKING:
    from typing_extensions import Unpack

OPENAI_URL = "https://api.openai.com/v1"
OPENROUTER_URL = "https://openrouter.ai/api/v1"
#: Variables of the keys. A key is only sent to its own provider.
KEY_VARIABLES: Mapping[str, str] = {"openai": "OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY"}
#: Maximum response: a few phrases with the server's wrapping.
MAX_CHAT_BYTES = 2**20
MOST_QUERY_CHARS = 1_000_000
#: Maximum characters read from a reply, and maximum brackets tried: parsing from each may take time linear in the
#: reply.
MOST_REPLY_CHARS, MOST_BRACKETS = 65_536, 100

_SYSTEM = """You help a search engine that matches words and meanings. The user sends one search query as Input.
Write {count} other queries that would find the same information: use synonyms, different wording, or a slightly \
broader or narrower sense. Keep names, identifiers and numbers as they are, and the language of the query.
Reply with a JSON array of strings and nothing else, for example: ["first query", "second query"]"""
_JSON = json.JSONDecoder(strict=False)
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHTS_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_COUNTS = {1: "one", 2: "one or two", 3: "two or three"}


class ChatFields(TypedDict, total=False):
    """The keyword arguments of a `ChatExpander`: fields of `ExpansionConfig`."""

    provider: str | None
    base_url: str | None
    api_key: str | SecretStr | None
    api_key_env: str | None
    temperature: float | None
    max_tokens: int
    body: Mapping[str, Any]
    timeout_s: float
    most: int


class ChatExpander:
    """An `Expander` with a model at any server with OpenAI's chat completions: OpenAI, OpenRouter, Ollama, vLLM.

    ::

        ChatExpander("qwen3:4b", provider="ollama")
        ChatExpander("my-model", base_url="http://gpu:8000/v1", api_key_env="GPU_KEY")

    There is one attempt; only a rate limit is retried, if the server announces a wait of at most `timeout_s`. The key
    never appears in a repr, an error or a log.

    Args:
        model: name of the model.
        secrets: returns the key for a name; the variables of the environment if None.
        environment: variables with addresses and keys; the process's own if None.
        outside: clock, sleep, random numbers and transport; the real ones if None.
        fields: those of `ExpansionConfig`, in snake_case.

    Raises:
        ProfileError: a field is invalid, or the model, the address or the key is missing.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        secrets: Resolver | None = None,
        environment: Mapping[str, str] | None = None,
        outside: IO | None = None,
        **fields: Unpack[ChatFields],
    ) -> None:
        try:
            self._config = config = expansion_config({**fields, "model": model})
            env = variables(environment, ProfileError)
            self._url = _address(config, env)
            self._client = ServiceClient(
                config.chosen,
                _keys(config, called(secrets, "secrets", ProfileError) or env.get),
                authorise=bearer,
                error_of=embedding_error,
                io=outside,
                attempt_timeout_s=config.timeout_s,
            )
        except ProfileError as fault:
            # The traceback's frames contain the arguments with the keys, and `self`, which has no repr yet.
            del fields, secrets, environment, self
            raise fault.with_traceback(None) from None

    @classmethod
    def of(
        cls,
        config: ExpansionConfig,
        *,
        secrets: Resolver | None = None,
        environment: Mapping[str, str] | None = None,
        outside: IO | None = None,
    ) -> ChatExpander:
        """Return the expander of a configuration; the arguments are those of the class.

        Raises:
            ProfileError: the model, the address or the key is missing, or the provider is ``none``.
        """
        fields: Any = dict(expansion_config(config))
        try:
            return cls(**fields, secrets=secrets, environment=environment, outside=outside)
        except ProfileError as fault:
            del config, fields, secrets, environment
            raise fault.with_traceback(None) from None

    def __repr__(self) -> str:
        return f"ChatExpander({self.model!r}, provider={self._config.chosen!r}, {len(self._client.context.keys)} keys)"

    @property
    def model(self) -> str:
        """The model's name."""
        return self._config.model or ""

    def __call__(self, query: str) -> list[str]:
        """Return other phrasings of a query, as written by the model.

        Raises:
            EmbeddingUnavailable: no response in time, or one without a JSON array.
            EmbeddingRefused: a wrong key, an unknown model, or another request error.
            QueryError: the query is not text.
        """
        call = self._call(utf8(query, "query", QueryError, MOST_QUERY_CHARS))
        timeout_s, context = self._config.timeout_s, self._client.context
        ends_at = self._client.ends_at(timeout_s)
        reply = self._client.run(
            lambda: exchange(call, context, read_reply, ends_at, once=True, max_bytes=MAX_CHAT_BYTES), timeout_s
        )
        phrasings = phrasings_in(reply)
        if phrasings is None:
            cause = f"{context.service} {self.model} wrote no JSON array of strings"
            raise EmbeddingUnavailable(f"{cause}: choose a model that follows instructions", provider=context.service)
        return phrasings

    def close(self) -> None:
        """Close connections; the next call opens new ones. Closing twice is fine."""
        self._client.close()

    def _call(self, query: str) -> Call:
        config = self._config
        # OpenAI's newer models reject the name that all other servers use.
        limit = "max_completion_tokens" if config.chosen == "openai" else "max_tokens"
        system = _SYSTEM.format(count=_COUNTS.get(config.most, f"two to {config.most}"))
        body: dict[str, Any] = {
            "model": config.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": f'Input: "{query}"'}],
            "temperature": config.temperature,
            limit: config.max_tokens,
            # A reasoning model would spend all tokens before its answer.
            "reasoning_effort": "none" if config.chosen == "ollama" else None,
            **config.body,
        }
        return json_call(self._url, {name: value for name, value in body.items() if value is not None})


def expanding_of(
    config: ExpansionLike,
    *,
    expander: Expander | None = None,
    secrets: Resolver | None = None,
    environment: Mapping[str, str] | None = None,
    outside: IO | None = None,
) -> Expanding | None:
    """Return the expansion of a configuration; None for provider ``none`` without an expander.

    Args:
        expander: replaces the configured model; the configured times and sizes apply.

    Raises:
        ProfileError: the configuration is invalid, or the model, the address or the key is missing.
        QueryError: the expander is no function.
    """
    config = expansion_config(config)
    options: dict[str, Any] = {"timeout_s": config.timeout_s, "most": config.most, "cache_size": config.cache_size}
    if expander is not None:
        return Expanding(expander, **options)
    if config.chosen == "none":
        return None
    chat = ChatExpander.of(config, secrets=secrets, environment=environment, outside=outside)
    return Expanding(chat, close=chat.close, **options)


def chat_url(base_url: str) -> str:
    """Return the address of the chat completions below a base address.

    Appends ``/v1/chat/completions``, or only ``/chat/completions`` to an address that ends in a version or in
    ``/openai``, or nothing to one that ends in ``/chat/completions``.
    """
    base = base_url.rstrip("/")
    if base.endswith("/chat/completions"):
        return base
    versioned = re.search(r"/(v\d+(beta\d*)?|openai)$", base)
    return f"{base}/chat/completions" if versioned else f"{base}/v1/chat/completions"


def read_reply(answer: Answer) -> str:
    """Return the text of a chat completion."""
    body = parsed(answer)
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        fault = body.get("error") if isinstance(body, Mapping) else None
        message_text = shortened(as_text(fault.get("message") if isinstance(fault, Mapping) else fault))
        no_chat = f"an error with status 200: {message_text}" if message_text else "JSON that is no chat completion"
        raise garbled(answer, no_chat)
    message = choices[0].get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str) or not content.strip():
        ended = shortened(as_text(choices[0].get("finish_reason"))) or "unknown"
        raise garbled(answer, f"no text (finish_reason {ended}); a model that thinks first may need more maxTokens")
    return content


def phrasings_in(reply: str) -> list[str] | None:
    """Return the strings of the first JSON array in a reply that contains any; None if there is no array.

    A code fence or prose around it and values that are not strings are ignored, and so are a model's thoughts between
    ``<think>`` and ``</think>``.
    """
    reply = reply[:MOST_REPLY_CHARS]
    if ends := list(_THOUGHTS_END.finditer(reply)):
        reply = reply[ends[-1].end() :]
    elif _THOUGHTS.match(reply):
        return None
    strings: list[str] | None = None
    for bracket in islice(re.finditer(r"\[", reply), MOST_BRACKETS):
        try:
            values, _ = _JSON.raw_decode(reply, bracket.start())
        except (ValueError, RecursionError):
            continue
        strings = [value for value in values if isinstance(value, str) and value.strip()]
        if strings:
            break
    return strings


def _address(config: ExpansionConfig, env: Mapping[str, str]) -> str:
    """Return the address of a provider's chat completions."""
    provider = config.chosen
    if provider == "none":
        raise ProfileError("expansion names no model: give model, and baseUrl for any server but OpenAI's")
    if config.model is None:
        raise ProfileError(f"expansion by {provider} has no default model: give model")
    if config.base_url is None and provider == "openai-compatible":
        raise ProfileError("expansion by openai-compatible has no default address: give baseUrl")
    if config.base_url is not None:
        return chat_url(config.base_url)
    base = OPENROUTER_URL if provider == "openrouter" else env.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
    if provider == "ollama":
        base = ollama_url(env.get("OLLAMA_HOST", "") or OLLAMA_URL)
    # The same checks as for a configured address.
    return chat_url(expansion_config({"base_url": base}).base_url or base)


def _keys(config: ExpansionConfig, secrets: Resolver) -> list[SecretStr]:
    """Return the key, or no key if none is needed."""
    if config.api_key is not None:
        return [config.api_key]
    name = config.api_key_env or KEY_VARIABLES.get(config.chosen)
    if name is None:
        return []
    try:
        value = secrets(name)
    except Exception as fault:  # noqa: BLE001 - foreign code, whose error may hold the key
        raise ProfileError(f"the key {shown(name)} cannot be read: {type(fault).__name__}") from None
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ProfileError(f"no API key for {config.chosen}: set {shown(name).strip(chr(39))}, or give apiKey")
    try:
        key = expansion_config({"api_key": value}).api_key
    except ProfileError as fault:
        raise ProfileError(f"{shown(name)}: {fault}") from None
    return [] if key is None else [key]
