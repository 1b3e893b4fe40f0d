"""Find the fewest changes of a search that make it return an entry, verified by searching again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from septet._core import stop_words
from septet.errors import SeptetError
from septet.model.explanation import Explanation, Remedy
from septet.query.plan import SearchPlan

#: Maximum changes in a remedy; maximum title words tried per change.
MOST_STEPS, MOST_WORDS = 5, 3
#: A limit raised beyond this factor is tried only after words of the title.
NEAR = 10
#: Maximum limit tried.
MOST_RESULTS = 10_000

#: Changed options by name, including ``query``.
Changes: TypeAlias = Mapping[str, Any]


class Attempt(NamedTuple):
    """A search and its explanation of the entry."""

    plan: SearchPlan
    explanation: Explanation


def remedy_of(first: Attempt, options: Changes, title: str, again: Callable[[Changes], Attempt]) -> Remedy | None:
    """Return the changes that make a search return a missing entry; None if no change tried does.

    Args:
        first: the search.
        options: options of the caller, with ``query``.
        title: title of the entry, whose words may be missing in the query.
        again: repeats the search with changes.
    """
    # The reranker must run only once, in the search itself.
    if first.explanation.found or first.plan.reranking is not None:
        return None
    changes: dict[str, Any] = {}
    attempt = first
    try:
        for _ in range(MOST_STEPS):
            step = _best_step(attempt, {**options, **changes}, title, lambda tried: again({**changes, **tried}))
            if step is None:
                return None
            more, attempt = step
            changes.update(more)
            if attempt.explanation.found:
                rank = attempt.explanation.rank
                # The limit affects the candidates: lower it to the rank if the search still returns the entry then.
                if rank is not None and changes.get("limit", 0) > rank:
                    fewer = {**changes, "limit": rank}
                    after = again(fewer)
                    if after.explanation.found:
                        return _remedy(fewer, after, options)
                return _remedy(changes, attempt, options)
    except SeptetError:
        # A change that makes the search invalid is not a remedy.
        return None
    return None


def _best_step(
    attempt: Attempt, options: Changes, title: str, again: Callable[[Changes], Attempt]
) -> tuple[Changes, Attempt] | None:
    """Return the first change that makes the search return the entry, else the one with its best rank."""
    best: tuple[Changes, Attempt] | None = None
    for changes in _changes(attempt, options, title):
        if changes.get("limit", 0) > MOST_RESULTS:
            continue
        after = again(changes)
        if after.explanation.found:
            return changes, after
        if best is None or _place(after) < _place(best[1]):
            best = changes, after
    return best


def _place(attempt: Attempt) -> float:
    return math.inf if attempt.explanation.rank is None else attempt.explanation.rank


def _changes(attempt: Attempt, options: Changes, title: str) -> Iterator[Changes]:
    """Yield the changes that may help, derived from the explanation."""
    explanation = attempt.explanation
    failed = [name for name, passes in explanation.filters.items() if not passes]
    if failed:
        yield _without(failed, options)
    elif explanation.rank is not None:
        yield _higher(attempt, explanation.rank)
    else:
        # A leg takes at least `limit` candidates: a limit of its rank there makes the entry one.
        limits = sorted(leg.rank for leg in explanation.legs if leg.rank is not None)[:1]
        near = bool(limits) and limits[0] <= NEAR * attempt.plan.most_hits
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
            rest = {key: value for key, value in where.items() if key != name[len("where ") :]}
            changes["where"] = None if len(rest) in (0, len(where)) else rest
        elif options.get("words") and name in options["words"]:
            words = changes.get("words", options["words"]) or {}
            changes["words"] = {key: value for key, value in words.items() if key != name} or None
        elif options.get(name) is not None:
            changes[name] = None
        else:
            # The filter comes from operators in the query.
            changes["syntax"] = "plain"
    return changes


def _higher(attempt: Attempt, rank: int) -> Changes:
    """Return the change that lifts the cut that dropped a ranked candidate."""
    plan, explanation = attempt
    if plan.min_score is not None and explanation.score is not None and explanation.score < plan.min_score:
        return {"min_score": _under(explanation.score)}
    if plan.min_confidence is not None and explanation.confidence < plan.min_confidence:
        return {"min_confidence": _under(explanation.confidence)}
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
    """Return words of the title that the query lacks, longest first, as the most specific."""
    known = {*re.findall(r"\w+", query.lower()), *stop_words()}
    words = [word for word in dict.fromkeys(re.findall(r"\w+", title)) if word.lower() not in known]
    return sorted(words, key=len, reverse=True)[:MOST_WORDS]


def _remedy(changes: Changes, attempt: Attempt, options: Changes) -> Remedy:
    steps = [_instruction(name, value, options) for name, value in changes.items()]
    rank = attempt.explanation.rank or 0
    number = "one change" if len(steps) == 1 else f"{len(steps)} changes"
    text = (
        f"It comes back at rank {rank} with {number}: {', '.join(steps[:-1])}{' and ' if steps[1:] else ''}{steps[-1]}."
    )
    return Remedy(changes=dict(changes), rank=rank, text=text)


def _instruction(name: str, value: Any, options: Changes) -> str:
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
    if name == "words":
        return f"leave out {' and '.join(key for key in options['words'] if key not in (value or ()))}"
    if name == "syntax":
        return "treat operators in the query as text (syntax='plain')"
    if value is True or name in ("offset", "diversity"):
        return f"{name}={value}"
    return f"leave out {name}"
