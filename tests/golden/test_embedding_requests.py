"""The recorded provider scenarios: which requests go out, with which key, after which waits, and what comes back."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np
import pytest

from golden.differences import differs
from golden.loader import recording
from septet import EmbeddingConfigError, EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.embedding import embedder_from
from septet.embedding.providers.formats import DIMENSIONS
from septet.net.client import IO

CASES = recording("vectors")["providers"]
#: What Septet's requests hold beside the recorded fields: base64 from home addresses, no silent cuts by Voyage.
MORE = {"openai": {"encoding_format": "base64"}, "voyage": {"encoding_format": "base64", "truncation": False}}


class Replay:
    """Answers as the recorded fetch did; the last answer of a script is given again and again."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.script = case["responses"]
        self.length = DIMENSIONS[case["config"]["provider"]].get(case["config"]["model"] or _default(case), 2)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []
        transport = httpx.MockTransport(self._answer)
        self.outside = IO(sleep=self.waits.append, random=lambda: 0.5, transport=transport)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        said = self.script[min(len(self.requests), len(self.script) - 1)]
        self.requests.append(request)
        if said == "network":
            raise httpx.ConnectError("fetch failed", request=request)
        if isinstance(said, int):
            return httpx.Response(said, text="err")
        texts = json.loads(request.content)["input"]
        rows = [{"index": i, "embedding": [i, 1] + [0] * (self.length - 2)} for i in range(len(texts))]
        return httpx.Response(200, json={"data": rows[::-1] if said == "reversed" else rows})


def _default(case: dict[str, Any]) -> str:
    return "voyage-3.5" if case["config"]["provider"] == "voyage" else "text-embedding-3-small"


def texts_of(case: dict[str, Any]) -> list[str]:
    """Return the recorded texts: two are x and y, five a to e, more are all t."""
    count = case["textCount"]
    return list("xy") if count == 2 else list("abcde") if count == 5 else ["t"] * count


def asked(request: httpx.Request, home: bool) -> dict[str, Any]:
    """Return a request as it was recorded, without what Septet adds."""
    body = json.loads(request.content)
    if home:
        for name, value in MORE["voyage" if "input_type" in body else "openai"].items():
            assert body.pop(name) == value
    if len(body["input"]) > 5:
        body["input"] = f"[{len(body['input'])} texts]"
    return {"url": str(request.url), "auth": request.headers["authorization"], "body": body}


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """Return what is recorded, after the differences that are named in `differences`."""
    wanted = {"requests": case["requests"], "waits": [ms / 1000 for ms in case["delaysMsWithoutJitter"]]}
    if case["name"] == "openai pool wins over apiKey":
        (request,) = case["requests"]
        return {**wanted, "requests": [{**request, "auth": "Bearer explicit"}]}
    if case["name"] == "openai network error":
        return {"requests": case["requests"] * 2, "waits": [1.0]}
    return wanted


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@differs("explicit-key-wins", "network-errors-are-tried-again", "vectors-in-base64", "nothing-is-cut-in-silence")
@differs("rows-of-unit-length")
def test_a_provider_is_asked_as_recorded(case):
    replay = Replay(case)
    config = {**case["config"], "apiKeys": case["keyPool"] or []}
    if not case["requests"] and case["error"]:
        with pytest.raises(EmbeddingConfigError, match="no API key"):
            embedder_from(config, environment={}, outside=replay.outside)
        return
    embedder = embedder_from(config, environment={}, outside=replay.outside)
    kind = (case["options"] or {}).get("inputType")
    rows = error = None
    try:
        rows = embedder.embed(texts_of(case), kind)
    except EmbeddingError as raised:
        error = raised
    embedder.close()

    home = "baseUrl" not in case["config"]
    found = {"requests": [asked(request, home) for request in replay.requests], "waits": replay.waits}
    assert found == expected(case)
    recorded = case["error"]
    if recorded is None or recorded["name"] == "TypeError":
        vectors = case["result"]["vectors"] if recorded is None else [[0, 1], [1, 1]]
        assert len(rows) == (vectors if isinstance(vectors, int) else len(vectors))
        if isinstance(vectors, list) and vectors:
            unit = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
            assert rows[:, :2] == pytest.approx(unit, abs=1e-7)
        return
    assert isinstance(error, EmbeddingUnavailable if recorded["retryable"] else EmbeddingRefused)
    assert error.status == recorded["statusCode"]


def test_unhealthy_keys_and_defaults_are_the_recorded_ones():
    """Names and dimensions of the two recorded providers, which the recorded results repeat."""
    for case in CASES:
        if case["result"] and not case["config"]["model"]:
            provider, result = case["config"]["provider"], case["result"]
            embedder = embedder_from({"provider": provider, "apiKey": "k"}, environment={})
            assert (embedder.model, embedder.dimensions) == (result["model"], result["dimensions"])
