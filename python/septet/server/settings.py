"""Settings of a server: access, limits, logging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from septet.errors import QueryError
from septet.inputs.arguments import shown

#: Scopes in ascending order: searches and reads; changes and tools; metrics, slow searches and sessions of agents.
SCOPES = ("read", "write", "admin")

#: Minimum length of a token, in characters: shorter ones can be guessed.
LEAST_TOKEN = 16


def is_loopback(host: str) -> bool:
    """Return True if an address is reachable only from this machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Access rules and limits of a server.

    Attributes:
        host: the listen address. One that is reachable from other machines requires a token.
        token: the token with the scope ``admin``, sent as ``Authorization: Bearer``; None for none.
        tokens: scopes by further tokens: ``read``, ``write`` or ``admin``.
        allow_hosts: further host names of requests, besides those of this machine.
        max_body: maximum bytes of a body that is one JSON value, and of a line of an NDJSON body.
        body_s: maximum seconds for such a body, and for a pause of an NDJSON body.
        deadline_s: maximum seconds of a request; more gives 504.
        most_requests: maximum number of concurrent requests; more give 503.
        log_queries: True to log queries and paths, not only routes.
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
                f"{shown(self.host)} is reachable from other machines: set a token by --token-file FILE or "
                "SEPTET_TOKEN, or listen at 127.0.0.1"
            )
        tokens = [*self.tokens, *([] if self.token is None else [self.token])]
        if not all(token.isascii() and token.isprintable() and token.strip() for token in tokens):
            raise QueryError("the token is empty or cannot be sent in a header: wanted printable ASCII")
        for scope in self.tokens.values():
            if scope not in SCOPES:
                raise QueryError(f"the scope of a token is {shown(scope)}: wanted one of {', '.join(SCOPES)}")
        for name in ("max_body", "body_s", "deadline_s", "most_requests"):
            if not getattr(self, name) > 0:
                raise QueryError(f"{name} is {shown(getattr(self, name))}: wanted more than 0")

    @property
    def wants_token(self) -> bool:
        """True if requests require a token."""
        return self.token is not None or bool(self.tokens)
