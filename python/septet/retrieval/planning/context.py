"""Passages for the context of a language model, within a budget of characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, utf8, whole
from septet.retrieval.planning.policy import Policy, policy_of

MOST_PASSAGES = 100_000


class Passage(NamedTuple):
    """A candidate text for a context.

    Attributes:
        id: identifier of the passage.
        text: the whole text.
        score: higher is better.
    """

    id: str
    text: str
    score: float


class Selected(NamedTuple):
    """A selected passage.

    Attributes:
        id: of the passage.
        text: the whole text, or its beginning.
        truncated: True if the end is cut off.
    """

    id: str
    text: str
    truncated: bool


def selected_passages(
    passages: Iterable[Passage],
    *,
    max_chunks: int | None = None,
    max_chars: int | None = None,
    policy: Policy | None = None,
) -> list[Selected]:
    """Return the best passages that fit, the last one cut to the remaining budget.

    Args:
        passages: in any order; ties keep this order, and empty passages are skipped.
        max_chunks: maximum passages; by default `Policy.context_max_chunks`, 8.
        max_chars: maximum characters; by default `Policy.context_max_chars`, 8,000.
        policy: has the defaults.

    Raises:
        QueryError: a budget is negative, a text is not a string, or a score is not finite.
    """
    policy = policy_of(policy)
    most = policy.context_max_chunks if max_chunks is None else whole(max_chunks, "max_chunks", QueryError, 0)
    budget = policy.context_max_chars if max_chars is None else whole(max_chars, "max_chars", QueryError, 0)
    candidates = listed(passages, "passages", QueryError, "texts, as Passage values", MOST_PASSAGES, of=Passage)
    if wrong := [passage for passage in candidates if not isinstance(passage, Passage)]:
        raise QueryError(f"passages has {shown(wrong[0])}: wanted Passage(id, text, score)")
    ordered = sorted(candidates, key=lambda passage: -real(passage.score, "a score", QueryError))
    selected: list[Selected] = []
    for passage in ordered:
        text = utf8(passage.text, "a passage", QueryError)
        if len(selected) >= most or budget <= 0:
            break
        if text:
            selected.append(Selected(passage.id, text[:budget], len(text) > budget))
            budget -= len(text)
    return selected
