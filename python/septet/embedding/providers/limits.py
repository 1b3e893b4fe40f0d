"""Limits of a provider's requests, and the dimensions of its models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request.

    Attributes:
        inputs: maximum texts.
        batch_size: the texts per request unless configured otherwise.
        tokens: maximum tokens of all texts together; None without a stated limit.
        tokens_each: maximum tokens of one text; None if it depends on the model and the provider reports it.
        bytes: maximum bytes of all texts together, with room for the JSON around them; None without a limit.
    """

    inputs: int
    batch_size: int
    tokens: int | None = None
    tokens_each: int | None = None
    bytes: int | None = None


OPENAI = Limits(inputs=2048, batch_size=2048, tokens=300_000, tokens_each=8192)
#: Self-hosted servers often accept only 32 texts; a larger batch is split when the server refuses it.
OPENAI_COMPATIBLE = Limits(inputs=2048, batch_size=32, tokens=300_000, tokens_each=8192)
#: The body's limit is 4 MiB, including escapes and the fields around each text.
GEMINI = Limits(inputs=100, batch_size=100, tokens_each=2048, bytes=2_000_000)
OLLAMA = Limits(inputs=512, batch_size=64)

#: Dimensions when none is requested.
DIMENSIONS: Mapping[str, Mapping[str, int]] = {
    "openai": {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536},
    "voyage": dict.fromkeys(
        "voyage-4-large voyage-4 voyage-4-lite voyage-3.5 voyage-3.5-lite voyage-3-large voyage-code-3".split(), 1024
    ),
    "gemini": {"gemini-embedding-001": 3072},
}


def voyage_limits(model: str) -> Limits:
    """Return the limits of a Voyage model: 1,000 texts; the number of tokens depends on the model."""
    if model.endswith("-lite") and not model.startswith("voyage-3-lite"):
        tokens = 1_000_000
    elif model in ("voyage-4", "voyage-3.5"):
        tokens = 320_000
    else:
        tokens = 120_000
    return Limits(1000, 128, tokens, 16_000 if model.startswith("voyage-3-lite") else 32_000)
