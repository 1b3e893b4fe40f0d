"""How each provider answers a request for embeddings."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embedding_server.parts import Reply, Request, error, route

if TYPE_CHECKING:
    from embedding_server.server import EmbeddingServer

#: Most inputs of one request, and what is said when there are more.
_MOST = {"openai": 2048, "voyage": 1000, "gemini": 100}


@route("POST", r"/v1/embeddings", "openai")
def openai(server: EmbeddingServer, request: Request, _: re.Match[str]) -> Reply:
    body = request.json()
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    # The two share a path; Voyage's requests alone name an input type.
    provider = "voyage" if "input_type" in body or "output_dimension" in body else "openai"
    wrong = _wrong_key(server, provider, request.headers.get("authorization", "").removeprefix("Bearer "))
    wrong = wrong or _too_much(server, provider, texts)
    if wrong is not None:
        return wrong
    wanted = body.get("output_dimension" if provider == "voyage" else "dimensions")
    rows = _cut(server, texts, wanted, unit=True)
    packed = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": i, "embedding": _packed(row) if packed else row.tolist()}
        for i, row in enumerate(rows)
    ]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"total_tokens": tokens} | ({"prompt_tokens": tokens} if provider == "openai" else {})
    return Reply(content={"object": "list", "data": data, "model": body["model"], "usage": usage})


@route("POST", r"/v1beta/models/([^/:]+):(embedContent|batchEmbedContents)", "gemini")
def gemini(server: EmbeddingServer, request: Request, match: re.Match[str]) -> Reply:
    body = request.json()
    single = match[2] == "embedContent"
    asked = [body] if single else body["requests"]
    texts = ["".join(part["text"] for part in one["content"]["parts"]) for one in asked]
    wrong = _wrong_key(server, "gemini", request.headers.get("x-goog-api-key", ""))
    wrong = wrong or _too_much(server, "gemini", texts)
    if wrong is not None:
        return wrong
    if any(one["model"] != f"models/{match[1]}" for one in asked):
        return error("gemini", 400, "model must match the path", code="INVALID_ARGUMENT")
    rows = _cut(server, texts, asked[0].get("outputDimensionality"), unit=False)
    vectors = [{"values": row.tolist()} for row in rows]
    return Reply(content={"embedding": vectors[0]} if single else {"embeddings": vectors})


@route("POST", r"/api/embed", "ollama")
def ollama(server: EmbeddingServer, request: Request, _: re.Match[str]) -> Reply:
    body = request.json()
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    if server.models is not None and body["model"] not in server.models:
        return error("ollama", 404, f'model "{body["model"]}" not found, try pulling it first')
    if body.get("truncate", True) and server.context_words:
        texts = [" ".join(text.split()[: server.context_words]) for text in texts]
    wrong = _too_much(server, "ollama", texts)
    if wrong is not None:
        return wrong
    rows = _cut(server, texts, body.get("dimensions"), unit=True)
    return Reply(content={"model": body["model"], "embeddings": rows.tolist(), "prompt_eval_count": len(texts)})


ROUTES = [openai, gemini, ollama]


def _wrong_key(server: EmbeddingServer, provider: str, key: str) -> Reply | None:
    if key in server.keys:
        return None
    if provider == "gemini":
        reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        said = "API key not valid. Please pass a valid API key."
        return error(provider, 400, said, code="INVALID_ARGUMENT", details=[reason])
    if provider == "voyage":
        return error(provider, 401, "Provided API key is invalid.")
    # A careless server says the whole key back.
    return error(provider, 401, f"Incorrect API key provided: {key}.", code="invalid_api_key")


def _too_much(server: EmbeddingServer, provider: str, texts: list[str]) -> Reply | None:
    most = _MOST.get(provider)
    if most is not None and len(texts) > most:
        said = f"* BatchEmbedContentsRequest.requests: at most {most} requests can be in one batch"
        return error(provider, 400, said, code="INVALID_ARGUMENT" if provider == "gemini" else None)
    if not all(texts):
        return error(provider, 400, "input cannot be an empty string")
    words = [len(text.split()) for text in texts]
    if server.context_words and max(words, default=0) > server.context_words:
        said = {
            "openai": f"This model's maximum context length is {server.context_words} tokens, "
            f"however you requested {max(words)} tokens.",
            "voyage": f"An input is too long: the context has {server.context_words} tokens.",
            "gemini": f"The input token count exceeds the maximum of {server.context_words}.",
            "ollama": "the input length exceeds the context length",
        }
        return error(provider, 400, said[provider], code="INVALID_ARGUMENT" if provider == "gemini" else None)
    if server.request_words and sum(words) > server.request_words:
        said_ = f"Requested {sum(words)} tokens, max {server.request_words} tokens per request"
        return error(provider, 400, said_, code="max_tokens_per_request")
    return None


def _cut(server: EmbeddingServer, texts: list[str], wanted: int | None, *, unit: bool) -> NDArray[np.float32]:
    """Return the rows at the wanted length: the beginning of each, at unit length again except from Gemini."""
    rows = np.asarray(server.embed(texts), dtype=np.float32)[:, :wanted]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit and wanted else rows


def _packed(row: NDArray[Any]) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode("ascii")
