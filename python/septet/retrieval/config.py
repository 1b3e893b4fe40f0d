"""RetrievalConfig: the whole configuration of a retriever, from a file, a dict or keywords."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, InstanceOf, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from septet.errors import ProfileError, printable
from septet.inputs.arguments import file_path, shown
from septet.inputs.documents import read_settings
from septet.retrieval.expansion.config import ExpansionConfig, expansion_config
from septet.retrieval.planning.knobs import OURS
from septet.retrieval.planning.policy import Policy, knobs
from septet.retrieval.recall.settings import (
    MOST_KINDS,
    RecallSettings,
    SettingsBlock,
    error_of,
    plain,
    settings_of,
    several,
)

RetrievalProfile: TypeAlias = Literal["septet", "recall", "planned-retrieval"]
#: The fusion of the lists of several corpora.
FusionRule: TypeAlias = Literal["confidence", "rrf"]

PROFILES: tuple[RetrievalProfile, ...] = ("septet", "recall", "planned-retrieval")
MAX_TIMEOUT_S, MAX_LIMIT = 86_400.0, 1_000


def _path(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    # Templates often leave fields empty.
    return None if isinstance(value, str) and not value.strip() else value


PathText: TypeAlias = Annotated[str, Field(min_length=1, max_length=4_096)]
OptionalPath: TypeAlias = Annotated[PathText | None, BeforeValidator(_path)]
Texts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(several), Field(max_length=MOST_KINDS)]


class CorporaSettings(SettingsBlock):
    """Corpora of planned retrievals beside the vault itself.

    Attributes:
        repository: a folder whose paths and definitions of names are searched; None for no such corpora.
        contract: a JSON file of renamed names with their replacements; None for none.
        docs: path of another vault, opened for reading: the docs mirror.
        vaults: paths of other vaults by name, opened for reading: for sources of a recall that name one.
        memory_kinds: kinds of entries that are memory; None for all but those of the other corpora.
        memory_roots: synced folders whose chunks are memory too.
        chunk_kinds: kinds of entries that are chunks of documents; stored web hits count as such, as documented.
    """

    repository: OptionalPath = None
    contract: OptionalPath = None
    docs: OptionalPath = None
    vaults: dict[str, PathText] = Field(default_factory=dict, max_length=64)
    memory_kinds: Texts | None = None
    memory_roots: Texts = ()
    chunk_kinds: Texts = ("chunk", "web")


class RetrievalConfig(SettingsBlock):
    """Configuration of planning, search, fusion and judgement. Field names may be ``snake_case`` or ``camelCase``.

    Attributes:
        profile: ``septet``, ``recall`` (all sources, by rank) or ``planned-retrieval`` (as documented).
        search: the block of a recall.
        policy: the knobs of a planned retrieval; None for those of the profile.
        expansion: the model that rephrases queries. A recall uses it only with ``queryExpansion``.
        corpora: the corpora beside the vault.
        limit: maximum number of hits, and of items in each list, unless a retrieval passes its own; None for the
            profile's.
        timeout_s: maximum seconds of a retrieval, 0.01 to 86,400; None for no limit.
        hops: maximum rounds of follow-up queries while the evidence is poor; None for the policy's in plans that
            use the web, and 0 in others.
        fusion: fusion of several corpora in the profile ``septet``: by the confidence of their hits, or by rank.
        fusion_k: constant of the fusion by rank, 1 to 500.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    profile: RetrievalProfile = "septet"
    search: Annotated[RecallSettings, BeforeValidator(settings_of)] = RecallSettings()
    policy: Annotated[Policy, InstanceOf()] | None = None
    expansion: Annotated[ExpansionConfig, BeforeValidator(expansion_config)] = ExpansionConfig()
    corpora: CorporaSettings = CorporaSettings()
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] | None = None
    timeout_s: Annotated[float, Field(ge=0.01, le=MAX_TIMEOUT_S)] | None = None
    hops: Annotated[int, Field(ge=0, le=255)] | None = None
    fusion: FusionRule = "confidence"
    fusion_k: Annotated[float, Field(ge=1, le=500)] = 10.0

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**plain("retrieval", fields))
        except ValidationError as fault:
            raise error_of(fault, "retrieval", RetrievalConfig) from None

    @field_validator("policy", mode="before")
    @classmethod
    def _knobs(cls, value: Any, info: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        profile = info.data.get("profile", "septet")
        return Policy.from_dict(value, base=Policy.named("planned-retrieval" if profile == "recall" else profile))

    @property
    def chosen_policy(self) -> Policy:
        """The policy, or the profile's."""
        if self.policy is not None:
            return self.policy
        return Policy.named("septet" if self.profile == "septet" else "planned-retrieval")


RetrievalConfigLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, object] | RetrievalConfig"

#: Blocks beside ``retrieval`` in a shared file.
BLOCKS = ("search", "policy", "expansion", "corpora")


def retrieval_config(source: RetrievalConfigLike) -> RetrievalConfig:
    """Return a configuration from any of its forms.

    Args:
        source: a configuration; the name of a profile; a dict; the path of a ``.yaml``/``.yml``, ``.toml`` or ``.json``
            file. A dict holds the fields, or a block ``retrieval`` with them. A file holds such a block, and
            ``search``, ``policy``, ``expansion`` and ``corpora`` in it or beside it; other blocks, such as
            ``embedding``, are ignored.

    Raises:
        ProfileError: the file is unreadable, or a field is unknown or invalid; the message names it, never a value.
    """
    if isinstance(source, RetrievalConfig):
        return source
    if isinstance(source, str) and source in PROFILES:
        return RetrievalConfig(profile=source)
    if isinstance(source, (str, os.PathLike)):
        path = Path(file_path(source, "config", ProfileError))
        if isinstance(source, str) and not path.suffix:
            raise ProfileError(f"config is {shown(source)}: wanted {', '.join(PROFILES)}, or the path of a file")
        return _of_blocks(read_settings(path, ProfileError), printable(str(path)))
    if isinstance(source, Mapping):
        if "retrieval" in source:
            return _of_blocks(source, "config")
        return RetrievalConfig(**plain("retrieval", source))
    raise ProfileError(f"config is {shown(source)}: wanted the name of a profile, a dict, a RetrievalConfig or a file")


def blocks_of_retrieval(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the blocks of a file that configure retrieval."""
    return {name: data[name] for name in ("retrieval", *BLOCKS) if name in data}


def with_environment(config: RetrievalConfig) -> RetrievalConfig:
    """Return the configuration with the environment's variables overriding its policy.

    Raises:
        ProfileError: a variable is invalid, as for `Policy.from_env`.
    """
    known = {name for knob in knobs().values() for name in knob.names}
    # An unknown name with Septet's prefix is a typo, which `from_env` reports.
    if not any(value.strip() and (name in known or name.startswith(OURS)) for name, value in os.environ.items()):
        return config
    return config.model_copy(update={"policy": Policy.from_env(base=config.chosen_policy)})


def ignored(config: RetrievalConfig) -> list[str]:
    """Return a line for each setting that no built-in corpus reads, with the remedy."""
    lines = []
    if config.profile != "recall" and config.search != RecallSettings():
        lines.append(f"the block search is not read by the profile {config.profile}: set the profile recall")
    if config.search.embeddings.enabled:
        provider = config.search.embeddings.provider
        lines.append(
            "search.embeddings has no effect: a retriever uses the vectors of its vault; add the block embedding "
            f"with provider {provider}, or open the vault with embedder="
        )
    if config.policy is not None:
        lines += [
            (
                f"policy.{name} has no effect: only a custom corpus passed to Vault.retriever uses it; to search "
                "another vault, set docs in the block corpora to its path"
            )
            for name in ("qdrant_url", "tantivy_index_root")
            if getattr(config.policy, name) is not None
        ]
    return lines


def _refuse_slips(source: str, data: Mapping[Any, Any]) -> None:
    """Raise if a misspelled or misplaced block of a retrieval would be ignored."""
    blocks = ("retrieval", *BLOCKS)
    top = [field for field in RetrievalConfig.model_fields if field not in BLOCKS]
    fields = {name for field in top for name in (field, to_camel(field))}
    for name in data:
        if not isinstance(name, str) or name in blocks:
            continue
        # One letter more or less, or two swapped; "research" is a word of its own.
        near = [block for block in get_close_matches(name[:100], blocks, 1, 0.8) if abs(len(block) - len(name)) < 2]
        if near:
            raise ProfileError(f"{source} has the block {shown(name)}: did you mean {near[0]}?")
        # Beside tiers, `profile` is the ranking profile of a server's searches.
        if name in fields and "retrieval" not in data and not (name == "profile" and "tiers" in data):
            raise ProfileError(f"{source} has {name} outside of a block: write it in the block retrieval")


def _of_blocks(data: Mapping[Any, Any], source: str) -> RetrievalConfig:
    _refuse_slips(source, data)
    inner = data.get("retrieval")
    if inner is not None and not isinstance(inner, Mapping):
        raise ProfileError(f"retrieval is {shown(inner)}: wanted a dict of its fields")
    fields = dict(inner or {})
    for name in BLOCKS:
        if name in data and data[name] is not None:
            if name in fields:
                raise ProfileError(f"{name} is in the block retrieval and beside it: remove one")
            fields[name] = data[name]
    return RetrievalConfig(**plain("retrieval", fields))
