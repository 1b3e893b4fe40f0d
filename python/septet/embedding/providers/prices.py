"""Prices of known models, from ``prices.json`` beside this module."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name("prices.json").read_text(encoding="utf-8"))
    return table


def month() -> str:
    """Return the month of the prices, such as ``2026-05``."""
    return str(_table()["month"])


def usd_per_million(provider: str, model: str, *, batch: bool) -> float | None:
    """Return the list price of a million tokens in US dollars, without taxes and free allowances.

    Args:
        batch: the price of the batch API.

    Returns:
        None for an unknown model; 0 for Ollama, which runs on the user's machine.
    """
    if provider == "ollama":
        return 0.0
    prices = _table()["usd_per_million_tokens"].get(provider, {}).get(model)
    return None if prices is None else float(prices["batch" if batch else "requests"])
