"""Limits: what providers take in one request, and which lengths their models' vectors have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DIMENSIONS", "GEMINI", "OLLAMA", "OPENAI", "OPENAI_COMPATIBLE", "Limits", "voyage_limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold.

    Attributes:
        inputs: the most texts a request may hold.
        batch_size: how many texts a request brings unless the configuration says otherwise.
        tokens: the most tokens of all texts together; None when the provider names no limit.
        tokens_each: the most tokens of one text; None when it depends on the model and the provider says so itself.
        bytes: the most bytes of all texts together, with room for the JSON around them; None for no limit.
    """

    inputs: int
    batch_size: int
    tokens: int | None = None
    tokens_each: int | None = None
    bytes: int | None = None


OPENAI = Limits(inputs=2048, batch_size=2048, tokens=300_000, tokens_each=8192)
#: Self-hosted servers often take no more than 32 texts; a larger batch is split when the server says so.
OPENAI_COMPATIBLE = Limits(inputs=2048, batch_size=32, tokens=300_000, tokens_each=8192)
#: A body may have 4 MiB; escaping and the fields around each text take their share.
GEMINI = Limits(inputs=100, batch_size=100, tokens_each=2048, bytes=2_000_000)
OLLAMA = Limits(inputs=512, batch_size=64)

#: The lengths of vectors when no dimension is asked for.
DIMENSIONS: Mapping[str, Mapping[str, int]] = {
    "openai": {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536},
    "voyage": dict.fromkeys(
        "voyage-4-large voyage-4 voyage-4-lite voyage-3.5 voyage-3.5-lite voyage-3-large voyage-code-3".split(), 1024
    ),
    "gemini": {"gemini-embedding-001": 3072},
}


def voyage_limits(model: str) -> Limits:
    """Return the limits of a Voyage model: 1,000 texts; the tokens depend on the model."""
    if model.endswith("-lite") and not model.startswith("voyage-3-lite"):
        tokens = 1_000_000
    elif model in ("voyage-4", "voyage-3.5"):
        tokens = 320_000
    else:
        tokens = 120_000
    return Limits(1000, 128, tokens, 16_000 if model.startswith("voyage-3-lite") else 32_000)
