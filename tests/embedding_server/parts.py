"""What the server is made of: requests, replies, faults, routes, and vectors that depend on nothing but the text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from embedding_server.server import EmbeddingServer

Embed = Callable[[Sequence[str]], NDArray[np.floating[Any]]]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `content` is bytes, or anything JSON can hold (and NaN, which it cannot)."""

    status: int = 200
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    sending: Literal["whole", "cut", "stalled", "dropped", "endless", "trickling"] = "whole"

    def payload(self) -> tuple[str, bytes]:
        if isinstance(self.content, bytes):
            return self.headers.get("content-type", "application/octet-stream"), self.content
        return "application/json", json.dumps(self.content).encode()

    def but(self, **changes: Any) -> Reply:
        return replace(self, **changes)


#: Changes the answer that would have been given; it is only worked out when the fault asks for it.
Fault = Callable[[str, Callable[[], Reply]], Reply]
Handler = Callable[["EmbeddingServer", Request, "re.Match[str]"], Reply]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a pattern of the whole path, the provider it belongs to, and what answers there."""

    method: str
    pattern: re.Pattern[str]
    provider: str
    handler: Handler


def route(method: str, pattern: str, provider: str) -> Callable[[Handler], Route]:
    return lambda handler: Route(method, re.compile(pattern), provider, handler)


def text_rows(texts: Sequence[str], dimensions: int = 8) -> NDArray[np.float64]:
    """Return rows ``(n, d)`` of unit length that look random and depend on the text alone."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts]
    rows = [np.random.default_rng(seed).normal(size=dimensions) for seed in seeds]
    matrix = np.stack(rows) if rows else np.empty((0, dimensions))
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def error(
    provider: str, status: int, message: str, *, code: str | None = None, details: Sequence[Any] = (), **headers: str
) -> Reply:
    """Return an error in the shape of a provider."""
    shapes: dict[str, Any] = {
        "openai": {"error": {"message": message, "type": code or "invalid_request_error", "param": None, "code": code}},
        "gemini": {"error": {"code": status, "message": message, "status": code or "", "details": list(details)}},
        "voyage": {"detail": message},
        "ollama": {"error": message},
    }
    return Reply(status, shapes[provider], {name.replace("_", "-"): value for name, value in headers.items()})
