"""Misses: the reason why a corpus did not find an entry."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from septet.errors import QueryError, SeptetError, VectorError
from septet.inputs.arguments import shown
from septet.profiles import ProfileLike
from septet.query.options import Leg, SearchOptions
from septet.retrieval.corpora.legs import leg_profile

if TYPE_CHECKING:
    from septet._core import Repository
    from septet.model.entry import Entry
    from septet.model.explanation import Explanation
    from septet.retrieval.corpus import CorpusRequest
    from septet.retrieval.knowledge import Knowledge

#: The maximum paths of a folder.
MOST_PATHS = 1_000_000
PATH = "path:"
_LEGS: Mapping[Leg, str] = {"text": "by words", "vector": "by vectors"}


class Miss(NamedTuple):
    """The reason why a corpus did not find an entry.

    Attributes:
        reason: in a few words.
        filters: True for each of its filters that the entry passes.
        holds: True if the entry belongs to this corpus, or could.
    """

    reason: str
    filters: Mapping[str, bool] = {}
    holds: bool = True


def missed_kind(entry: Entry) -> Miss:
    """Return the miss of an entry of a kind that belongs to other corpora."""
    return Miss(f"it does not search entries of the kind {shown(entry.kind)}", {"kind": False})


def missed(
    knowledge: Knowledge,
    request: CorpusRequest,
    entry_id: str,
    *,
    limit: int,
    kinds: Collection[str] | None,
    where: Mapping[str, Any] | None = None,
    profile: ProfileLike | None = None,
    together: ProfileLike | None = None,
    memories: bool = False,
    reordered: str = "",
) -> Miss | None:
    """Return why `searched_legs` with these arguments misses an entry; None if unknown.

    Args:
        together: the profile of `searched_together`, if that was used.
        reordered: the remark on a text hit that the corpus drops.

    Raises:
        SeptetError: the vault cannot be read.
    """
    explain = getattr(knowledge, "explain", None)
    entry = knowledge.get(entry_id)
    if explain is None or entry is None:
        return None
    if kinds is not None and entry.kind not in kinds:
        return missed_kind(entry)
    ranked_by = together or profile
    options: SearchOptions = {"limit": limit, "profile": leg_profile() if ranked_by is None else ranked_by}
    if memories:
        options["include_memories"] = True
    if kinds is not None:
        options["kinds"] = list(kinds)
    if where:
        options["where"] = where
    if request.vector is not None:
        options |= {"query_vector": request.vector, "model": request.model}
    reasons: list[str] = []
    filters: Mapping[str, bool] = {}
    for leg in cast("tuple[Leg, ...]", tuple(_LEGS)):
        if request.mode == ("vector" if leg == "text" else "full_text"):
            continue
        try:
            explanation: Explanation = explain(request.query, entry_id, **options, legs=leg)
        except (QueryError, VectorError):
            # There is no vector to compare with.
            continue
        filters = explanation.filters
        if failed := [name for name, ok in filters.items() if not ok]:
            return Miss(f"it does not pass {' nor '.join(failed)}", filters)
        reasons.append(f"{_LEGS[leg]}: {_place(explanation, limit, reordered)}")
    if together is not None and len(reasons) == len(_LEGS):
        # The rank in one leg does not explain the rank in both.
        rank = explain(request.query, entry_id, **options).rank
        if rank is not None and rank > limit:
            reasons.insert(0, f"rank {rank} by both, and {limit} are listed")
    return Miss("; ".join(reasons) or "there is nothing to compare it with", filters)


def _place(explanation: Explanation, limit: int, reordered: str) -> str:
    leg = next(iter(explanation.legs), None)
    rank = explanation.rank or (None if leg is None else leg.rank)
    if leg is None or rank is None:
        return explanation.reason if leg is None else leg.detail
    return f"rank {rank} of {leg.of}, and {limit} are listed" if rank > limit else f"rank {rank} of {leg.of}{reordered}"


def missed_path(entry_id: str, folder: str, known: Repository, scores: Mapping[str, float], limit: int) -> Miss | None:
    """Return why a file is not among the best of an inventory; None if the id is not that of a path.

    Args:
        entry_id: ``path:`` and the path below the folder.
        folder: its path.
        known: the scan of the folder.
        scores: of every path that contains a word of the query, best first.
        limit: maximum length of the list.
    """
    if not entry_id.startswith(PATH):
        return None
    path = entry_id.removeprefix(PATH)
    try:
        listed = path in dict(known.paths([path.lower()], MOST_PATHS))
        real = os.path.realpath(os.path.join(folder, path))  # noqa: PTH118 - text
        inside = real.startswith(os.path.join(folder, ""))  # noqa: PTH118
        there = inside and os.path.isfile(real)  # noqa: PTH113
    except (OSError, ValueError, SeptetError):
        return None
    if not inside:
        return Miss("it is not below the folder", {"folder": False}, holds=False)
    if not listed and there:
        more = "; the folder has more files than the maximum" if known.cut == "files" else ""
        late = "; the folder was not scanned completely in time" if known.cut == "time" else ""
        return Miss(f"rules of .gitignore or names to skip exclude it, or it is a link{more}{late}", {"rules": False})
    if not listed:
        return Miss("there is no such file", {}, holds=False)
    if path not in scores:
        return Miss("its path holds no word of the query")
    return Miss(f"rank {[*scores].index(path) + 1} of {len(scores)} by its path, and {limit} are listed")
