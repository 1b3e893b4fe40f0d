"""RecallSettings: the ``search`` block of a configuration file or dict, for a recall over several sources."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from septet.embedding.config import EmbeddingConfig
from septet.errors import ProfileError, printable
from septet.inputs.arguments import cut, exact, file_path, listed, shown, utf8
from septet.inputs.documents import Unreadable, bounded, read_settings
from septet.profiles import ProfileLike, resolve
from septet.ranking.profile import Profile
from septet.retrieval.planning.policy import Policy

#: Base ranking profile of sources; configured weights override its own.
BASE_PROFILE = "recall"

MOST_SOURCES, MOST_KINDS, MOST_CHARS = 64, 1_000, 100_000
#: Maximum weight; sums of weights up to this lose no precision.
MOST_WEIGHT = 1e9
#: Documented model, and the length of its vectors.
VOYAGE_MODEL, VOYAGE_DIMENSIONS = "voyage-code-3", 1024

#: Further lists of a source's text hits: newest first, those of the caller's session, those of even ages first.
Further: TypeAlias = Literal["recent", "session", "quality"]
#: ``knowledge`` that stays, ``session`` material of one session (summaries, messages), or ``other``, which is searched
#: unless a scope excludes it.
Role: TypeAlias = Literal["knowledge", "session", "other"]
Weight: TypeAlias = Annotated[float, Field(ge=0, le=MOST_WEIGHT)]


def several(value: Any) -> Any:
    """Return a text or list as a tuple; anything else unchanged, for validation."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


class SettingsBlock(BaseModel):
    """A part of the configuration: names in ``camelCase`` or ``snake_case``, no unknown ones, no other types."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    @model_validator(mode="before")
    @classmethod
    def _partial(cls, value: Any) -> Any:
        # An empty part has its defaults.
        return {} if value is None else value


class FtsWeights(SettingsBlock):
    """BM25 weights of columns.

    Attributes:
        title: weight of titles.
        content: weight of descriptions and contexts.
        category: weight of tags.
    """

    title: Weight = 6.0
    content: Weight = 2.0
    category: Weight = 3.0


class EmbeddingsSettings(SettingsBlock):
    """The embedding model; the block ``embedding`` of the same file takes precedence.

    Attributes:
        enabled: True to embed.
        provider: as in `EmbeddingConfig`.
        model: the provider's default if None; of Voyage the documented voyage-code-3.
        dimensions: length of the vectors, 64 to 2048; the model's own if None, 1024 for the documented model.
    """

    enabled: bool = False
    provider: Literal["auto", "local", "openai", "openai-compatible", "voyage", "gemini", "ollama"] = "voyage"
    model: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    dimensions: Annotated[int, Field(ge=64, le=2048)] | None = None

    @property
    def config(self) -> EmbeddingConfig:
        """These settings as an embedding configuration."""
        if not self.enabled:
            return EmbeddingConfig()
        model, dimensions = self.model, self.dimensions
        if self.provider == "voyage" and model is None:
            model, dimensions = VOYAGE_MODEL, dimensions or VOYAGE_DIMENSIONS
        return EmbeddingConfig(provider=self.provider, model=model, dimensions=dimensions)


class PresentSettings(SettingsBlock):
    """The text of results for a prompt.

    Attributes:
        char_budget: maximum characters of all texts, 2,000 to 20,000.
        relevance_floor: minimum score as a share of the best score, 0 to 1.
        max_results: maximum results, 3 to 30.
    """

    char_budget: Annotated[float, Field(ge=2_000, le=20_000)] = 12_000.0
    relevance_floor: Annotated[float, Field(ge=0, le=1)] = 0.15
    max_results: Annotated[float, Field(ge=3, le=30)] = 15.0


class ListWeights(SettingsBlock):
    """Weight of each kind of list; 0 drops it. See `septet.retrieval.recall.recalling`.

    Attributes:
        text: text hits of each source and phrasing.
        recent: text hits of session material, newest first.
        session: text hits of the caller's session.
        vector: vector hits of each source.
        quality: session material, by even ages of its texts, then newest first.
        exact: all hits, by the number of the query's words that they contain literally.
    """

    text: Weight = 1.0
    recent: Weight = 1.0
    session: Weight = 1.0
    vector: Weight = 1.0
    quality: Weight = 1.0
    exact: Weight = 1.0


class SourceSettings(SettingsBlock):
    """One source of a recall: kinds of entries of a vault, or a whole vault.

    Attributes:
        name: the name in lists, hits and notes.
        kinds: one kind or several; None for all but memories.
        vault: the name of another vault; None for the retriever's own.
        where: a filter, as of `Vault.search`.
        limit: maximum items in each of its lists; None for ``recallLimit``.
        weight: weight of its lists relative to other sources.
        role: its role.
        scoped: fields that must equal a value of the scope, by its name: ``{"session": "attrs.session"}``.
        further: further lists of its entries.
        shared: a field; entries without a project, and those where it is true, belong to every project.
        confidence_above: exclude entries whose ``attrs.confidence`` is a number of at most this; None for no filter.
    """

    name: Annotated[str, Field(min_length=1, max_length=256)]
    kinds: Annotated[tuple[str, ...], BeforeValidator(several), Field(max_length=MOST_KINDS)] | None = None
    vault: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    where: dict[str, Any] | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] | None = None
    weight: Weight = 1.0
    role: Role = "knowledge"
    scoped: dict[str, str] = {}
    further: Annotated[tuple[Further, ...], BeforeValidator(several)] = ()
    shared: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    confidence_above: Annotated[float, Field(ge=-1, le=1)] | None = 0.2


#: Default sources: knowledge, summaries of sessions, and their messages.
DEFAULT_SOURCES = (
    SourceSettings(
        name="knowledge",
        where={"kind": {"$nin": ["distillation", "message"]}},
        scoped={"project": "attrs.project"},
        shared="attrs.cross_project",
    ),
    SourceSettings(
        name="distillations",
        kinds=("distillation", "memory"),
        role="session",
        scoped={"project": "attrs.project", "session": "attrs.session"},
        further=("recent", "session", "quality"),
    ),
    SourceSettings(
        name="messages",
        kinds=("message",),
        role="session",
        scoped={"project": "attrs.project", "session": "attrs.session"},
        further=("recent", "session"),
    ),
)


class RecallSettings(SettingsBlock):
    """Search, fusion and presentation of a recall. Field names may be ``camelCase``, as documented, or ``snake_case``.

    Attributes:
        fts_weights: weights of titles, contents and categories in sources of knowledge.
        recall_limit: maximum items in each list of a source, 1 to 50, rounded down.
        query_expansion: True to search other phrasings too.
        vector_boost_weight: factor of vector lists for queries of enough words, 1 to 5.
        vector_boost_min_terms: minimum words for this factor, 1 to 10, without stop words.
        embeddings: the embedding model.
        recall: the text of results.
        sources: the sources, in this order.
        lists: weight of each kind of list.
        knowledge_share: factor of lists of knowledge if there are hits of session material, 0 to 1.
        rrf_k: of the fusion by rank, 1 to 500; ranks are counted from 0.
        most_lists: maximum lists; those of other phrasings are dropped first.
        most_results: maximum results as a multiple of ``recall_limit``.
    """

    fts_weights: FtsWeights = FtsWeights()
    recall_limit: Annotated[float, Field(ge=1, le=50)] = 10.0
    query_expansion: bool = False
    vector_boost_weight: Annotated[float, Field(ge=1, le=5)] = 1.5
    vector_boost_min_terms: Annotated[float, Field(ge=1, le=10)] = 2.0
    embeddings: EmbeddingsSettings = EmbeddingsSettings()
    recall: PresentSettings = PresentSettings()
    sources: Annotated[tuple[SourceSettings, ...], BeforeValidator(several), Field(max_length=MOST_SOURCES)] = (
        DEFAULT_SOURCES
    )
    lists: ListWeights = ListWeights()
    knowledge_share: Annotated[float, Field(ge=0, le=1)] = 0.6
    rrf_k: Annotated[float, Field(ge=1, le=500)] = 60.0
    most_lists: Annotated[int, Field(ge=1, le=1_000)] = 14
    most_results: Annotated[int, Field(ge=1, le=100)] = 3

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**plain("search", fields))
        except ValidationError as fault:
            raise error_of(fault, "search", RecallSettings) from None

    @model_validator(mode="after")
    def _names_differ(self) -> RecallSettings:
        names = [source.name for source in self.sources]
        if doubled := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"sources has the name {shown(doubled[0])} twice: rename one")
        if odd := [name for name in names if not name.isprintable()]:
            raise ValueError(f"sources has the name {shown(odd[0])}: wanted printable characters")
        return self

    @property
    def limit(self) -> int:
        """Maximum items in a list of a source."""
        return int(self.recall_limit)

    def profile(self, role: Role = "knowledge", base: ProfileLike = BASE_PROFILE) -> Profile:
        """Return the ranking profile of sources of a role.

        The configured weights apply to knowledge, as documented; elsewhere all columns have equal weights.

        Args:
            role: the role of the sources.
            base: the profile whose weights are replaced.

        Raises:
            ProfileError: the profile or the role is unknown.
        """
        weights = (
            self.fts_weights
            if utf8(role, "role", ProfileError) == "knowledge"
            else FtsWeights(title=1, content=1, category=1)
        )
        chosen = resolve(base)
        columns = replace(
            chosen.text.weights,
            title=weights.title,
            description=weights.content,
            context=weights.content,
            tags=weights.category,
        )
        return replace(chosen, text=replace(chosen.text, weights=columns))


SettingsLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, object] | RecallSettings | None"


def settings_of(source: SettingsLike) -> RecallSettings:
    """Return the settings from any of their forms.

    Args:
        source: settings; a dict; the path of a ``.yaml``/``.yml``, ``.toml`` or ``.json`` file; None for the defaults.
            A dict or file is the block itself, or contains it under ``search``; missing fields have their defaults,
            at every level.

    Raises:
        ProfileError: the file is unreadable, or fields are unknown or invalid. The message names each, never its value.
    """
    if source is None:
        return RecallSettings()
    if isinstance(source, RecallSettings):
        return source
    if isinstance(source, (str, os.PathLike)):
        data = read_settings(Path(file_path(source, "the path of the settings", ProfileError)), ProfileError)
        # A file may contain other settings besides the block.
        known = {*RecallSettings.model_fields, *map(to_camel, RecallSettings.model_fields)}
        block = data["search"] if "search" in data else data if data.keys() & known else {}
    elif isinstance(source, Mapping):
        block = source.get("search", source)
    else:
        raise ProfileError(f"the settings are {shown(source)}: wanted a dict, RecallSettings or a file")
    if block is None:
        return RecallSettings()
    if not isinstance(block, Mapping):
        raise ProfileError(f"search is {shown(block)}: wanted a dict of settings")
    return RecallSettings(**plain("search", block))


def plain(name: str, value: Any, nested: bool = False) -> Any:
    """Return a value as exact text, numbers, lists and dicts; pydantic would accept any iterable as a list.

    Raises:
        ProfileError: it has another type, or is too large; its value is not shown, because it may be a key.
    """
    if not nested:
        try:
            bounded(value)
        except Unreadable as fault:
            raise ProfileError(f"{name} {fault}") from None
    if value is None or isinstance(value, (bool, SecretStr, BaseModel, Policy)):
        return value
    value = exact(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return utf8(value, cut(name), ProfileError, MOST_CHARS)
    if isinstance(value, os.PathLike):
        return file_path(value, cut(name), ProfileError)
    if isinstance(value, Mapping):
        return {str(exact(key)): plain(f"{name}.{exact(key)}", inner, True) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        items = listed(value, name, ProfileError, "a list")
        return [plain(f"{name}.{at}", inner, True) for at, inner in enumerate(items)]
    raise ProfileError(f"{cut(printable(name))} is invalid: {type(value).__name__} is no text, number, list or dict")


def error_of(fault: ValidationError, block: str, root: type[SettingsBlock]) -> ProfileError:
    """Return all errors of a block; the message names the fields, never their values."""
    faults = fault.errors(include_input=False, include_url=False)
    return ProfileError("; ".join(dict.fromkeys(_message_of(dict(part), block, root) for part in faults)))


def _message_of(fault: Mapping[str, Any], block: str, root: type[SettingsBlock]) -> str:
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, ProfileError):
        # The message of a nested block names the field.
        return str(cause)
    where = printable(cut(".".join([block, *(str(part) for part in fault["loc"])])))
    if fault["type"] != "extra_forbidden":
        message = cut(str(fault["msg"])).removeprefix("Value error, ").replace("a valid tuple", "a list")
        return f"{where} is invalid: {message}"
    *path, name = fault["loc"]
    # The default of a block has its fields.
    defaults = {to_camel(name): member.default for name, member in root.model_fields.items()}
    default = next((defaults.get(_camel(part)) for part in path if isinstance(part, str)), None)
    block_type = type(default[0] if isinstance(default, tuple) and default else default)
    model = block_type if issubclass(block_type, SettingsBlock) else root
    known = sorted(to_camel(field) for field in model.model_fields)
    near = get_close_matches(_camel(str(name)), known, 1)
    hint = f"did you mean {near[0]}?" if near else f"its fields are {', '.join(known)}"
    return f"{where} does not exist: {hint}"


def _camel(name: str) -> str:
    """Return a name in camel case; the oldest pydantic would lower capitals of a camel-case name."""
    return to_camel(name) if "_" in name else name
