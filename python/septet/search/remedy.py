"""What would have brought an entry back: the one change of the search, or the few that it takes, tried before told."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from septet._core import stop_words
from septet.errors import SeptetError
from septet.model.explanation import Explanation, Remedy
from septet.query.plan import Plan

__all__ = ["Tried", "remedy_of"]

#: So many steps are taken, and so many words of the title tried.
MOST_STEPS, MOST_WORDS = 5, 3
#: A limit of more than so many times that of the search is asked for only where no word helps.
NEAR = 10
#: No change asks for more results than this.
MOST_RESULTS = 10_000

#: Options that are other than they were, by name; ``query`` is one of them.
Changes: TypeAlias = Mapping[str, Any]


class Tried(NamedTuple):
    """A search, and what became of the entry in it."""

    plan: Plan
    told: Explanation


def remedy_of(first: Tried, options: Changes, title: str, again: Callable[[Changes], Tried]) -> Remedy | None:
    """Return what brings an entry back that a search does not return; None if nothing does that was tried.

    Args:
        first: the search.
        options: as the caller named them, with ``query``.
        title: the entry's, whose words may be missing in the query.
        again: does the search with changes.
    """
    # Who scores the best anew is asked once, by the search itself.
    if first.told.found or first.plan.reranking is not None:
        return None
    changes: dict[str, Any] = {}
    tried = first
    try:
        for _ in range(MOST_STEPS):
            step = _best_step(tried, {**options, **changes}, title, lambda more: again({**changes, **more}))
            if step is None:
                return None
            changes.update(step[0])
            tried = step[1]
            if tried.told.found:
                return _told(_least(changes, tried, again), options)
    except SeptetError:
        # What cannot be asked brings nothing back.
        return None
    return None


def _best_step(
    tried: Tried, options: Changes, title: str, again: Callable[[Changes], Tried]
) -> tuple[Changes, Tried] | None:
    """Return the first change that brings the entry back, else the one that brings it nearest; None for none."""
    best: tuple[Changes, Tried] | None = None
    for changes in _changes(tried, options, title):
        if changes.get("limit", 0) > MOST_RESULTS:
            continue
        after = again(changes)
        if after.told.found:
            return changes, after
        if best is None or _place(after) < _place(best[1]):
            best = changes, after
    return best


def _place(tried: Tried) -> float:
    return math.inf if tried.told.rank is None else tried.told.rank


def _changes(tried: Tried, options: Changes, title: str) -> Iterator[Changes]:
    """Yield the changes that may help, from what the explanation says."""
    told = tried.told
    failed = [name for name, passes in told.filters.items() if not passes]
    if failed:
        yield _without(failed, options)
    elif told.rank is not None:
        yield _higher(tried, told.rank)
    else:
        # What matches in a leg is a candidate with a limit of its rank there: a leg takes as many at least.
        limits = sorted(leg.rank for leg in told.legs if leg.rank is not None)[:1]
        near = bool(limits) and limits[0] <= NEAR * tried.plan.most_hits
        if near:
            yield {"limit": limits[0]}
        if options.get("legs") is not None:
            yield {"legs": None}
        for word in _words(title, options["query"]):
            yield {"query": f"{options['query']} {word}".strip()}
        if limits and not near:
            yield {"limit": limits[0]}


def _without(failed: Sequence[str], options: Changes) -> Changes:
    changes: dict[str, Any] = {}
    for name in failed:
        if name == "valid":
            changes["include_expired"] = True
        elif name == "kind":
            changes["include_memories"] = True
        elif name.startswith("where ") and options.get("where") is not None:
            where = changes.get("where", options["where"]) or {}
            left = {key: value for key, value in where.items() if key != name[len("where ") :]}
            changes["where"] = None if len(left) in (0, len(where)) else left
        elif options.get(name) not in (None, False):
            changes[name] = None if name != "prefix" else False
        else:
            # The signs of the query ask for it.
            changes["syntax"] = "plain"
    return changes


def _higher(tried: Tried, rank: int) -> Changes:
    """Return what lets a candidate through that is ranked and does not come back."""
    plan, told = tried
    if plan.min_score is not None and told.score is not None and told.score < plan.min_score:
        return {"min_score": _under(told.score)}
    if plan.min_confidence is not None and told.confidence < plan.min_confidence:
        return {"min_confidence": _under(told.confidence)}
    if plan.offset:
        return {"offset": 0}
    if rank > plan.most_hits:
        return {"limit": rank}
    if plan.diversity:
        return {"diversity": 0.0}
    return {"max_tokens": None} if plan.max_tokens is not None else {"group_by": None}


def _under(value: float) -> float:
    return math.floor(value * 10_000) / 10_000


def _words(title: str, query: str) -> list[str]:
    """Return words of the title that the query lacks, the longest first: they tell most."""
    known = {*re.findall(r"\w+", query.lower()), *stop_words()}
    words = [word for word in dict.fromkeys(re.findall(r"\w+", title)) if word.lower() not in known]
    return sorted(words, key=len, reverse=True)[:MOST_WORDS]


def _least(changes: dict[str, Any], tried: Tried, again: Callable[[Changes], Tried]) -> tuple[Changes, Tried]:
    """Return the changes with no higher limit than needed: another one compares other candidates, so it is tried."""
    rank = tried.told.rank
    if rank is not None and changes.get("limit", 0) > rank:
        fewer = {**changes, "limit": rank}
        after = again(fewer)
        if after.told.found:
            return fewer, after
    return changes, tried


def _told(found: tuple[Changes, Tried], options: Changes) -> Remedy:
    changes, tried = found
    said = [_said(name, value, options) for name, value in changes.items()]
    rank = tried.told.rank or 0
    how = "one change" if len(said) == 1 else f"{len(said)} changes"
    text = f"It comes back at rank {rank} with {how}: {', '.join(said[:-1])}{' and ' if said[1:] else ''}{said[-1]}."
    return Remedy(changes=dict(changes), rank=rank, text=text)


def _said(name: str, value: Any, options: Changes) -> str:
    if name == "query":
        before = options["query"].strip()
        return f"add the word {value.removeprefix(before).strip()!r} to the query"
    if name == "limit":
        return f"raise limit to {value}"
    if name in ("min_score", "min_confidence"):
        return f"lower {name} to {value:g}"
    if name == "where" and value is not None:
        dropped = " and ".join(repr(key) for key in options["where"] if key not in value)
        return f"leave {dropped} out of where"
    if name == "syntax":
        return "take the signs of the query as text (syntax='plain')"
    if value is True or name in ("offset", "diversity"):
        return f"{name}={value}"
    return f"leave out {name}"
