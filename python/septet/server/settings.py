"""Settings of a server: who may ask, how much, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from septet.errors import QueryError
from septet.inputs.arguments import shown

__all__ = ["LEAST_TOKEN", "SCOPES", "Settings", "is_loopback"]

#: What a token may be for, each with all before it: searches and reads; changes and tools; figures and slow searches.
SCOPES = ("read", "write", "admin")

#: A shorter token can be guessed.
LEAST_TOKEN = 16


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server allows.

    Attributes:
        host: the address that it listens at. One that others can reach wants a token.
        token: what each request has to bring as ``Authorization: Bearer``; None asks for nothing.
        tokens: further ones, by token the scope: ``read``, ``write`` or ``admin``, which is what `token` has.
        allow_hosts: names beside those of this machine under which it may be asked.
        max_body: bytes of a body that is one JSON value, and of a line of a body that is many.
        body_s: seconds that such a body may take, and that a body of lines may pause.
        deadline_s: seconds that a request may take; more gives 504.
        most_requests: so many are worked on or wait; more give 503.
        log_queries: tell queries and paths in the access log, not only routes.
    """

    host: str = "127.0.0.1"
    token: str | None = None
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow_hosts: tuple[str, ...] = ()
    max_body: int = 1_000_000
    body_s: float = 20.0
    deadline_s: float = 30.0
    most_requests: int = 256
    log_queries: bool = False

    def __post_init__(self) -> None:
        if not self.wants_token and not is_loopback(self.host):
            raise QueryError(
                f"others can reach {shown(self.host)}: give them a token, by --token-file FILE or SEPTET_TOKEN, or "
                "listen at 127.0.0.1"
            )
        given = [*self.tokens, *([] if self.token is None else [self.token])]
        if not all(token.isascii() and token.isprintable() and token.strip() for token in given):
            raise QueryError("the token is empty or holds characters that no header can carry: wanted printable ASCII")
        for scope in self.tokens.values():
            if scope not in SCOPES:
                raise QueryError(f"the scope of a token is {shown(scope)}: known are {', '.join(SCOPES)}")
        for name in ("max_body", "body_s", "deadline_s", "most_requests"):
            if not getattr(self, name) > 0:
                raise QueryError(f"{name} is {shown(getattr(self, name))}: wanted more than 0")

    @property
    def wants_token(self) -> bool:
        """Whether requests have to bring a token."""
        return self.token is not None or bool(self.tokens)
