"""Entries that TF-IDF must not count: they are not valid at the moment of a search, but their words are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from septet import _core
from septet.postgres.store.pipeline import together
from septet.postgres.tables.statistics import texts_outside
from septet.ranking.pool import searched_text

if TYPE_CHECKING:
    from septet.postgres.store.transactions import PostgresReading
    from septet.query.plan import SearchPlan


class Outside(NamedTuple):
    """Entries that are not valid: how many, and in how many of them each token is.

    Attributes:
        digest: the same as long as they and their texts are.
    """

    digest: str
    entries: int
    holding: Mapping[str, int]


NOTHING_OUTSIDE = Outside("", 0, {})


def outside_of(
    read: PostgresReading, plan: SearchPlan, entries: int, digest: str, kept: dict[bool, Outside]
) -> Outside:
    """Return the entries that are not valid at the time of a plan; read them again if they changed.

    Args:
        entries: their number.
        digest: their digest, from the first round trip.
        kept: cache of earlier searches, with memories and without.
    """
    if not entries:
        return NOTHING_OUTSIDE
    memories = plan.scores_memories
    known = kept.get(memories)
    if known is None or (known.digest, known.entries) != (digest, entries):
        (rows,) = together(read, [texts_outside(read.vault, plan.now, memories=memories)])
        holding = Counter(token for row in rows for token in {*_core.tokenize(searched_text(*row))})
        kept[memories] = known = Outside(digest, entries, holding)
    return known
