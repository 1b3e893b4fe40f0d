"""The lists of a recall: those of its sources, and further lists of the same candidates in other orders.

A further list is a sort key over hits, for each list of words or over all hits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import shown
from septet.profiles.builtin import RECALL_STOP_WORDS
from septet.retrieval.corpus import Item, RankedList

if TYPE_CHECKING:
    from septet.model.entry import Entry
    from septet.model.results import Hit
    from septet.retrieval.recall.settings import RecallSettings

#: The documented words without content.
STOP_WORDS = frozenset(RECALL_STOP_WORDS)
#: Runs of letters, digits and underscores, with the marks that belong to letters.
_WORD = re.compile(r"\w+(?:[\u0300-\u036f]+\w*)*")
_LEAST_LETTERS = 2


def kept_words(text: str, stop_words: Collection[str] = STOP_WORDS) -> list[str]:
    """Return the words of a text in their case, without single letters and stop words; duplicates stay."""
    return [w for w in _WORD.findall(text) if len(w) >= _LEAST_LETTERS and w.lower() not in stop_words]


def exact_matches(words: Iterable[str], text: str) -> int:
    """Return the number of words that occur in a text, ignoring case, also inside other words."""
    folded, count = text.lower(), 0
    for word in words:
        count += word.lower() in folded
    return count


#: Scopes of a recall, as ``scope={"within": …}``.
WITHIN = ("all", "session", "project", "knowledge")
#: Corpus name of the lists over all candidates.
EVERYTHING = "recall"
TEXT, VECTOR = "text", "vector"
SECONDS_A_DAY = 86_400.0
#: Maximum age of summaries that counts, in days, and its weight.
MOST_AGE_DAYS, AGE_SHARE = 90.0, 0.1


class _Further(NamedTuple):
    """A further list: the same candidates in another order.

    Attributes:
        name: unique name of the list.
        key: the sort key of a hit, highest first; None drops it, and ties keep their order.
        weight: weight of its ranks.
        corpora: corpora of the candidates; None for all.
        least: minimum number of candidates.
    """

    name: str
    key: Callable[[Hit], float | None]
    weight: float
    corpora: Collection[str] | None = None
    least: int = 1

    def concerns(self, ranked: RankedList) -> bool:
        """Return True if the candidates include those of a list."""
        return self.corpora is None or ranked.corpus in self.corpora

    def ordered(self, ranked: RankedList, items: Sequence[Item]) -> RankedList:
        """Return the further list of a list; empty if there are too few candidates."""
        pairs = [(key, item) for item in items if (key := self.key(item.hit)) is not None and not math.isnan(key)]
        pairs.sort(key=itemgetter(0), reverse=True)
        sorted_items = [item for _, item in pairs] if len(pairs) >= self.least else []
        return RankedList(self.name, ranked.corpus, sorted_items, ranked.weight * self.weight, ranked.variant)


def recall_lists(
    lists: Sequence[RankedList],
    settings: RecallSettings,
    *,
    query: str,
    now: float,
    scope: Mapping[str, object] | None = None,
) -> list[RankedList]:
    """Return the non-empty lists of sources with their weights, in the documented order.

    For each phrasing the lists of words, each followed by its further lists; then those of vectors; then those over
    all hits. Beyond ``most_lists``, the last lists of other phrasings are dropped first. ``query`` is the original
    phrasing, and ages are relative to ``now``, in epoch seconds. A scope has ``within`` (see `WITHIN`) and the caller's
    ``session``.

    Raises:
        QueryError: ``within`` is invalid, or ``session`` is missing.
    """
    within, session = within_of(scope), (scope or {}).get("session")
    roles: dict[str, str] = {source.name: source.role for source in settings.sources}
    words = kept_words(query)
    of_lists = [_Further("recent", _written, settings.lists.recent, _with(settings, "recent"))]
    if session is not None and within == "all":
        fields = {source.name: source.scoped["session"] for source in settings.sources if "session" in source.scoped}
        key = partial(_of_session, fields=fields, session=session)
        of_lists.append(_Further("session", key, settings.lists.session, _with(settings, "session")))
    of_all = [
        _Further("quality", partial(_evenness, now=now), settings.lists.quality, _with(settings, "quality"), 2),
        _Further("exact", partial(_exactness, words=words), settings.lists.exact),
    ]
    has_session = False

    def weighed(ranked: RankedList, weight: float) -> RankedList:
        # Session material is closer to the present than knowledge.
        lower = within == "all" and has_session and roles.get(ranked.corpus) == "knowledge"
        return ranked._replace(weight=ranked.weight * weight * (settings.knowledge_share if lower else 1.0))

    weighted: list[RankedList] = []
    for variant in sorted({ranked.variant for ranked in lists}):
        of_variant = [ranked for ranked in lists if ranked.variant == variant and ranked.name != VECTOR]
        has_session |= any(ranked.items for ranked in of_variant if roles.get(ranked.corpus) == "session")
        weighted += [weighed(ranked, settings.lists.text) for ranked in of_variant]
        for further in of_lists:
            texts = [ranked for ranked in of_variant if ranked.name == TEXT and further.concerns(ranked)]
            weighted += [further.ordered(ranked, ranked.items) for ranked in texts]
    if within != "session":
        boost = settings.vector_boost_weight if len(words) >= settings.vector_boost_min_terms else 1.0
        weighted += [weighed(ranked, settings.lists.vector * boost) for ranked in lists if ranked.name == VECTOR]
    order = dict.fromkeys([item.key for ranked in lists for item in ranked.items])
    for further in of_all:
        candidates = {item.key: item for ranked in lists if further.concerns(ranked) for item in reversed(ranked.items)}
        items = [candidates[key] for key in order if key in candidates]
        weighted.append(further.ordered(RankedList(further.name, EVERYTHING, ()), items))
    kept = [ranked for ranked in weighted if ranked.items and ranked.weight > 0]
    # Lists over all hits belong to the original phrasing.
    ranks = sorted(range(len(kept)), key=lambda at: (min(1, kept[at].variant), at))
    places = set(ranks[: settings.most_lists])
    return [ranked for at, ranked in enumerate(kept) if at in places]


def within_of(scope: Mapping[str, object] | None) -> str:
    """Return the value of ``within`` in a scope; ``all`` by default."""
    if not scope:
        return "all"
    within = scope.get("within", "all")
    if not isinstance(within, str) or within not in WITHIN:
        raise QueryError(f"scope is within {shown(within)}: wanted one of {', '.join(WITHIN)}")
    if within == "session" and scope.get("session") is None:
        raise QueryError("scope is limited to a session, but has no session name: add session=NAME")
    return within


def _with(settings: RecallSettings, further: str) -> frozenset[str]:
    return frozenset(source.name for source in settings.sources if further in source.further)


def _written(hit: Hit) -> float | None:
    return None if hit.entry is None else hit.entry.created_at


def _of_session(hit: Hit, fields: Mapping[str, str], session: object) -> float | None:
    # Equal keys: the order stays.
    field = fields.get(hit.tier)
    return 0.0 if field is not None and hit.entry is not None and _value(hit.entry, field) == session else None


def _evenness(hit: Hit, now: float) -> float | None:
    """Return the sort key of summaries: those of texts of even ages first, and new before old ones."""
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
