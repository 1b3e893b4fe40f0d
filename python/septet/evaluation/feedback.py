"""Judgements from user feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet.evaluation.evaluator import searchable
from septet.federation import Federation
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from septet.postgres.vault.vault import PostgresVault
    from septet.search.searchable import Searchable
    from septet.vault import Vault

#: Grade of each action; `failed` is no judgement of the entry.
GRADES: Mapping[str, int] = {"accepted": 2, "modified": 1, "dismissed": 0}


def feedback_judgements(vault: Vault | PostgresVault | Federation) -> list[dict[str, Any]]:
    """Return the feedback of a vault, or of all tiers, as judged queries for `evaluate` and `tune`.

    An accepted result has grade 2, a modified one 1, a dismissed one 0; the last action on a result counts. Users can
    only accept results that a search has shown, so these judgements favour the ranking in use at the time.

    Raises:
        QueryError: it is neither a vault nor a federation.
        StoreError: a vault cannot be read.
    """
    grades: dict[str, dict[str, int]] = {}
    for member in _vaults(searchable(vault)):
        with member._store.reading() as read:
            for row in read.tables.feedback.all_rows(read):
                if row.action in GRADES:
                    grades.setdefault(row.query, {})[row.entry_id] = GRADES[row.action]
    return [
        {"id": str(number), "query": text, "relevant": relevant}
        for number, (text, relevant) in enumerate(grades.items(), start=1)
    ]


def _vaults(vault: Searchable) -> Sequence[AnyVault]:
    if isinstance(vault, Federation):
        # Read the highest tier last: for equal ids its feedback wins.
        return list(reversed(vault._here().values()))
    return [vault] if isinstance(vault, AnyVault) else []
