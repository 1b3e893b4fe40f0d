"""Calls and answers: HTTP requests and responses as values, without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: Maximum answer by default; answers without vectors, such as errors, are far smaller.
MAX_ANSWER_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Call:
    """One request, without a key.

    Attributes:
        headers: such as the content type.
    """

    method: str
    url: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response.

    Attributes:
        headers: by name in lower case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | bytearray

    def __repr__(self) -> str:
        # Either may echo a key.
        return f"Answer({self.status}, {len(self.headers)} headers, {len(self.body)} bytes)"


@dataclass(frozen=True, slots=True)
class TransportError:
    """The failure of a request without a complete response: no connection, a truncated body, a timeout, a large body.

    Attributes:
        cause: a message. It never contains API keys.
        too_large: the body is larger than any answer to the request can be.
    """

    cause: str
    too_large: bool = False


def json_call(url: str, body: Mapping[str, Any]) -> Call:
    """Write a POST with a JSON body. Lone surrogates, which UTF-8 cannot encode, become question marks."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Call("POST", url, text.encode("utf-8", "replace"), {"content-type": "application/json"})


def bearer(key: str) -> Mapping[str, str]:
    """Return the header in which most providers accept a key."""
    return {"authorization": f"Bearer {key}"}
