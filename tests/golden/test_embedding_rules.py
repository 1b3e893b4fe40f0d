"""The rules that a second and a third recorded system keep: rows, batches, long texts, errors, choice of provider."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import numpy as np
import pytest

from doubles import Letters
from golden.differences import differs
from golden.loader import other_recording
from septet import EmbeddingConfigError, EmbeddingOptions, EmbeddingRefused, EmbeddingUnavailable, Vault, top_k
from septet.embedding import embedder_from
from septet.embedding.batching import group
from septet.embedding.choose import configured_models
from septet.embedding.config import config_of
from septet.embedding.embedder import estimate_tokens
from septet.embedding.pipeline import MAX_FAILURES
from septet.embedding.providers.formats import (
    GEMINI,
    OPENAI,
    VOYAGE_MODEL,
    GeminiFormat,
    pieces,
    split_bytes,
    voyage_limits,
)
from septet.embedding.rows import finish, matrix_of, unit_rows
from septet.net.calls import Answer, NetFault, json_call
from septet.net.exchange import fault_of

MATH = other_recording("openclaw-vector-math")["groups"]
BATCHES = other_recording("openclaw-embedding-batches")["cases"]
LIMITS = other_recording("openclaw-embedding-limits")["cases"]
CHOICE = other_recording("openclaw-provider-selection")
SETTINGS = other_recording("openclaw-config")["cases"]
ERRORS = other_recording("openclaw-error-classes")["cases"]
LORE = other_recording("lore-embed-batching")


def numbers(values: list[Any]) -> np.ndarray:
    return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)


@pytest.mark.parametrize("case", MATH["normalize"], ids=lambda c: str(c["input"]))
def test_rows_are_cleaned_and_brought_to_unit_length_as_recorded(case):
    row = numbers(case["input"])
    found = unit_rows(row[np.newaxis, :])[0]
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx(case["output"], rel=1e-6, abs=1e-18)


@pytest.mark.parametrize("case", MATH["normalize"], ids=lambda c: str(c["input"]))
@differs("directionless-rows-are-errors")
def test_a_row_without_direction_never_leaves_a_provider(case):
    row = numbers(case["input"])[np.newaxis, :]
    if np.linalg.norm(case["output"]) > 0.5:
        assert np.linalg.norm(finish(row, "p", None)) == pytest.approx(1.0)
    else:
        with pytest.raises(EmbeddingUnavailable):
            finish(matrix_of(list(row), 1, "p"), "p", None)


@pytest.mark.parametrize("case", MATH["cosine"], ids=lambda c: f"{c['a']}-{c['b']}")
@differs("one-space-a-search", "zero-vectors-are-refused")
def test_cosines_of_cleaned_rows_are_the_recorded_ones(case):
    if len(case["a"]) != len(case["b"]):
        # Vectors of two lengths live in two spaces, which are never compared.
        assert case["output"] == 0
        return
    a, b = (unit_rows(numbers(v)[np.newaxis, :]) for v in (case["a"], case["b"]))
    if case["output"] == "NaN" or not a.any() or not b.any():
        assert case["output"] in ("NaN", 0)
        return
    assert top_k(b[0], a, 1)[1][0] == pytest.approx(case["output"], abs=1e-6)


def test_what_is_no_vector_in_json_is_no_vector():
    for case in MATH["parseEmbedding"]:
        valid = case["output"] and all(isinstance(value, int) for value in case["output"])
        assert bool(valid) == (case["raw"] == "[1,2]")
    for raw in ([], {}, None, "s", 1, [1, "a", None]):
        with pytest.raises(EmbeddingUnavailable):
            matrix_of([raw], 1, "p")
    assert matrix_of([[1, 2]], 1, "p").tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("case", BATCHES, ids=lambda c: str(c["byteSizes"])[:40])
def test_texts_are_grouped_by_size_as_recorded(case):
    assert [list(run) for run in group(case["byteSizes"], most=10**9, budget=8000)] == case["groups"]


@pytest.mark.parametrize("case", LORE["cases"], ids=lambda c: str(c["lengths"])[:40])
def test_padded_batches_are_grouped_as_recorded(case):
    sizes = [-(-length // 4) for length in case["lengths"]]
    assert [len(run) for run in group(sizes, most=8, budget=4096, padded=True)] == case["batch_sizes"]


@pytest.mark.parametrize("case", LORE["truncation"], ids=str)
@differs("no-end-is-dropped")
def test_what_was_dropped_from_a_long_text_makes_another_piece(case):
    length = case.get("length", case.get("length_utf16"))
    found = split_bytes("x" * length, 16384)
    assert "".join(found) == "x" * length
    assert len(found[0]) == min(length, 16384)
    # A character is never cut in two, in whatever units it is counted.
    assert split_bytes("x" * 16383 + "😀", 16384) == ["x" * 16383, "😀"]


@pytest.mark.parametrize("case", LIMITS, ids=lambda c: f"{c['provider']['model']}-{c['limit']}")
def test_long_texts_are_cut_by_bytes_as_recorded(case):
    chunks = [case["inputText"], "short"]
    found = [piece for text in chunks for piece in split_bytes(text, case["limit"])]
    assert [len(piece.encode()) for piece in found] == [part["bytes"] for part in case["parts"]]
    assert [hashlib.sha256(piece.encode()).hexdigest() for piece in found] == [part["hash"] for part in case["parts"]]


@pytest.mark.parametrize("case", LIMITS, ids=lambda c: f"{c['provider']['model']}-{c['limit']}")
@differs("lengths-by-tokens")
def test_limits_are_the_recorded_ones_and_count_tokens(case):
    provider, model = case["provider"]["id"], case["provider"]["model"]
    if "maxInputTokens" not in case["provider"]:
        limits = {"openai": OPENAI, "gemini": GEMINI, "voyage": voyage_limits(model)}[provider]
        assert limits.tokens_each == case["limit"]
    found = pieces(case["inputText"], case["limit"])
    assert "".join(found) == case["inputText"]
    assert max(map(estimate_tokens, found)) <= case["limit"] * 1.3
    assert len(found) <= len(case["parts"]) - 1


#: Words of recorded messages that stand for an answer, and its status; a number of three digits is one itself.
SAID = {
    "insufficient_quota": 429,
    "rate_limit": 429,
    "rate limit": 429,
    "too many requests": 429,
    "exhausted": 429,
    "cloudflare": 520,
}
#: Statuses that pass here too: a timeout, and a conflict.
ALSO_PASSING = {408, 409}


def status_of(message: str) -> int | None:
    """Return the status of the answer that stands behind a recorded message; None for no answer.

    Without one are connections, timeouts, the state of a batch job, and a missing key.
    """
    numbers = [int(number) for number in re.findall(r"\b[45]\d\d\b", message)]
    return numbers[0] if numbers else next((code for word, code in SAID.items() if word in message.lower()), None)


def has_no_quota(message: str) -> bool:
    return "insufficient_quota" in message


def judged(message: str, status: int) -> NetFault:
    """Return what Septet makes of the answer that stands behind a recorded message."""
    code = "insufficient_quota" if has_no_quota(message) else None
    body = json_call("", {"error": {"message": message, "code": code}}).body
    fault = fault_of(Answer(status, {}, body), 0.0)
    assert fault is not None
    return fault


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c["message"])
@differs("network-errors-are-tried-again")
@differs("a-used-up-quota-is-final")
def test_answers_are_tried_again_as_recorded(case):
    message, status = case["message"], status_of(case["message"])
    if status is None:
        # Connections and timeouts are tried again here: the unit tests of the retries show it.
        assert not case["retryable"]
    elif has_no_quota(message):
        assert not judged(message, status).passing
    else:
        assert judged(message, status).passing == (case["retryable"] or status in ALSO_PASSING)


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c["message"])
@differs("every-failure-falls-back")
def test_whatever_keeps_a_provider_from_embedding_leads_to_the_next_one(case):
    message, status = case["message"], status_of(case["message"])
    first, second = Letters("first"), Letters("second", 16)
    passing = status is None or judged(message, status).passing
    kind = EmbeddingUnavailable if passing else EmbeddingRefused
    first.script.extend([kind(message, status=status)] * (2 * MAX_FAILURES))
    chain: list[Any] = [first, second]
    if message.startswith("No API key"):
        chain[0] = {"provider": "openai", "apiKeyEnv": "SEPTET_NO_SUCH_KEY"}
    with Vault(":memory:", embedder=chain, embedding_options=EmbeddingOptions(automatic=False)) as vault:
        vault.add_many({"title": f"apples {n}"} for n in range(MAX_FAILURES))
        report = vault.embed()
    fell_back = report.model == "test/second" and report.complete
    assert fell_back and report.notes[0].code == "embedding_fallback"
    assert fell_back or not case["fallback"]


def expected(provider: str, model: str, given: str | None = None) -> tuple[str, str]:
    """Return a recorded provider with its model; that of Voyage is ours unless it was given."""
    return provider, model if given or provider != "voyage" else VOYAGE_MODEL


def config_of_case(provider: str, fallback: str) -> dict[str, Any]:
    """Return the recorded configuration as ours: ``auto`` takes no fallback."""
    ways = [] if fallback == "none" or provider == "auto" else [{"provider": fallback}]
    return {"provider": provider, "fallback": ways}


@pytest.mark.parametrize("case", CHOICE["cases"], ids=lambda c: c["name"])
@differs("one-space-a-model")
@differs("auto-takes-no-fallback")
@differs("one-voyage-model")
def test_a_provider_is_chosen_as_recorded(case, monkeypatch):
    monkeypatch.delenv("SEPTET_MODEL", raising=False)
    variables = {"openai": "OPENAI_API_KEY", "google": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY"}
    environment = {variables[name]: "k" for name in case["keysPresent"]}
    recorded = case["result"]
    if case["provider"] == "auto" and case["fallback"] != "none":
        with pytest.raises(EmbeddingConfigError, match="cannot be combined with fallback"):
            embedder_from({"provider": "auto", "fallback": case["fallback"]}, environment=environment)
    config = config_of_case(case["provider"], case["fallback"])
    links = configured_models(config_of(config), environment=environment)
    ready = [link.embedder for link in links if link.embedder is not None]
    if "error" in recorded:
        assert not ready
        said = " ".join(str(link.fault) for link in links)
        tried = ("openai", "gemini", "voyage") if case["provider"] == "auto" else (case["provider"], case["fallback"])
        wanted = [variables.get(name.replace("gemini", "google")) for name in tried]
        assert all(name in said for name in wanted if name is not None)
        return
    assert (ready[0].provider, ready[0].model) == expected(recorded["provider"], recorded["model"])
    failed = None if links[0].embedder is not None else links[0].name
    assert (failed or "").partition("/")[0] == (recorded["fallbackFrom"] or "")


@pytest.mark.parametrize("case", SETTINGS, ids=lambda c: json.dumps(c["input"]))
@differs("nothing-is-sent-unasked")
def test_providers_models_and_fallbacks_have_the_recorded_defaults(case):
    given, recorded = case["input"], case["output"]
    if recorded is None or recorded["provider"] == "local" or recorded["fallback"] == "local":
        # A local model has no default here either: its folder is named.
        assert recorded is None or not recorded["model"] or given.get("model") or recorded["provider"] != "local"
        return
    provider, model = recorded["provider"], given.get("model")
    keys = dict.fromkeys(("OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY"), "k")
    config = {**config_of_case(provider, recorded["fallback"]), **({"model": model} if model else {})}
    if provider == "auto":
        # Without a block nothing is embedded; `auto` takes no model, since it may become any provider's.
        assert given.get("provider", "auto") == "auto" and config_of({}).provider == "none"
        assert config_of({"provider": "auto"}).model is None and (model or not recorded["model"])
        return
    links = configured_models(config_of(config), environment=keys)
    assert links[0].embedder is not None
    assert (links[0].embedder.provider, links[0].embedder.model) == expected(provider, recorded["model"], model)
    others = [] if recorded["fallback"] in ("none", provider) else [recorded["fallback"]]
    assert [(link.name or "").partition("/")[0] for link in links[1:]] == others


@pytest.mark.parametrize("case", CHOICE["localAutoSelect"], ids=lambda c: c["modelPath"])
def test_a_local_model_is_chosen_only_when_it_is_on_the_disk(case):
    if case["canAutoSelect"]:
        # A folder with a model in it: the tests of the local model choose one.
        return
    config = {"provider": "auto", "modelPath": case["modelPath"]}
    chosen = embedder_from(config, environment={"OPENAI_API_KEY": "k"})
    assert chosen.provider == "openai"


def test_gemini_is_asked_for_documents_and_queries_by_task():
    wire = GeminiFormat("gemini", GEMINI, "gemini-embedding-001", "https://host")
    assert wire.request("t", "query")["taskType"] == "RETRIEVAL_QUERY"
    assert wire.request("t", "document")["taskType"] == "RETRIEVAL_DOCUMENT"
