"""Upkeep: work that writes defer and that makes searches on a server fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.postgres.tables import folding

if TYPE_CHECKING:
    from septet.postgres.store.store import PostgresStore

#: A role that does not own the tables is told so in a notice, and may leave it to the server's autovacuum.
_ANALYZE = (
    "ANALYZE septet.entries, septet.postings, septet.posting_blocks, septet.term_counts, septet.totals, "
    "septet.count_changes, septet.links, septet.vectors, septet.feedback"
)


def upkeep(store: PostgresStore) -> None:
    """Fold the differences of counts of a vault into their sums, and have the planner look at the tables.

    Raises:
        ReadOnly: the store was opened for reading.
        StoreError: the server answers with a fault.
    """
    with store.maintaining() as sql:
        folding.fold_all(sql, store.vault)
        sql.execute(_ANALYZE)
