"""The settings of a Markdown memory: the recorded defaults, and what becomes of values that are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet import Chunking, SeptetError
from septet.embedding import EmbeddingCache, embedder_from
from septet.files.matching import DELTA_BYTES, DELTA_MESSAGES, SessionPending, is_due
from septet.files.roots import root_at
from septet.profiles import resolve

CASES = other_recording("openclaw-config")["cases"]
KEYS = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY"}
Settings = Mapping[str, Any]

#: What has no counterpart among the settings of a vault, by how its name begins, and why.
LEFT_OUT = {
    "enabled": "A program that wants no memory opens no vault.",
    "sources": "A vault follows the folders it is told to: sessions are files in one of them.",
    "experimental": "Sessions are files like others, and no experiment.",
    "provider": "Which provider is chosen is compared in test_embedding_rules.",
    "fallback": "Which fallback is chosen is compared in test_embedding_rules.",
    "remote": "How a provider is called belongs to its embedder, and is compared in test_embedding_requests.",
    "local": "The folder of a local model is given with its embedder.",
    "store": "The path of a vault is an argument, and vectors are always searched.",
    "sync.on": "What makes a sync run is said where it is asked for.",
    "sync.watch": "A watcher is started with its pauses as arguments.",
    "sync.interval": "A watcher is started with its pauses as arguments.",
    "query.hybrid.enabled": "`legs` is an option of each search; vectors alone are compared in test_memory_folder.",
    "cache.enabled": "A vault keeps the vectors of its texts; another cache is there when its path is given.",
}


def flat(settings: Settings, before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return found


def chunking(given: Settings) -> Chunking:
    return Chunking(
        **{name: given[f"chunking.{name}"] for name in ("tokens", "overlap") if f"chunking.{name}" in given}
    )


def weights(given: Settings) -> Mapping[str, float]:
    names = {"vector": "query.hybrid.vectorWeight", "text": "query.hybrid.textWeight"}
    ours = {name: given[theirs] for name, theirs in names.items() if theirs in given}
    base = resolve("markdown-memory").weights["hybrid"]
    return resolve({"extends": "markdown-memory", "weights": {"hybrid": {**base, **ours}}}).weights["hybrid"]


def cut(name: str, theirs: str) -> Callable[[Settings], Any]:
    def value(given: Settings) -> Any:
        cuts = {name: given[theirs]} if theirs in given else {}
        return getattr(resolve({"extends": "markdown-memory", "cuts": cuts}).cuts, name)

    return value


def delta(name: str, field: str, default: int) -> Callable[[Settings], int]:
    """Return the least news of a session that are read, of bytes or of messages."""

    def value(given: Settings) -> int:
        least = given.get(f"sync.sessions.{field}", default)
        limits = {"delta_bytes": 2**40, "delta_messages": 2**40, name: least}
        news = {"delta_bytes": lambda n: SessionPending(n, 0), "delta_messages": lambda n: SessionPending(1, n)}[name]
        if least > 1:
            assert is_due(news(least), **limits) and not is_due(news(least - 1), **limits)
        return least

    return value


def model(given: Settings) -> str:
    provider = given.get("provider", "auto")
    if provider not in KEYS:
        # Known when it is chosen: by the keys that are there, or with the folder of a local model.
        return given.get("model", "")
    config = {"provider": provider, **({"model": given["model"]} if given.get("model") else {})}
    return embedder_from(config, environment={KEYS[provider]: "k"}).model


def cached(given: Settings) -> int | None:
    return EmbeddingCache("x.db", limit=given["cache.maxEntries"]).limit if "cache.maxEntries" in given else None


OURS: Mapping[str, Callable[[Settings], Any]] = {
    "chunking.tokens": lambda given: chunking(given).tokens,
    "chunking.overlap": lambda given: chunking(given).overlap,
    "query.maxResults": cut("limit", "query.maxResults"),
    "query.minScore": cut("min_score", "query.minScore"),
    "query.hybrid.vectorWeight": lambda given: weights(given)["vector"],
    "query.hybrid.textWeight": lambda given: weights(given)["text"],
    "query.hybrid.candidateMultiplier": cut("factor", "query.hybrid.candidateMultiplier"),
    "sync.sessions.deltaBytes": delta("delta_bytes", "deltaBytes", DELTA_BYTES),
    "sync.sessions.deltaMessages": delta("delta_messages", "deltaMessages", DELTA_MESSAGES),
    "extraPaths": lambda given: list(root_at("x", layout="memory", paths=given.get("extraPaths", ())).paths),
    "model": model,
    "cache.maxEntries": cached,
}


def known(name: str) -> bool:
    return name in OURS or any(name.startswith(prefix) for prefix in LEFT_OUT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["input"]))
@differs("a-wrong-setting-raises", "settings-as-given", "one-voyage-model")
def test_settings_are_the_recorded_ones_or_those_that_were_given(case: Mapping[str, Any]) -> None:
    given = flat(case["input"])
    if case["output"] is None:
        assert given["enabled"] is False
        return
    recorded = flat(case["output"])
    assert not [name for name in {**given, **recorded} if not known(name)]
    for name, ours in OURS.items():
        if name not in recorded:
            continue
        section = name.rpartition(".")[0]
        try:
            value = ours(given)
        except SeptetError:
            # The recorded system took another value than this one, or the one beside it.
            assert section in {other.rpartition(".")[0] for other in given}
            continue
        if name == "model" and name not in given and given.get("provider") == "voyage":
            assert value.startswith("voyage-") and recorded[name].startswith("voyage-")
        elif value != recorded[name]:
            assert value == given[name] and section in ("query", "query.hybrid", "sync.sessions")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["input"]))
def test_weights_have_the_recorded_proportion_where_both_are_shares(case: Mapping[str, Any]) -> None:
    recorded = flat(case["output"] or {})
    names = ("query.hybrid.vectorWeight", "query.hybrid.textWeight")
    given = {name: flat(case["input"])[name] for name in names if name in flat(case["input"])}
    if names[0] not in recorded or not all(0 <= value <= 1 for value in given.values()) or not any(
        {**dict.fromkeys(names, 1), **given}.values()
    ):  # fmt: skip
        return
    ours = weights(given)
    total = sum(ours.values())
    assert [recorded[name] for name in names] == pytest.approx([ours["vector"] / total, ours["text"] / total])


def test_the_most_candidates_are_the_recorded_ones() -> None:
    # min(200, max(1, results * factor)) of each leg.
    cuts = resolve("markdown-memory").cuts
    assert (cuts.minimum, cuts.maximum, cuts.factor * cuts.limit) == (1, 200, 24)


@pytest.mark.parametrize("reason", LEFT_OUT.values())
def test_what_is_left_out_has_a_reason(reason: str) -> None:
    assert reason.endswith(".") and len(reason.split()) > 4
