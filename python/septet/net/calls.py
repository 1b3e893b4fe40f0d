"""HTTP requests, answers and faults as values, without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

#: Maximum answer by default; answers without vectors, such as errors, are far smaller.
MAX_ANSWER_BYTES = 16 * 2**20

#: Kind of a fault: no answer in time; no connection; a lost connection; a request that cannot be sent; an answer that
#: is too large, in an encoding that was not requested, unreadable, or has an error status; a proxy that httpx cannot
#: use; a call after closing.
FaultKind: TypeAlias = Literal[
    "timeout", "unreachable", "broken", "invalid", "too_large", "encoding", "garbled", "status", "proxy", "closed"
]


class NetFault(Exception):
    """A call failed. Each user raises its own error instead.

    Attributes:
        kind: see `FaultKind`.
        status: of the answer; 401 for a key that was refused with another status; None without an answer.
        passing: a retry may help.
        quota: this key has no quota left; another one may.
        limited: the service limits the rate of this key.
        too_long: a smaller request may pass.
        wait_s: the wait that the service requests; None without a hint.
    """

    def __init__(
        self,
        message: str,
        kind: FaultKind,
        *,
        status: int | None = None,
        passing: bool = False,
        quota: bool = False,
        limited: bool = False,
        too_long: bool = False,
        wait_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.status, self.wait_s = status, wait_s
        self.passing, self.quota, self.limited, self.too_long = passing, quota, limited, too_long

    def __repr__(self) -> str:
        # The message may echo a key until it is scrubbed.
        return f"NetFault({self.kind!r}, status={self.status})"

    @property
    def cause(self) -> str:
        """The message without its first words, such as ``broke off``."""
        return str(self).partition(": ")[2] or str(self)

    def with_message(self, message: str) -> NetFault:
        """Return the fault with another message."""
        return NetFault(
            message, self.kind, status=self.status, passing=self.passing, too_long=self.too_long, wait_s=self.wait_s
        )


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
class Send:
    """A call with the headers of its key, to be answered within `timeout_s` by at most `max_bytes`."""

    call: Call
    key_headers: Mapping[str, str]
    timeout_s: float
    max_bytes: int

    def __repr__(self) -> str:
        return f"Send({self.call.method} {self.call.url})"


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


def json_call(url: str, body: Mapping[str, Any]) -> Call:
    """Write a POST with a JSON body. Lone surrogates, which UTF-8 cannot encode, become question marks."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Call("POST", url, text.encode("utf-8", "replace"), {"content-type": "application/json"})


def bearer(key: str) -> Mapping[str, str]:
    """Return the header in which most services accept a key."""
    return {"authorization": f"Bearer {key}"}
