"""The policy of planned retrieval: every knob in one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, TypeAlias

# At run time too: pydantic 2.8 resolves the annotations of a dataclass that is a field of a model.
from pydantic import SecretStr

from septet.errors import ProfileError, QueryError
from septet.inputs.arguments import called, flag, shown
from septet.retrieval.planning.knobs import (
    SECRETS,
    Knob,
    Resolver,
    checked_keys,
    error_of,
    expected_value,
    knob,
    read_block,
    read_keys,
    read_values,
    read_variables,
    text_of,
)

PolicyName: TypeAlias = Literal["septet", "planned-retrieval"]

#: Differences from the documented defaults, by profile.
PRESETS: Mapping[PolicyName, Mapping[str, object]] = {
    "planned-retrieval": {},
    "septet": {
        "evidence": "calibrated",
        "identifiers": True,
        "code_mode": "hybrid",
        # "how" and "where" begin questions about anything, not only about a repository.
        "structure_words": ("architecture", "repository", "repo", "overview", "structure"),
    },
}

MAX_HOPS, MAX_WHOLE = 255, 1_000_000
_SHARE: Mapping[str, Any] = {"least": 0.0, "most": 1.0}
_OURS: Mapping[str, Any] = {"documented": False}


def _share(default: float, variable: str, about: str, **rest: Any) -> Any:
    return knob(default, "number", variable, about, **_SHARE, **rest)


def _count(default: int, variable: str, about: str, most: int, least: int = 1, **rest: Any) -> Any:
    return knob(default, "whole", variable, about, least=least, most=most, **rest)


def _words(default: str, variable: str, about: str) -> Any:
    return knob(tuple(default.split(",")), "words", variable, about, documented=False)


# The table of knobs: kind, default, bounds, variable and description. Errors, `from_env`, `help` and the test of
# docs/policy.md read it.
@dataclass(frozen=True, kw_only=True)
class Policy:
    """Every knob of planned retrieval. A wrong value raises, with all other problems.

    Keys are not among the fields: see `with_secrets` and `secret`. They are in no repr, dump, comparison or pickle.

    Attributes:
        secrets: the keys, by name.
        problems: invalid values that were replaced; only a lenient `from_env` or `from_dict` has any.
    """

    version: int = _count(1, "POLICY_VERSION", "your version number, recorded in envelopes", 2**32 - 1, 0)

    # Plan.
    words: str = knob(
        "whole", "choice", "WORDS", "how words of a query are compared with the lists: `whole` words, or as a "
        "`substring` anywhere, as recorded", choices=("whole", "substring"), **_OURS,
    )  # fmt: skip
    identifiers: bool = knob(False, "switch", "IDENTIFIERS", "paths, names of files, `a::b`, `f()`, snake_case and "
                             "CamelCase count as code", **_OURS)  # fmt: skip
    code_words: tuple[str, ...] = _words(
        "file,path,module,symbol,crate,function,struct,enum,trait,defined",
        "CODE_WORDS",
        "words of questions about code",
    )
    code_marks: tuple[str, ...] = _words(".rs,src/,crates/,::", "CODE_MARKS", "parts of words that mean code")
    code_mode: str = knob(
        "full_text", "choice", "CODE_MODE", "the mode of questions about code",
        choices=("full_text", "vector", "hybrid"), **_OURS,
    )  # fmt: skip
    structure_words: tuple[str, ...] = _words(
        "architecture,repository,repo,overview,structure,where,how", "STRUCTURE_WORDS",
        "words of questions about a repository as a whole",
    )  # fmt: skip
    broad_tokens: int = _count(8, "BROAD_TOKENS", "a query of more words is broad research", 10_000, 0, **_OURS)
    web_enabled: bool = knob(False, "switch", "WEB_ENABLED", "allow plans to use the web", **_OURS)

    # Fusion and ranking.
    memory_vector_fusion_weight: float = _share(
        0.55, "MEMORY_VECTOR_WEIGHT", "the weight of vectors in memory, against words"
    )
    chunk_vector_fusion_weight: float = _share(
        0.60, "CHUNK_VECTOR_WEIGHT", "the weight of vectors in document chunks, against words"
    )
    memory_bm25_k1: float = knob(1.2, "number", "BM25_K1", "k1 of BM25 over memory", least=0.1, most=3.0)
    memory_bm25_b: float = _share(0.75, "BM25_B", "b of BM25 over memory")
    rrf_k: float = knob(60.0, "number", "RRF_K", "the constant of fusion by rank", least=1.0, most=500.0)
    prefer_rrf_merge: bool = knob(
        False, "switch", "PREFER_RRF", "accepted but unused: the lists of several corpora are always fused"
    )

    # Evidence and further waves.
    evidence: str = knob(
        "documented", "choice", "EVIDENCE", "which numbers judge a wave: the `documented` ones, or `calibrated` ones "
        "made of confidences", choices=("documented", "calibrated"), **_OURS,
    )  # fmt: skip
    evidence_quality_top_weight: float = _share(
        0.7, "QUALITY_TOP_WEIGHT", "the weight of the best score in the quality of evidence", **_OURS
    )
    evidence_quality_coverage_weight: float = _share(
        0.3, "QUALITY_COVERAGE_WEIGHT", "the weight of the share of corpora with hits", **_OURS
    )
    verification_weak_evidence_threshold: float = _share(
        0.55,
        "VERIFICATION_QUALITY_THRESHOLD",
        "evidence below this quality is weak: the rewritten query is searched too",
    )
    verification_stop_words: tuple[str, ...] = _words(
        "the,and,for,with,from,into,what,where,when,does,how,why", "VERIFICATION_STOP_WORDS",
        "words dropped from a rewritten query",
    )  # fmt: skip
    web_search_max_hops: int = _count(3, "MAX_HOPS", "maximum rounds of follow-up queries", MAX_HOPS, 0)
    follow_up_target_quality: float = _share(
        0.75, "FOLLOW_UP_TARGET", "stop follow-up queries at this quality", **_OURS
    )
    follow_up_weak_score: float = _share(
        0.55, "FOLLOW_UP_WEAK", "below this mean score, follow-ups request primary and further sources", **_OURS
    )
    follow_up_max_queries: int = _count(3, "FOLLOW_UP_QUERIES", "maximum follow-up queries of a round", 20, **_OURS)
    route_web_words: tuple[str, ...] = _words(
        "news,recent,today,latest,breaking,update", "ROUTE_WEB_WORDS", "words of questions for the web"
    )
    route_context_phrases: tuple[str, ...] = _words(
        "my task,this code,earlier,just said,my file,the current,this function", "ROUTE_CONTEXT_PHRASES",
        "phrases of questions answered by the conversation",
    )  # fmt: skip
    context_max_chunks: int = _count(8, "CONTEXT_MAX_CHUNKS", "maximum passages of a context", 10_000, **_OURS)
    context_max_chars: int = _count(
        8_000, "CONTEXT_MAX_CHARS", "maximum characters of a context; the last passage is cut", 10_000_000, 0, **_OURS
    )

    # Corpora.
    repo_inventory_max_files: int = _count(20_000, "REPO_MAX_FILES", "maximum files of a repository", MAX_WHOLE, 100)
    repo_inventory_skip_dirs: tuple[str, ...] = knob(
        (".git", "target", "node_modules", ".next", ".vox", "dist", "build"), "words", "REPO_SKIP_DIRS",
        "names of skipped folders; a list replaces this one",
    )  # fmt: skip
    tantivy_index_root: str | None = knob(
        None, "text", "TANTIVY_ROOT", "the folder of a documentation index, for a corpus of your own"
    )
    qdrant_url: str | None = knob(None, "address", "QDRANT_URL", "a server of vectors, for a corpus of your own")
    qdrant_collection: str = knob("vox_docs", "text", "QDRANT_COLLECTION", "the collection of that server", most=255)
    qdrant_vector_name: str | None = knob(
        None, "text", "QDRANT_VECTOR_NAME", "the name of its vectors, if they have one", most=255
    )
    embedding_model: str | None = knob(
        None, "text", "EMBEDDING_MODEL",
        "accepted but unused: a vault compares the vectors of its own embedder, or of `model=`",
        aliases=("VOX_EMBEDDING_MODEL",), most=255,
    )  # fmt: skip
    embedding_search_candidate_mult: int = _count(
        10, "EMBEDDING_CANDIDATE_MULT", "accepted but unused: all vectors are compared", 10_000,
        aliases=("VOX_EMBEDDING_SEARCH_CANDIDATE_MULT",),
    )  # fmt: skip

    # Web.
    searxng_url: str | None = knob(None, "address", "SEARXNG_URL", "a SearXNG server, used first")
    searxng_max_results: int = _count(5, "SEARXNG_MAX_RESULTS", "maximum results of SearXNG and DuckDuckGo", 100)
    searxng_max_urls_to_scrape: int = _count(3, "SEARXNG_MAX_SCRAPE", "maximum pages read and web hits kept", 100)
    searxng_engines: str = knob(
        "google,bing,ddg", "text", "SEARXNG_ENGINES", "engines of SearXNG", most=256, pattern="[A-Za-z0-9,_ -]+"
    )
    searxng_language: str = knob(
        "en", "text", "SEARXNG_LANGUAGE", "the language of results", most=16, pattern="[A-Za-z0-9-]+"
    )
    duckduckgo_fallback_enabled: bool = knob(
        True, "switch", "DDG_FALLBACK_DISABLED", "use DuckDuckGo if SearXNG has no results", inverted=True
    )
    tavily_enabled: bool = knob(False, "switch", "TAVILY_ENABLED", "allow Tavily; each search costs credits")
    tavily_search_depth: str = knob(
        "basic",
        "choice",
        "TAVILY_DEPTH",
        "search depth of Tavily",
        choices=("basic", "advanced", "fast", "ultra-fast"),
    )
    tavily_max_results: int = _count(5, "TAVILY_MAX_RESULTS", "maximum results of Tavily", 20)
    tavily_fire_on_empty: bool = knob(True, "switch", "TAVILY_ON_EMPTY", "use Tavily if there are no local hits")
    tavily_fire_on_weak: bool = knob(False, "switch", "TAVILY_ON_WEAK", "use Tavily if the evidence is weak")
    tavily_credit_budget_per_session: int = _count(50, "TAVILY_BUDGET", "credits per session", MAX_WHOLE, 0)
    scraper_timeout_ms: int = _count(5_000, "SCRAPER_TIMEOUT", "milliseconds to wait for a page", 600_000)
    scraper_robots_txt_respect: bool = knob(True, "switch", "SCRAPER_ROBOTS_RESPECT", "obey robots.txt")
    scraper_min_text_density: float = _share(0.15, "SCRAPER_MIN_DENSITY", "minimum share of text in a page")
    web_read_pages: bool = knob(
        False, "switch", "WEB_READ_PAGES", "read the pages of web results, not only their excerpts",
        **_OURS,
    )  # fmt: skip
    web_allow_private: bool = knob(
        False, "switch", "WEB_ALLOW_PRIVATE", "read pages of private addresses too, such as 127.0.0.1", **_OURS
    )
    web_pause_ms: int = _count(
        500, "WEB_PAUSE", "pause of a web host after each response, in milliseconds", 60_000, 0, **_OURS
    )
    web_keep_days: int = _count(30, "WEB_KEEP_DAYS", "validity of web hits in days", 36_500, **_OURS)
    persist_web_hits: bool = knob(
        True, "switch", "PERSIST_WEB_HITS_DISABLED", "store web hits as entries", inverted=True
    )

    secrets: Mapping[str, SecretStr] = field(default_factory=dict, repr=False, compare=False)
    problems: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        values, problems = read_values({name: getattr(self, name) for name in knobs()}, _table())
        keys, wrong = checked_keys(self.secrets)
        if problems or wrong:
            raise error_of("policy", problems + wrong)
        self.__dict__.update(values, secrets=keys)

    @classmethod
    def named(cls, name: PolicyName) -> Policy:
        """Return the policy of a profile: ``planned-retrieval`` has the documented defaults.

        Raises:
            ProfileError: the profile is unknown.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise ProfileError(f"policy is {shown(name)}: wanted {' or '.join(PRESETS)}")
        return cls(**PRESETS[name])  # type: ignore[arg-type]

    @classmethod
    def from_env(
        cls,
        environment: Mapping[str, str] | None = None,
        secrets: Resolver | None = None,
        *,
        base: Policy | None = None,
        strict: bool = True,
    ) -> Policy:
        """Return the policy of environment variables, read once.

        Each knob has a variable with the prefix ``SEPTET_SEARCH_`` and, if documented, one with ``VOX_SEARCH_``;
        the first takes precedence. Empty variables are ignored.

        Args:
            environment: the variables; those of the process by default.
            secrets: the source of keys; the environment by default.
            base: values of the other knobs; the documented defaults by default.
            strict: raise on any problem. If False, a number out of range is clamped, any other invalid value stays
                that of `base`, and `problems` lists the problems.

        Raises:
            ProfileError: values are invalid, or a name with Septet's prefix is unknown; all are listed.
        """
        source: Mapping[str, str] = os.environ if environment is None else environment
        if not isinstance(source, Mapping):
            raise ProfileError(f"environment is {shown(source)}: wanted a mapping of names to texts")
        flag(strict, "strict", ProfileError)
        values, problems = read_variables(source, _table(), strict)
        policy = _changed(base, "environment", values, problems, strict)
        resolver = (lambda name: text_of(source, name)) if secrets is None else secrets
        return policy.with_secrets(resolver, strict=strict)

    @classmethod
    def from_dict(cls, data: Mapping[str, object], *, base: Policy | None = None, strict: bool = True) -> Policy:
        """Return the policy of a block ``policy`` of a configuration; names in ``snake_case`` or ``camelCase``.

        Args:
            data: values by name; or a dict with such a block.
            base: values of the other knobs; the documented defaults by default.
            strict: see `from_env`.

        Raises:
            ProfileError: values are invalid or names unknown; all are listed.
        """
        flag(strict, "strict", ProfileError)
        values, problems = read_block(data, _table(), strict)
        return _changed(base, "policy", values, problems, strict)

    def with_secrets(self, resolver: Resolver | None, *, strict: bool = True) -> Policy:
        """Return this policy with the keys of a resolver, read now; `SECRETS` lists their names.

        Raises:
            ProfileError: the resolver raises, or returns an invalid key; the message shows nothing of it.
        """
        called(resolver, "secrets", ProfileError)
        flag(strict, "strict", ProfileError)
        keys, problems = ({}, []) if resolver is None else read_keys(resolver)
        if problems and strict:
            raise error_of("secrets", problems)
        return replace(self, secrets=keys, problems=(*self.problems, *problems))

    def secret(self, name: str) -> SecretStr | None:
        """Return a key; None if it is not set.

        Raises:
            ProfileError: the name is not in `SECRETS`.
        """
        if not isinstance(name, str) or name not in SECRETS:
            raise ProfileError(f"secret {shown(name)} is unknown: wanted {' or '.join(SECRETS)}")
        return self.secrets.get(name)

    def to_dict(self) -> dict[str, Any]:
        """Return all knobs as a JSON-ready dict without keys; `from_dict` restores an equal policy."""
        values = {name: getattr(self, name) for name in knobs()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "secrets": {}}


@cache
def knobs() -> Mapping[str, Knob]:
    """Return every knob of `Policy` by the name of its field, in order."""
    return {member.name: member.metadata["knob"] for member in fields(Policy) if "knob" in member.metadata}


def policy_of(policy: Policy | None) -> Policy:
    """Return the caller's policy, or the documented one."""
    if policy is None:
        return _documented()
    if not isinstance(policy, Policy):
        raise QueryError(f"policy is {shown(policy)}: wanted a Policy; Policy.from_dict makes one of a dict")
    return policy


@cache
def _documented() -> Policy:
    return Policy()


@cache
def _table() -> Mapping[str, tuple[Knob, object]]:
    return {name: (setting, Policy.__dataclass_fields__[name].default) for name, setting in knobs().items()}


def _changed(base: Policy | None, what: str, values: dict[str, Any], problems: list[str], strict: bool) -> Policy:
    base = _documented() if base is None else base
    if not isinstance(base, Policy):
        raise ProfileError(f"base is {shown(base)}: wanted a Policy")
    if problems and strict:
        raise error_of(what, problems)
    return replace(base, **values, problems=(*base.problems, *problems))


_lines = (
    f"        {name}: {setting.about}; {expected_value(setting)}; {default!r} by default."
    for name, (setting, default) in _table().items()
)
Policy.__doc__ = "\n".join([(Policy.__doc__ or "").rstrip(), *_lines, ""])
