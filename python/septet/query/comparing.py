"""Two statements compared: a new fact, the same one, a change of it, or its denial. No model of language is asked."""

from __future__ import annotations

from math import exp, log1p
from typing import NamedTuple

from septet.profiles.statements import COMPARING
from septet.query.lexicon import COMMON, MANY, ROLES
from septet.query.statements import Claim, Value

#: Most differing words shown in a reason, and characters of each.
_SHOWN, _SHOWN_CHARS = 3, 40
#: Maximum words that differ which are counted, and that may be the value of one attribute.
_MOST_LEFT, _MOST_SLOT = 5, 3


class Verdict(NamedTuple):
    """The relation of a new statement to an older one.

    Attributes:
        verdict: ``same``; ``changes``, with another value; ``contradicts``, a denial; or ``new``, of something else.
        probability: that of the verdict, 0 to 1.
        reason: the difference in a short clause.
        probabilities: by verdict; their sum is 1.
    """

    verdict: str
    probability: float
    reason: str
    probabilities: dict[str, float]


def compared(new: Claim, old: Claim) -> Verdict:
    """Compare a new statement with an older one.

    ``same`` is symmetric: two statements are the same in both orders or in none. Vectors find candidates, and have no
    say here: their cosines differ from model to model, and are high for texts that differ in a number alone.
    """
    same, others = features(new, old)
    is_same = 1.0 if new.tokens == old.tokens else _logistic(COMPARING.same, same)
    if _is_replaced(new, old) or (new.names - old.words.keys() and old.names - new.words.keys()):
        is_same = 0.0
    shares = {verdict: exp(_sum(weights, others)) for verdict, weights in COMPARING.others.items()}
    if _begin_apart(new, old):
        # A denial of another subject: `Ann reviews no changes`, `Bob reviews changes`.
        shares["contradicts"] = 0.0
    if _holds_several(new, old):
        shares["changes"] = 0.0
    total = sum(shares.values())
    probabilities = {"same": is_same, **{name: (1 - is_same) * share / total for name, share in shares.items()}}
    verdict = "same" if is_same >= COMPARING.least_same else max(shares, key=lambda name: shares[name])
    return Verdict(verdict, probabilities[verdict], _reason(verdict, new, old), probabilities)


def features(new: Claim, old: Claim) -> tuple[list[float], list[float]]:
    """Return the features of the model of ``same``, which are symmetric, and those of the other verdicts."""
    new_all, old_all = _parts(new), _parts(old)
    shared = new_all & old_all
    small, large = sorted((len(new_all), len(old_all)))
    held, covered = (len(shared) / small, len(shared) / large) if small else (float(not large), float(not large))
    left_new, left_old = len(new.words.keys() - old.words.keys()), len(old.words.keys() - new.words.keys())
    least, most = min(left_new, left_old, _MOST_LEFT), min(max(left_new, left_old), _MOST_LEFT)
    own_new, own_old = (len(_rare(a) - _rare(b)) for a, b in ((new, old), (old, new)))
    rare_least, rare_most = min(own_new, own_old, _MOST_LEFT), min(max(own_new, own_old), _MOST_LEFT)
    replaced = bool(replaced_values(new, old))
    alone = len(new.values.keys() ^ old.values.keys())
    equal = bool(new.values) and not alone
    turned = ((new.denials > 0) != (old.denials > 0)) != bool((new.opposites ^ old.opposites) & shared)
    apart = bool(new.subject - old_all and old.subject - new_all)
    asks = new.asks != old.asks
    several = bool(shared & MANY)
    role = bool(shared & ROLES)
    words = new.words.keys() & old.words.keys()
    attributes = min(len(words - new.subject - old.subject), _MOST_SLOT)
    slot = not replaced and 0 < own_new <= _MOST_SLOT and 0 < own_old <= _MOST_SLOT
    changes = new.changes and not (old.changes and not replaced)
    longer = log1p(large) - log1p(small)
    nothing = not (replaced or rare_least or turned)
    over = bool(new.former & old_all)
    same = [
        1.0, held, covered, covered * covered, float(replaced), float(min(alone, _MOST_LEFT)), float(least),
        float(most), float(turned), float(apart), float(asks), longer, float(new.changes != old.changes),
        float(new_all == old_all), float(min(len(words), _MOST_LEFT)), float(equal), equal * held, float(rare_least),
        float(rare_most), float(attributes), float(not rare_least), float(several),
        float(over or bool(old.former & new_all)),
    ]  # fmt: skip
    others = [
        1.0, held, covered, float(replaced), replaced * held, float(slot), float(least), float(most), float(turned),
        turned * held, float(apart), float(apart and role), float(apart and replaced), float(changes), changes * held,
        changes * float(apart), float(asks), float(several), float(slot and several), longer,
        float(min(left_old, _MOST_LEFT)), float(role and slot), float(changes and turned),
        float(min(len(words), _MOST_LEFT)), float(equal), float(rare_least), float(rare_most), float(attributes),
        slot * attributes, replaced * attributes, replaced * rare_least, turned * rare_least, float(nothing),
        float(over), float(changes and slot), turned * float(replaced), turned * float(min(alone, _MOST_LEFT)),
        turned * float(rare_most), float(replaced and not rare_most),
        float(replaced and not most), float(slot and least == most),
    ]  # fmt: skip
    return same, others


def replaced_values(new: Claim, old: Claim) -> list[tuple[Value, Value]]:
    """Return pairs of an older value and the newer one of its kind, of values that one statement has alone."""
    return [
        (before, after)
        for key, before in old.values.items()
        if key not in new.values
        for other, after in new.values.items()
        if other not in old.values and after.kind == before.kind
    ]


def _is_replaced(new: Claim, old: Claim) -> bool:
    """Return True if a single word differs, and the others stand in one order: `the red team`, `the blue team`."""
    pairs = [(mine, other) for mine, other in zip(new.words, old.words) if mine != other]
    return len(new.words) == len(old.words) and len(pairs) == 1 and not COMMON.issuperset(pairs[0])


def _holds_several(new: Claim, old: Claim) -> bool:
    """Return True if one holder has two things, and neither text says that one ended: `Bob owns A`, `Bob owns B`."""
    # `is led by` has the holder at its end.
    holds = bool(new.words.keys() & old.words.keys() & (ROLES - new.subject)) and "by" not in new.tokens
    return holds and bool(new.subject) and new.subject == old.subject and not new.changes


def _begin_apart(new: Claim, old: Claim) -> bool:
    """Return True if the first word of each is not in the other."""
    first_new, first_old = next(iter(new.words), None), next(iter(old.words), None)
    return first_new not in old.words and first_old not in new.words


def _parts(statement: Claim) -> set[str]:
    return {*statement.words, *(key for _, key in statement.values)}


def _rare(statement: Claim) -> set[str]:
    """Return the stems that are neither common verbs nor have synonyms."""
    return statement.words.keys() - COMMON


def _logistic(weights: tuple[float, ...], values: list[float]) -> float:
    return 1 / (1 + exp(-_sum(weights, values)))


def _sum(weights: tuple[float, ...], values: list[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def _reason(verdict: str, new: Claim, old: Claim) -> str:
    """Return a short clause on a verdict."""
    if verdict == "same":
        return "the same words and values" if _parts(new) == _parts(old) else "the same in other words"
    if verdict == "contradicts":
        return "one denies what the other states"
    if verdict == "new":
        return "another subject or attribute"
    pairs = replaced_values(new, old)
    before = [pair[0].text for pair in pairs[:1]] or [text for stem, text in old.words.items() if stem not in new.words]
    after = [pair[1].text for pair in pairs[:1]] or [text for stem, text in new.words.items() if stem not in old.words]
    return f"{_shown(before)} → {_shown(after)}" if before and after else "a word of change"


def _shown(words: list[str]) -> str:
    return " ".join(word[:_SHOWN_CHARS] for word in words[:_SHOWN])
