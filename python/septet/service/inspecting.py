"""What the operations do that look at a memory as a whole; see `septet.service.running` for those on entries."""

from __future__ import annotations

from typing import Any

from septet.service import around
from septet.service import health as whole
from septet.service.running import Serving, named

__all__ = ["health", "learned", "neighbourhood", "slow_searches"]


def neighbourhood(at: Serving, asked: Any) -> dict[str, Any]:
    """See `septet.service.around.neighbourhood`."""
    return around.neighbourhood(at.blocking, limit=asked.limit, **named(at.blocking, asked, "limit"))


def health(at: Serving, asked: Any) -> dict[str, Any]:
    """See `septet.service.health.health`."""
    return whole.health(at.blocking, folders=asked.folders)


def learned(at: Serving, asked: Any) -> dict[str, Any]:
    """See `septet.service.health.learned`."""
    return whole.learned(at.blocking, **named(at.blocking, asked))


def slow_searches(at: Serving, asked: Any) -> dict[str, Any]:
    """See `septet.service.slow.SlowSearches`."""
    return at.slow.listed()
