"""What remote tiers ask of a memory that is served: sessions of searches, and reads that go through all entries.

It is one operation beside the table of those for people: what it takes and gives is for a client of the same version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import TypedDict

from septet import __version__
from septet.arguments import listed, shown, utf8, whole
from septet.errors import QueryError, TierError
from septet.federation import Federation
from septet.service.operations import Operation
from septet.service.requests import Request
from septet.service.running import Memory, Serving
from septet.service.tier_sessions import TierSessions
from septet.storage.tables.listings import MOST_ROW
from septet.tiers.protocol import SearchAgain
from septet.tiers.remote.listings import answer_data, asked_of, hidden_of, mirror_data, state_of
from septet.tiers.remote.packing import packed
from septet.tiers.remote.tier import PROTOCOL
from septet.vault import Vault

__all__ = ["TIER", "TierAnswer", "TierCall", "sessions_of"]

MOST_IDS = 100_000


class TierCall(Request):
    """A call of a remote tier: what is asked, and more by name."""

    model_config = {**Request.model_config, "extra": "allow"}

    method: str


class TierAnswer(TypedDict, total=False):
    """What a remote tier is told; ``again`` says why its search has to begin anew."""

    again: str
    answer: Any
"""
