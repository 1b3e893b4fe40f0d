"""The waves of one retrieval and their outcomes, kept for explanations."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from septet.retrieval.corpus import Asked
from septet.retrieval.judging import Judgement
from septet.retrieval.ordering import Ordered
from septet.retrieval.waves import Wave

__all__ = ["Reason", "Round"]

#: The reason of a wave.
Reason: TypeAlias = Literal["query", "verification", "corrective", "follow_up"]


class Round(NamedTuple):
    """One wave and its outcome.

    Attributes:
        reason: kind of the wave.
        query: the query; other phrasings are in the wave.
        why: documented reason of a further wave, such as ``weak_evidence_quality``.
        wave: the replies.
        ordered: the order of the replies; for corrections and follow-ups, with the replies of earlier waves.
        judgement: the evidence and the confidence.
        used: True if the hits come from it.
        request: the request with the original phrasing.
    """

    reason: Reason
    query: str
    why: str
    wave: Wave
    ordered: Ordered
    judgement: Judgement
    used: bool
    request: Asked
