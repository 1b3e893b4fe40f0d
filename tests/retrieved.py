"""Hits made by hand, for tests of what is done with them."""

from __future__ import annotations

from typing import Any

from septet.model.drafts import draft
from septet.model.results import Hit, hits_of


def hit(entry_id: str, score: float = 1.0, *, tier: str = "notes", **fields: Any) -> Hit:
    """Return a hit with a whole entry of these fields."""
    entry = draft({"id": entry_id, "title": fields.pop("title", entry_id), **fields}, now=0.0).entry
    return hits_of([entry], [(score, tier, {}, {}, 0.0, {})], full=True)[0]
