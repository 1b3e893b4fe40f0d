"""Judgements from what users did with results."""

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

__all__ = ["feedback_judgements"]

#: The grade of each action; `failed` says nothing of the entry.
GRADES: Mapping[str, int] = {"accepted": 2, "modified": 1, "dismissed": 0}


def feedback_judgements(vault: Vault | PostgresVault | Federation) -> list[dict[str, Any]]:
    """Return the feedback of a vault, or of all tiers, as queries with judgements: what `evaluate` and `tune` take.

    An accepted result has grade 2, a modified one 1, a dismissed one 0; the last action on a result counts. Users can
    only accept what a search has shown them, so such judgements favour the ranking that was in use.

    Raises:
        QueryError: it is neither a vault nor a federation.
        StoreError: a vault cannot be read.
    """
    grades: dict[str, dict[str, int]] = {}
    for one in _vaults(searchable(vault)):
        with one._store.reading() as read:
            for row in read.tables.feedback.all_rows(read):
                if row.action in GRADES:
                    grades.setdefault(row.query, {})[row.entry_id] = GRADES[row.action]
    return [{"id": str(at), "query": text, "relevant": own} for at, (text, own) in enumerate(grades.items(), start=1)]


def _vaults(vault: Searchable) -> Sequence[AnyVault]:
    if isinstance(vault, Federation):
        # Of equal ids the higher tier's feedback is read last, and counts.
        return list(reversed(vault._here().values()))
    return [vault] if isinstance(vault, AnyVault) else []
