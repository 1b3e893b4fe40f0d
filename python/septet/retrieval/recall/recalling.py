"""The lists of a recall: what its sources answered, and further lists of the same candidates in other orders.

A further list is a `ListRule`: a sort key over hits, for each list of words by itself or over everything found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import shown
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.fusion import FusedItem, fused_lists
from septet.retrieval.recall.wording import exact_matches, kept_words

if TYPE_CHECKING:
    from septet.model.entry import Entry
    from septet.model.results import Hit
    from septet.retrieval.recall.settings import RecallSettings, SourceSettings

__all__ = ["EVERYTHING", "WITHIN", "ListRule", "recall", "recall_lists", "within_of"]

#: What a recall may be narrowed to, as ``scope={"within": …}``.
WITHIN = ("all", "session", "project", "knowledge")
#: The name of what lists over all candidates belong to.
EVERYTHING = "recall"
TEXT, VECTOR = "text", "vector"
SECONDS_A_DAY = 86_400.0
#: Ages of summaries count up to so many days, and so much.
MOST_AGE_DAYS, AGE_SHARE = 90.0, 0.1

#: Says where a hit stands in a list: the highest first; None, or NaN, leaves it out.
SortKey: TypeAlias = Callable[["Hit"], "float | None"]
#: Says it of all candidates of a list at once, in their order.
SortKeys: TypeAlias = Callable[["Sequence[Hit]"], "Iterable[float | None]"]


class ListRule(NamedTuple):
    """A further list: the same candidates, sorted by something else.

    Attributes:
        name: tells it from others.
        key: what they are sorted by; equal ones stay as they are. None for ``keys``.
        weight: what a rank in it counts.
        over: ``list`` makes one of each list of words, ``all`` one of everything found, each once.
        corpora: of whose candidates; None for all.
        least: so many candidates are needed.
        keys: what all candidates of a list are sorted by, in one call.
    """

    name: str
    key: SortKey | None
    weight: float = 1.0
    over: Literal["list", "all"] = "all"
    corpora: frozenset[str] | None = None
    least: int = 1
    keys: SortKeys | None = None


def recall(
    lists: Sequence[RankedList],
    settings: RecallSettings,
    *,
    query: str,
    now: float,
    scope: Mapping[str, object] | None = None,
    rules: Iterable[ListRule] = (),
) -> list[FusedItem]:
    """Fuse what sources answered as documented: reciprocal ranks from 0, k 60, cut to three times ``recallLimit``.

    The arguments, and what is raised, are those of `recall_lists`.
    """
    made = recall_lists(lists, settings, query=query, now=now, scope=scope, rules=rules)
    return fused_lists(made, k=settings.rrf_k, first_rank=0, limit=settings.most_results * settings.limit)


def recall_lists(
    lists: Sequence[RankedList],
    settings: RecallSettings,
    *,
    query: str,
    now: float,
    scope: Mapping[str, object] | None = None,
    rules: Iterable[ListRule] = (),
) -> list[RankedList]:
    """Return the lists that count, with their weights, in the documented order; empty ones are left out.

    For each phrasing the lists of words, each followed by its further lists; then those of vectors; then those over
    everything found. Where there are more than ``most_lists``, the last ones of other phrasings go first.

    Args:
        lists: what the sources answered: ``text`` and ``vector``, by source and phrasing.
        settings: which lists count, and how much.
        query: the original phrasing.
        now: the present, epoch seconds; ages are counted from it.
        scope: ``within`` (all, session, project, knowledge) and ``session``, the one that asks.
        rules: further lists, beside the documented ones.

    Raises:
        QueryError: ``within`` is none of these, or what asks has no session.
    """
    within = within_of(scope)
    sources = {source.name: source for source in settings.sources}
    words = kept_words(query)
    further = [*_documented(settings, words, within, scope or {}, now), *rules]
    has_session = False
    made: list[RankedList] = []
    for variant in sorted({one.variant for one in lists}):
        own = [one for one in lists if one.variant == variant and one.name != VECTOR]
        has_session |= any(one.items for one in own if _role(sources, one) == "session")
        for one in own:
            share = _share(settings, sources, one, within, has_session)
            made.append(one._replace(weight=one.weight * settings.lists.text * share))
        for rule in further:
            if rule.over == "list":
                made += [_list(rule, one, one.items) for one in own if one.name == TEXT and _concerns(rule, one)]
    boost = settings.vector_boost_weight if len(words) >= settings.vector_boost_min_terms else 1.0
    for one in lists:
        if one.name == VECTOR and within != "session":
            share = _share(settings, sources, one, within, has_session)
            made.append(one._replace(weight=one.weight * settings.lists.vector * boost * share))
    for rule in further:
        if rule.over == "all":
            found = {item.key: item for one in lists if _concerns(rule, one) for item in reversed(one.items)}
            order = dict.fromkeys(item.key for one in lists for item in one.items)
            items = [found[key] for key in order if key in found]
            made.append(_list(rule, RankedList(rule.name, EVERYTHING, ()), items))
    return _at_most(settings.most_lists, [one for one in made if one.items and one.weight > 0])


def within_of(scope: Mapping[str, object] | None) -> str:
    """Return what a scope narrows a recall to; ``all`` where it does not say.

    Raises:
        QueryError: it is none of `WITHIN`, or ``session`` without a session.
    """
    if not scope:
        return "all"
    within = scope.get("within", "all")
    if not isinstance(within, str) or within not in WITHIN:
        raise QueryError(f"scope is within {shown(within)}: wanted one of {', '.join(WITHIN)}")
    if within == "session" and scope.get("session") is None:
        raise QueryError("scope is within a session and names none: add session=, its name")
    return within


def _documented(
    settings: RecallSettings, words: Sequence[str], within: str, scope: Mapping[str, object], now: float
) -> list[ListRule]:
    counts = settings.lists
    rules = [ListRule("recent", _written, counts.recent, "list", _with(settings, "recent"))]
    session = scope.get("session")
    if session is not None and within == "all":
        of = {source.name: source.scoped["session"] for source in settings.sources if "session" in source.scoped}
        key = partial(_of_session, fields=of, session=session)
        rules.append(ListRule("session", key, counts.session, "list", _with(settings, "session")))
    even = partial(_evenness, now=now)
    rules.append(ListRule("quality", even, counts.quality, "all", _with(settings, "quality"), 2))
    rules.append(ListRule("exact", partial(_exactness, words=words), counts.exact))
    return rules


def _with(settings: RecallSettings, further: str) -> frozenset[str]:
    return frozenset(source.name for source in settings.sources if further in source.further)


def _written(hit: Hit) -> float | None:
    return None if hit.entry is None else hit.entry.created_at


def _of_session(hit: Hit, fields: Mapping[str, str], session: object) -> float | None:
    # Equal keys: what stays, stays in its order.
    field = fields.get(hit.tier)
    return 0.0 if field is not None and hit.entry is not None and _value(hit.entry, field) == session else None


def _evenness(hit: Hit, now: float) -> float | None:
    """Return what sorts summaries: those whose texts are of even ages first, and new before old ones."""
    if hit.entry is None:
        return None
    spread = hit.entry.attrs.get("c_norm")
    known = float(spread) if isinstance(spread, (int, float)) and not isinstance(spread, bool) else 0.0
    age = min(max(0.0, now - hit.entry.created_at) / SECONDS_A_DAY, MOST_AGE_DAYS) / MOST_AGE_DAYS
    return -(known + AGE_SHARE * age)


def _exactness(hit: Hit, words: Sequence[str]) -> float | None:
    entry = hit.entry
    text = f"{hit.title}\n{hit.snippet}" if entry is None else f"{entry.title}\n{entry.description}\n{entry.context}"
    return float(exact_matches(words, text)) or None


def _value(entry: Entry, field: str) -> object:
    if not field.startswith("attrs."):
        return getattr(entry, field, None)
    value: object = entry.attrs
    for part in field.removeprefix("attrs.").split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _list(rule: ListRule, of: RankedList, items: Sequence[Item]) -> RankedList:
    """Return the list that a rule makes of candidates; without any where they are too few."""
    hits = [item.hit for item in items]
    given = [] if rule.key is None else [rule.key(hit) for hit in hits]
    if rule.keys is not None:
        given = [*rule.keys(hits)]
    if len(given) != len(hits):
        raise QueryError(f"the list {shown(rule.name)} has {len(given)} keys for {len(hits)} hits: wanted one for each")
    kept = [(key, item) for key, item in zip(given, items) if key is not None and not math.isnan(key)]
    kept.sort(key=lambda pair: -pair[0])
    sorted_items = [item for _, item in kept] if len(kept) >= rule.least else []
    return RankedList(rule.name, of.corpus, sorted_items, of.weight * rule.weight, of.variant)


def _concerns(rule: ListRule, one: RankedList) -> bool:
    return rule.corpora is None or one.corpus in rule.corpora


def _role(sources: Mapping[str, SourceSettings], one: RankedList) -> str:
    source = sources.get(one.corpus)
    return "other" if source is None else source.role


def _share(
    settings: RecallSettings, sources: Mapping[str, SourceSettings], one: RankedList, within: str, has_session: bool
) -> float:
    """Return what a list of knowledge counts: less beside session material, which is nearer to what is going on."""
    lower = within == "all" and has_session and _role(sources, one) == "knowledge"
    return settings.knowledge_share if lower else 1.0


def _at_most(most: int, lists: list[RankedList]) -> list[RankedList]:
    """Return so many lists: the last ones of the last phrasings go first, of the original phrasing last."""
    # Lists over everything found are of the original phrasing.
    ranks = sorted(range(len(lists)), key=lambda at: (min(1, lists[at].variant), at))
    kept = set(ranks[:most])
    return [one for at, one in enumerate(lists) if at in kept]
