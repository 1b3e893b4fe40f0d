"""Rounds: the waves of one retrieval with what came of each, kept for explanations."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from septet.retrieval.corpus import Asked
from septet.retrieval.judging import Judged
from septet.retrieval.ordering import Ordered
from septet.retrieval.waves import Wave

__all__ = ["Reason", "Round"]

#: Why a wave was asked.
Reason: TypeAlias = Literal["query", "verification", "corrective", "follow_up"]


class Round(NamedTuple):
    """One wave, and what came of it.

    Attributes:
        reason: why it was asked.
        query: what was asked; the other phrasings are in the wave.
        why: of a further wave the documented reason, such as ``weak_evidence_quality``.
        wave: the answers.
        ordered: the order that they make; of corrections and follow-ups together with the answers of the waves before.
        judged: how good it is.
        kept: whether the hits come from it.
        asked: the original phrasing, as it was asked.
    """

    reason: Reason
    query: str
    why: str
    wave: Wave
    ordered: Ordered
    judged: Judged
    kept: bool
    asked: Asked
