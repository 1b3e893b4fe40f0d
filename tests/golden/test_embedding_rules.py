"""The rules that a second and a third recorded system keep: rows, batches, long texts, errors, choice of provider."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from doubles import Letters
from golden.differences import differs
from golden.loader import other_recording
from septet import EmbeddingOptions, EmbeddingRefused, EmbeddingUnavailable, Vault, embedder_from, top_k
from septet.embedding.choose import configured
from septet.embedding.config import config_of
from septet.embedding.providers.gemini import GeminiFormat
from septet.embedding.providers.limits import GEMINI, OPENAI, voyage_limits
from septet.embedding.providers.requests import estimate_tokens, group, pieces, split_bytes
from septet.embedding.rows import finish, matrix_of, unit_rows
from septet.embedding.transport.calls import Answer, json_call
from septet.embedding.transport.faults import Fault, fault_of

MATH = other_recording("openclaw-vector-math")["groups"]
BATCHES = other_recording("openclaw-embedding-batches")["cases"]
LIMITS = other_recording("openclaw-embedding-limits")["cases"]
CHOICE = other_recording("openclaw-provider-selection")
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


def judged(message: str) -> Fault:
    """Return what Septet makes of the answer that stands behind a recorded message."""
    status = next((int(word) for word in message.split() if word.isdigit()), 429)
    bodies = {
        "insufficient_quota": {"error": {"message": message, "code": message}},
        "rate_limit_exceeded": {"error": {"message": message, "code": message}},
        "Resource has been exhausted": {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}},
    }
    body = json_call("", bodies.get(message, {"error": {"message": message}})).body
    fault = fault_of(Answer(status, {}, body), 0.0)
    assert fault is not None
    return fault


#: Recorded messages that stand for no HTTP answer: connections, a timeout, a batch job's state, a missing key.
NO_ANSWER = {"ECONNRESET", "timed out", "gemini batch x FAILED: y", "No API key found for provider"}


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c["message"])
@differs("network-errors-are-tried-again")
def test_answers_are_tried_again_as_recorded(case):
    if case["message"] in NO_ANSWER:
        # Connections and timeouts are tried again here: the unit tests of the retries show it.
        assert not case["retryable"]
    else:
        assert judged(case["message"]).passing == case["retryable"]


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c["message"])
@differs("every-failure-falls-back")
def test_whatever_keeps_a_provider_from_embedding_leads_to_the_next_one(case):
    message = case["message"]
    first, second = Letters("first"), Letters("second", 16)
    passing = message in NO_ANSWER or judged(message).passing
    status = None if message in NO_ANSWER else judged(message).status
    kind = EmbeddingUnavailable if passing else EmbeddingRefused
    first.script.extend([kind(message, status=status)] * 2)
    chain: list[Any] = [first, second]
    if message.startswith("No API key"):
        chain[0] = {"provider": "openai", "apiKeyEnv": "SEPTET_NO_SUCH_KEY"}
    with Vault(":memory:", embedder=chain, embedding_options=EmbeddingOptions(automatic=False)) as vault:
        vault.add(title="red apples")
        report = vault.embed()
    fell_back = report.model == "test/second" and report.complete
    assert fell_back and report.notes[0].code == "embedding_fallback"
    if case["fallback"]:
        assert fell_back is case["fallback"]


@pytest.mark.parametrize("case", CHOICE["cases"], ids=lambda c: c["name"])
@differs("one-space-a-model")
def test_a_provider_is_chosen_as_recorded(case):
    variables = {"openai": "OPENAI_API_KEY", "google": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY"}
    environment = {variables[name]: "k" for name in case["keysPresent"]}
    config = {"provider": case["provider"]}
    if case["fallback"] != "none" and case["provider"] != "auto":
        config["fallback"] = [{"provider": case["fallback"]}]
    recorded = case["result"]
    links = configured(config_of(config), environment=environment)
    ready = [link.embedder for link in links if link.embedder is not None]
    if "error" in recorded:
        assert not ready
        said = " ".join(str(link.fault) for link in links)
        tried = variables if case["provider"] == "auto" else [case["provider"], case["fallback"]]
        assert all(variables[name.replace("gemini", "google")] in said for name in tried if name != "none")
        return
    assert (ready[0].provider, ready[0].model) == (recorded["provider"], recorded["model"])
    failed = None if links[0].embedder is not None else links[0].name
    assert (failed or "").partition("/")[0] == (recorded["fallbackFrom"] or "")


@pytest.mark.parametrize("case", CHOICE["localAutoSelect"], ids=lambda c: c["modelPath"])
def test_a_local_model_is_chosen_only_when_it_is_on_the_disk(case):
    if case["canAutoSelect"]:
        # A folder with a model in it: the tests of the local model choose one.
        return
    config = {"provider": "auto", "modelPath": case["modelPath"]}
    chosen = embedder_from(config, environment={"OPENAI_API_KEY": "k"})
    assert chosen.provider == "openai"


def test_gemini_is_asked_for_documents_and_queries_by_task():
    wire = GeminiFormat("gemini-embedding-001")
    assert wire.request("t", "query")["taskType"] == "RETRIEVAL_QUERY"
    assert wire.request("t", "document")["taskType"] == "RETRIEVAL_DOCUMENT"
