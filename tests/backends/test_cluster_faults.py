"""A cluster whose servers die, come back and get more: acknowledged writes stay, and errors are bounded and told."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster_servers import NotHere, another_worker, lost_behind_its_commit, mended, servers_of, told_every
from cluster_work import Searcher, Writer, assert_whole, at_work, opened
from postgres_cluster import VARIABLE, PostgresCluster
from septet import Federation, Vault
from septet.errors import ReadOnly, StoreBusy, StoreError, Unreachable
from septet.postgres.tables import blocks
from septet.postgres.tables.checking import faults

#: How long many writers write.
STRESS_S = float(os.environ.get("SEPTET_STRESS_S", "5"))


@pytest.fixture(scope="module")
def machine(postgres):
    """The cluster and its servers, which tests may kill."""
    if not isinstance(postgres, PostgresCluster):
        pytest.skip(f"no cluster: {VARIABLE} names none")
    if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
        pytest.skip("other tests ask the servers that are killed here: run this file by itself")
    try:
        servers = servers_of(postgres)
    except NotHere as fault:
        pytest.skip(f"the servers of the cluster cannot be killed: {fault}")
    database = postgres.dsn().rpartition("/")[2]
    for node in range(len(servers)):
        with postgres.on(postgres.dsn("postgres"), node) as sql:
            # What a server acknowledged it has written: some clusters for tests give that up.
            sql.execute(f'ALTER DATABASE "{database}" SET synchronous_commit = on')
    return servers


@pytest.fixture
def servers(postgres, machine):
    """The servers, the coordinator first; they are up and whole again when the test has ended."""
    mended(postgres, machine)
    yield machine
    mended(postgres, machine)


@pytest.fixture
def open_vault(dsn, vault_name):
    """What opens the vault of the test once more, for a client of its own."""
    made = []

    def vault(where=dsn, **more):
        made.append(opened(where, vault_name, **more))
        return made[-1]

    yield vault
    for one in made:
        one.close()


def killed_under(server, clients, *, turns, failures):
    """Kill a server while clients work, and start it again when each has failed; they work before and after."""
    with at_work(*clients):
        for one in clients:
            one.until(turns)
        server.kill()
        for one in clients:
            one.until(failures, fails=True)
        server.start()
        for one in clients:
            one.until(turns)


@pytest.mark.parametrize("server", [1, 0], ids=["worker", "coordinator"])
def test_a_server_that_is_killed_in_mid_write_loses_nothing_acknowledged_and_the_vault_heals(
    postgres, servers, open_vault, server
):
    writers = [Writer(open_vault(), f"w{number}") for number in range(3)]
    killed_under(servers[server], writers, turns=8, failures=2)
    mended(postgres, servers)
    assert_whole(open_vault(), writers)


@pytest.mark.parametrize("server", [1, 0], ids=["worker", "coordinator"])
def test_a_server_that_is_killed_in_mid_search_costs_each_search_its_deadline_at_most(servers, open_vault, server):
    writer = Writer(open_vault(), "w")
    for _ in range(6):
        writer.turn()
    searchers = [Searcher(open_vault()) for _ in range(3)]
    killed_under(servers[server], searchers, turns=3, failures=3)
    others = [fault for one in searchers for fault, _ in one.failed if not isinstance(fault, Unreachable)]
    assert not others, others


def test_a_federation_answers_from_its_other_tiers_while_a_worker_is_away(servers, open_vault, tmp_path):
    team = open_vault()
    team.add_many([{"id": f"t{number}", "title": f"Cookies {number}"} for number in range(8)])
    with Vault(tmp_path / "own.db") as own, Federation({"own": own, "team": team}) as both:
        own.add(id="mine", title="Cookies of mine")
        assert {hit.tier for hit in both.search("cookies")} == {"own", "team"}
        servers[1].kill()
        found = both.search("cookies")
        assert {hit.tier for hit in found} == {"own"}
        assert [(note.tier, note.code) for note in found.notes] == [("team", "tier_failed")]
        servers[1].start()
        assert {hit.tier for hit in both.search("cookies")} == {"own", "team"}


def test_a_worker_that_was_started_again_costs_no_client_a_call(servers, open_vault):
    vault = open_vault()
    for number in range(6):
        vault.add(id=f"a{number}", title=f"Cookies {number}", vector=[1.0, number, 0.5])
    for end in (servers[1].kill, servers[1].stop):
        end()
        with pytest.raises(Unreachable, match=r"a server of its cluster cannot be reached .*127\.0\.0\.1"):
            open_vault().search("cookies")
        assert not vault._store._reads.breaker.is_open
        servers[1].start()
        # Its connections to the coordinator are those from before, which has connections to the worker from before.
        assert len(vault.search("cookies", limit=20)) == 6
        for number in range(6):
            vault.delete(f"a{number}")
            vault.add(id=f"a{number}", title=f"Cookies {number} again", vector=[1.0, number, 0.5])


def faults_of(vault):
    with vault._store.reading() as read:
        return faults(read)


def until_it_waits_for_a_lock(postgres, answer):
    """Wait until a statement on a worker waits for a lock, or an answer is there."""
    waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while not answer.done():
        for node in range(1, len(postgres.nodes)):
            with postgres.on(postgres.dsn(), node) as sql:
                if sql.execute(waits).fetchone():
                    return
        time.sleep(0.01)


@pytest.mark.parametrize("many", [8, 60])
def test_a_write_whose_end_a_worker_has_not_been_told_is_waited_for(postgres, servers, open_vault, many):
    vault = open_vault()

    def entries(what):
        return [{"id": f"a{number}", "title": f"{what} cookies {number}"} for number in range(many)]

    vault.add_many(entries("Old"))
    lost_behind_its_commit(postgres, servers, 1, lambda: vault.add_many(entries("New baked")))
    servers[1].start()
    # Some of it is there already, and some not yet.
    assert {one.title.split()[0] for one in vault.entries(limit=None)} == {"Old", "New"}
    with ThreadPoolExecutor(1) as threads:
        again = threads.submit(vault.add_many, entries("Newest"))
        until_it_waits_for_a_lock(postgres, again)
        mended(postgres, servers)
        again.result()
    assert {one.title.split()[0] for one in vault.entries(limit=None)} == {"Newest"}
    assert faults_of(vault) == []


def test_a_worker_is_told_by_itself_what_was_decided(postgres, servers, open_vault):
    vault = open_vault()
    vault.add_many([{"id": f"a{number}", "title": "Cookies"} for number in range(8)])
    lost_behind_its_commit(
        postgres,
        servers,
        1,
        lambda: vault.add_many([{"id": f"a{number}", "title": "New cookies"} for number in range(8)]),
    )
    servers[1].start()
    # A minute unless somebody says otherwise.
    with told_every(servers[0], "1s"):
        until = time.monotonic() + 60
        while {one.title for one in vault.entries(limit=None)} != {"New cookies"}:
            assert time.monotonic() < until
            time.sleep(0.1)
    vault.add_many([{"id": f"a{number}", "title": "Newest cookies"} for number in range(8)])
    assert faults_of(vault) == []


def test_counts_whose_sums_a_worker_has_not_been_told_of_are_not_summed_twice(postgres, servers, open_vault):
    vault = open_vault()
    vault.add_many([{"id": f"a{number}", "title": f"Cookies {number} with word{number}"} for number in range(40)])
    vault.delete("a1", "a2")

    def fold():
        with vault._store._borrowed(vault._store._writes) as link:
            return blocks.fold(link, vault._store.vault)

    lost_behind_its_commit(postgres, servers, 1, fold)
    servers[1].start()
    assert fold() == 0
    mended(postgres, servers)
    assert faults_of(vault) == []


def on_each_worker(postgres, vault):
    """Return an id of which the bucket is on the first worker, and one on the second."""
    where = (
        "SELECT p.groupid FROM pg_dist_placement p "
        "WHERE p.shardid = get_shard_id_for_distribution_column('septet.entries'::regclass, %s)"
    )
    found = {}
    with postgres.on(postgres.dsn()) as sql:
        for number in range(100):
            group = sql.execute(where, (vault._store.bucket_of(f"a{number}"),)).fetchone()
            found.setdefault(group, f"a{number}")
    return list(found.values())[:2]


def lock(sql, vault, entry_id):
    sql.execute(
        "UPDATE septet.entries SET type = type WHERE vault = %s AND bucket = %s AND id = %s",
        (vault._store.vault.number, vault._store.bucket_of(entry_id), entry_id),
    )


def test_writes_that_wait_for_each_other_on_two_workers_both_end(postgres, servers, open_vault):
    vault = open_vault()
    first, second = on_each_worker(postgres, vault)
    vault.add_many([{"id": one, "title": "Cookies"} for one in (first, second)])
    # What began first is not the one that is ended.
    with postgres.on(postgres.dsn()) as sql, ThreadPoolExecutor(1) as threads, sql.transaction():
        lock(sql, vault, second)
        written = threads.submit(vault.add_many, [{"id": one, "title": "New cookies"} for one in (first, second)])
        until_it_waits_for_a_lock(postgres, written)
        lock(sql, vault, first)
        assert not written.done()
    assert written.result() == [first, second]
    assert {one.title for one in vault.entries(limit=None)} == {"New cookies"}
    assert faults_of(vault) == []


def test_a_write_that_a_worker_ends_before_its_commit_is_done_again(postgres, servers, open_vault):
    vault = open_vault()
    vault.add(id="a", title="Cookies")
    ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as threads, postgres.on(postgres.dsn()) as sql, sql.transaction():
        lock(sql, vault, "a")
        written = threads.submit(vault.add, id="a", title="New cookies")
        until_it_waits_for_a_lock(postgres, written)
        gone = 0
        for node in range(1, len(postgres.nodes)):
            with postgres.on(postgres.dsn(), node) as there:
                gone += there.execute(f"{ended} AND datname = current_database()").fetchone()[0]
        assert gone == 1
        until_it_waits_for_a_lock(postgres, written)
    assert written.result() == "a"
    assert vault.get("a").title == "New cookies"
    assert faults_of(vault) == []


def test_a_write_waits_for_a_lock_on_a_worker_as_long_as_on_one_server(postgres, servers, open_vault):
    vault = open_vault()
    vault.add(id="a", title="Cookies")
    with postgres.on(postgres.dsn()) as sql, sql.transaction():
        lock(sql, vault, "a")
        began = time.monotonic()
        with pytest.raises(StoreBusy, match="55P03"):
            vault.add(id="a", title="New cookies")
        assert 9 < time.monotonic() - began < 20
    vault.add(id="a", title="New cookies")
    assert faults_of(vault) == []


def test_eight_writers_lose_nothing_and_counts_stay_exact(servers, open_vault):
    writers = [Writer(open_vault(), f"w{number}") for number in range(8)]
    searchers = [Searcher(open_vault()) for _ in range(2)]
    with at_work(*writers, *searchers):
        time.sleep(min(STRESS_S, 60.0))
        for one in (*writers, *searchers):
            one.until(1)
    assert [fault for one in (*writers, *searchers) for fault, _ in one.failed] == []
    assert_whole(open_vault(), writers)


def test_a_worker_lets_read_and_refuses_a_vault_that_is_to_be_written(postgres, servers, open_vault):
    vault = open_vault()
    vault.add_many([{"id": f"a{number}", "title": f"Cookies {number}"} for number in range(8)])
    with pytest.raises(StoreError, match=r"on a cluster worker, .*open it with the address of the coordinator"):
        open_vault(postgres.dsn(node=1))
    reader = open_vault(postgres.dsn(node=1), read_only=True)
    assert [hit.id for hit in reader.search("cookies")] == [hit.id for hit in vault.search("cookies")]
    assert len(reader) == 8
    assert reader.get("a1") == vault.get("a1")
    assert reader.stats().generation == vault.stats().generation > 0
    with pytest.raises(ReadOnly, match="read_only=True"):
        reader.add(title="Cookies")
    vault.add(id="a8", title="Cookies 8")
    assert reader.get("a8").title == "Cookies 8"
    servers[0].kill()
    with pytest.raises(Unreachable, match="of its cluster cannot be reached"):
        reader.search("cookies")
    servers[0].start()
    assert len(reader.search("cookies", limit=20)) == 9


def test_shards_that_move_to_a_new_worker_and_back_lose_nothing(postgres, servers, open_vault):
    writers = [Writer(open_vault(), f"w{number}") for number in range(3)]
    searcher = Searcher(open_vault())
    move = "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, shard_transfer_mode => %s)"
    shards = (
        "SELECT s.shardid, s.nodename, s.nodeport FROM citus_shards s "
        "WHERE s.table_name = 'septet.entries'::regclass AND s.nodeport <> %s ORDER BY s.shardid LIMIT 2"
    )
    with another_worker(postgres, servers[1]) as new:
        postgres.join(*new)
        try:
            with at_work(*writers, searcher), postgres.on(postgres.dsn()) as sql:
                for one in writers:
                    one.until(4)
                for number, (shard, *old) in enumerate(sql.execute(shards, (new[1],)).fetchall()):
                    sql.execute(move, (shard, *old, *new, "block_writes" if number else "force_logical"))
                sql.execute(
                    "SELECT rebalance_table_shards('septet.entries', max_shard_moves => 1, "
                    "shard_transfer_mode => 'block_writes')"
                )
                for one in (*writers, searcher):
                    one.until(4)
                sql.execute("SELECT citus_drain_node(%s, %s, 'block_writes')", new)
                for one in (*writers, searcher):
                    one.until(4)
        finally:
            postgres.leave(*new)
    assert_whole(open_vault(), writers)
