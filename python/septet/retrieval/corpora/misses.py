"""Misses: why a corpus did not find an entry, in its own words."""

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
    from septet.retrieval.corpus import Asked
    from septet.retrieval.knowledge import Knowledge

__all__ = ["Miss", "missed", "missed_kind", "missed_path"]

#: As many paths as a folder may have.
MOST_PATHS = 1_000_000
PATH = "path:"
_LEGS: Mapping[Leg, str] = {"text": "by words", "vector": "by vectors"}


class Miss(NamedTuple):
    """Why a corpus did not find an entry.

    Attributes:
        reason: in a few words.
        filters: each of its filters, and whether the entry passes it.
        holds: whether the entry is one of this corpus, or could be.
    """

    reason: str
    filters: Mapping[str, bool] = {}
    holds: bool = True


def missed_kind(entry: Entry) -> Miss:
    """Return the miss of an entry whose kind a corpus leaves to others."""
    return Miss(f"entries of the kind {shown(entry.kind)} are not its own", {"kind": False})


def missed(
    knowledge: Knowledge,
    asked: Asked,
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
    """Return why `searched_legs` with these arguments does not bring an entry; None where the store cannot tell.

    Args:
        together: the profile of `searched_together`, if that was asked.
        reordered: what is said of an entry that they bring by words, and that the corpus leaves out.

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
    if asked.vector is not None:
        options |= {"query_vector": asked.vector, "model": asked.model}
    reasons: list[str] = []
    filters: Mapping[str, bool] = {}
    for leg in cast("tuple[Leg, ...]", tuple(_LEGS)):
        if asked.mode == ("vector" if leg == "text" else "full_text"):
            continue
        try:
            told: Explanation = explain(asked.query, entry_id, **options, legs=leg)
        except (QueryError, VectorError):
            # Nothing to compare vectors with.
            continue
        filters = told.filters
        if failed := [name for name, ok in filters.items() if not ok]:
            return Miss(f"it does not pass {' nor '.join(failed)}", filters)
        reasons.append(f"{_LEGS[leg]}: {_place(told, limit, reordered)}")
    if together is not None and len(reasons) == len(_LEGS):
        # A place by one leg alone does not say why there is none by both.
        rank = explain(asked.query, entry_id, **options).rank
        if rank is not None and rank > limit:
            reasons.insert(0, f"rank {rank} by both, and {limit} are listed")
    return Miss("; ".join(reasons) or "there is nothing to compare it with", filters)


def _place(told: Explanation, limit: int, reordered: str) -> str:
    leg = next(iter(told.legs), None)
    rank = told.rank or (None if leg is None else leg.rank)
    if leg is None or rank is None:
        return told.reason if leg is None else leg.detail
    return f"rank {rank} of {leg.of}, and {limit} are listed" if rank > limit else f"rank {rank} of {leg.of}{reordered}"


def missed_path(entry_id: str, folder: str, known: Repository, scores: Mapping[str, float], limit: int) -> Miss | None:
    """Return why a file is not among the best of an inventory; None where the id is that of no path.

    Args:
        entry_id: ``path:`` and the path below the folder.
        folder: its path.
        known: what is known of it.
        scores: of every path that holds a word of the query, the best first.
        limit: so many are listed.
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
        more = "; the folder has more files than are looked at" if known.cut == "files" else ""
        late = "; there was no time to look at all of the folder" if known.cut == "time" else ""
        return Miss(
            f"rules of .gitignore, or names to skip, leave it out, or it is a link{more}{late}", {"rules": False}
        )
    if not listed:
        return Miss("there is no such file", {}, holds=False)
    if path not in scores:
        return Miss("its path holds no word of the query")
    return Miss(f"rank {[*scores].index(path) + 1} of {len(scores)} by its path, and {limit} are listed")
