"""Work after writes: folding of counts, and ANALYZE of tables that have grown; after a load, at its end.

PostgreSQL runs ANALYZE itself, but up to a minute late. Until then it takes new tables, and new vaults in old ones, for
nearly empty, and a search after a load would take seconds rather than milliseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg

from septet.errors import BatchError, SeptetError, StoreError
from septet.postgres.store.pipeline import Statement, sent
from septet.postgres.tables import blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from septet.postgres.store.link import ServerLink
    from septet.postgres.store.transactions import WriteLocks
    from septet.postgres.store.vaults import VaultRow


#: Waiting differences of terms at which a load folds: common terms, which each batch has, are added up once then, and
#: searches read some more megabytes until then.
MOST_TERMS = 200_000


class _Load(threading.local):
    """The load that a thread is in: how many ``with`` blocks, and whether something is left for its end."""

    depth = 0
    fold = grown = False


class Upkeep:
    """Work after the writes of a store."""

    def __init__(self) -> None:
        self._load = _Load()
        #: See `analyse_if_grown`.
        self._looked: dict[str, int] = {}

    @contextmanager
    def loading(self, vault: VaultRow, borrowed: Callable[[], AbstractContextManager[ServerLink]]) -> Iterator[None]:
        """Defer upkeep to the end of a ``with`` block, when this thread has written everything.

        After a fault of the server nothing is done: counts are exact all the same, and the next writer does it.
        """
        load = self._load
        load.depth += 1
        answers = False
        try:
            yield
            answers = True
        except BatchError as fault:
            # An item is invalid; earlier ones stay stored.
            answers = not isinstance(fault.__cause__, StoreError)
            raise
        finally:
            load.depth -= 1
            if not load.depth:
                grown, fold, load.grown, load.fold = load.grown, load.fold, False, False
                if grown and answers:
                    with suppress(SeptetError), borrowed() as link:
                        self._follow(link, vault, fold=fold, whole=True)

    def follow(self, link: ServerLink, vault: VaultRow, held: WriteLocks) -> None:
        """Do the upkeep of a write outside its transaction, or defer it to the end of the load."""
        load = self._load
        if not held.grown:
            return
        load.fold |= held.fold_due
        if load.depth and held.waiting < MOST_TERMS:
            load.grown = True
            return
        fold, load.fold, load.grown = load.fold, False, False
        self._follow(link, vault, fold=fold, whole=False)

    def _follow(self, link: ServerLink, vault: VaultRow, *, fold: bool, whole: bool) -> None:
        # A failure costs nothing: the next writer does this too.
        with suppress(psycopg.Error, StoreError):
            # One fold takes a limited number of terms.
            if fold:
                (blocks.fold_all if whole else blocks.fold)(link, vault)
            analyse_if_grown(link, vault, self._looked)


#: Tables that searches read of a vault.
TABLES = ("entries", "postings", "posting_blocks", "vectors", "term_counts")
#: Plans may be bad for a vault with more than this multiple of the rows that the planner estimates, and `FEW` more.
AMISS = 4
FEW = 100
#: Growth of a table since the last ANALYZE, in percent of its size then, after which its terms may differ.
GROWTH = 150
#: Estimated rows of a vault above which plans stay good while the table does not grow.
_MANY = 2_500

_MINE = """c.relnamespace = 'septet'::regnamespace AND c.relname = ANY(%s::text[]) AND CASE
        WHEN pg_has_role(current_user, c.relowner, 'USAGE') THEN true
        WHEN current_setting('server_version_num')::int < 170000 THEN false
        ELSE has_table_privilege(c.oid, 'MAINTAIN')
    END
"""
# Those of our tables that this role may analyse, and whether they have grown.
_GROWN = f"""
SELECT c.relname::text, n.pages > c.relpages * %s::bigint / 100 + 8
FROM pg_class c
CROSS JOIN LATERAL (SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint AS pages) AS n
WHERE n.pages > 8 AND {_MINE}
"""
# On a cluster their files are elsewhere.
_THESE = f"SELECT c.relname::text, false FROM pg_class c WHERE {_MINE}"
_PLANNED = "EXPLAIN (FORMAT JSON) SELECT 1 FROM septet.{table} WHERE {column} = %s::integer"
_THERE = "SELECT count(*) FROM (SELECT 1 FROM septet.{table} WHERE {column} = %s::integer LIMIT %s) AS found"


def analyse_if_grown(sql: ServerLink, vault: VaultRow, looked: MutableMapping[str, int]) -> list[str]:
    """Run ANALYZE on tables that have grown, outside a transaction; return their names.

    The owner of the tables may, and from PostgreSQL 17 on writers, too. For others autovacuum does it, once a tenth of
    a table is new.

    Args:
        looked: by table how many rows of the vault were counted when the planner was last made to look for its sake;
            written. A sample may pass over a small vault among large ones, and would again.
    """
    names = list(TABLES)
    mine = Statement(_THESE, (names,)) if vault.distributed else Statement(_GROWN, (GROWTH, names))
    grown, *plans = sent(sql, [mine, *map(partial(planned, vault), TABLES)])
    ours: dict[str, bool] = dict(grown)
    known = dict(zip(TABLES, map(rows_planned, plans)))
    doubtful = [name for name, large in ours.items() if not large and known[name] < _MANY]
    column, number = looked_at(vault)
    questions = [
        Statement(_THERE.format(table=name, column=column), (number, AMISS * known[name] + FEW + 1))
        for name in doubtful
    ]
    counts = sent(sql, questions)
    due = {name for name, large in ours.items() if large}
    for name, ((count,),) in zip(doubtful, counts):
        if count > AMISS * known[name] + FEW and count > 2 * looked.get(name, 0):
            looked[name] = count
            due.add(name)
    for name in sorted(due):
        sql.execute(f"ANALYZE septet.{name}")
    return sorted(due)


def looked_at(vault: VaultRow) -> tuple[str, int]:
    """Return a column and a value that select rows typical of the vault: on a cluster those of one bucket.

    Its server has estimates for them, and other buckets have about as many rows.
    """
    return ("bucket", vault.first_bucket) if vault.distributed else ("vault", vault.number)


def planned(vault: VaultRow, table: str) -> Statement:
    """Return the statement for the planner's estimate of rows, for `rows_planned`.

    Lists of the most common vaults are too short to tell: one that is not among them may be as large as the planner
    takes the others for.
    """
    column, number = looked_at(vault)
    return Statement(_PLANNED.format(table=table, column=column), (number,))


def rows_planned(answer: list[tuple[Any, ...]]) -> int:
    """Return the planner's estimate of rows."""
    (((whole,),),) = answer
    plan = whole["Plan"]
    if (inside := plan.get("Distributed Query")) is not None:
        ((whole,),) = inside["Job"]["Tasks"][0]["Remote Plan"]
        plan = whole["Plan"]
    return int(plan["Plan Rows"])
