"""Passages for the context of a language model, within a budget of characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, utf8, whole
from septet.retrieval.planning.policy import Policy, policy_of

__all__ = ["Passage", "Selected", "selected_passages"]

#: So many passages are looked at.
MOST_PASSAGES = 100_000


class Passage(NamedTuple):
    """A text that may go into a context.

    Attributes:
        id: names it.
        text: all of it.
        score: higher is better.
    """

    id: str
    text: str
    score: float


class Selected(NamedTuple):
    """A passage that was selected.

    Attributes:
        id: of the passage.
        text: all of it, or its beginning.
        truncated: its end is missing.
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
    """Return the best passages that fit, the last of them cut to what is left.

    Args:
        passages: in any order; of equal scores the first comes first, and empty ones are left out.
        max_chunks: so many passages at most; by default `Policy.context_max_chunks`, 8.
        max_chars: so many characters at most; by default `Policy.context_max_chars`, 8,000.
        policy: has the defaults.

    Raises:
        QueryError: a budget is negative, a text no text, or a score no finite number.
    """
    policy = policy_of(policy)
    most = policy.context_max_chunks if max_chunks is None else whole(max_chunks, "max_chunks", QueryError, 0)
    left = policy.context_max_chars if max_chars is None else whole(max_chars, "max_chars", QueryError, 0)
    given = listed(passages, "passages", QueryError, "texts, as Passage values", MOST_PASSAGES, of=Passage)
    if wrong := [one for one in given if not isinstance(one, Passage)]:
        raise QueryError(f"passages has {shown(wrong[0])}: wanted Passage(id, text, score)")
    ordered = sorted(given, key=lambda one: -real(one.score, "a score", QueryError))
    selected: list[Selected] = []
    for one in ordered:
        text = utf8(one.text, "a passage", QueryError)
        if len(selected) >= most or left <= 0:
            break
        if text:
            selected.append(Selected(one.id, text[:left], len(text) > left))
            left -= len(text)
    return selected
