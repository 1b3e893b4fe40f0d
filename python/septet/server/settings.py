"""Settings of a server: who may ask, and how much."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server allows.

    Attributes:
        token: what each request has to bring as ``Authorization: Bearer``; None asks for nothing.
        max_body: bytes of a body that is one JSON value.
        deadline_s: seconds that a request may take; more gives 504.
    """

    token: str | None = None
    max_body: int = 1_000_000
    deadline_s: float = 30.0
