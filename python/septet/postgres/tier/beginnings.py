"""Beginnings of words, completed from the words that the entries of a vault on PostgreSQL hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.postgres.tier.vocabulary import words_from
from septet.tiers.words import MOST_PREFIXED, with_indexed_words

if TYPE_CHECKING:
    from septet.postgres.store.transactions import PostgresReading
    from septet.query.plan import Plan


def completed(plans: Sequence[Plan], read: PostgresReading) -> Sequence[Plan]:
    """Return plans of beginnings of words with the words of the vault."""
    return with_indexed_words(plans, lambda beginnings: words_from(read, beginnings, MOST_PREFIXED))
