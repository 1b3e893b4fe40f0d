"""Calls and answers: what goes over the network and what comes back, without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MAX_ANSWER_BYTES", "Answer", "Call", "TransportError", "bearer", "json_call"]

#: An answer without vectors, such as a status or an error, is far smaller than this.
MAX_ANSWER_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Call:
    """One request, still without a key.

    Attributes:
        headers: what the call itself needs, as its content type.
    """

    method: str
    url: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that came in whole.

    Attributes:
        headers: names in lower case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class TransportError:
    """A request without a whole response: no connection, a cut body, a timeout, too many bytes.

    Attributes:
        cause: what happened, in words; it never contains a key.
        too_large: the body is larger than any answer to the request can be.
    """

    cause: str
    too_large: bool = False


def json_call(url: str, body: Mapping[str, Any]) -> Call:
    """Write a POST with a JSON body. Lone surrogates, which UTF-8 cannot carry, become question marks."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Call("POST", url, text.encode("utf-8", "replace"), {"content-type": "application/json"})


def bearer(key: str) -> Mapping[str, str]:
    """Return the header that most providers take a key in."""
    return {"authorization": f"Bearer {key}"}
