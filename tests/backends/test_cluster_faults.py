"""A cluster whose servers die, come back and get more: acknowledged writes stay, and errors are bounded and told."""

from __future__ import annotations

import pytest

from cluster_servers import NotHere, mended, servers_of
from cluster_work import Searcher, Writer, assert_whole, at_work, opened
from postgres_cluster import VARIABLE, PostgresCluster
from septet import Federation, Vault
from septet.errors import Unreachable


@pytest.fixture(scope="module")
def machine(postgres):
    """The cluster and its servers, which tests may kill."""
    if not isinstance(postgres, PostgresCluster):
        pytest.skip(f"no cluster: {VARIABLE} names none")
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


@pytest.mark.parametrize("server", [1, 0], ids=["worker", "coordinator"])
def test_a_server_that_is_killed_in_mid_write_loses_nothing_acknowledged_and_the_vault_heals(
    postgres, servers, open_vault, server
):
    writers = [Writer(open_vault(), f"w{number}") for number in range(3)]
    with at_work(*writers):
        for one in writers:
            one.until(8)
        servers[server].kill()
        for one in writers:
            one.until(2, fails=True)
        servers[server].start()
        for one in writers:
            one.until(8)
    mended(postgres, servers)
    assert_whole(open_vault(), writers)


@pytest.mark.parametrize("server", [1, 0], ids=["worker", "coordinator"])
def test_a_server_that_is_killed_in_mid_search_costs_each_search_its_deadline_at_most(servers, open_vault, server):
    writer = Writer(open_vault(), "w")
    for _ in range(6):
        writer.turn()
    searchers = [Searcher(open_vault()) for _ in range(3)]
    with at_work(*searchers):
        for one in searchers:
            one.until(3)
        servers[server].kill()
        for one in searchers:
            one.until(3, fails=True)
        servers[server].start()
        for one in searchers:
            one.until(3)
    assert all(isinstance(fault, Unreachable) for one in searchers for fault, _ in one.failed)


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
    for number in range(8):
        vault.add(id=f"a{number}", title=f"Cookies {number}", vector=[1.0, number, 0.5])
    for end in (servers[1].kill, servers[1].stop):
        end()
        with pytest.raises(Unreachable, match=r"a server of its cluster cannot be reached .*127\.0\.0\.1.*whether it runs"):
            open_vault().search("cookies")
        assert not vault._store._reads.breaker.open
        servers[1].start()
        # Its connections to the coordinator are those from before, which has connections to the worker from before.
        assert len(vault.search("cookies", limit=20)) == 8
        for number in range(8):
            vault.add(id=f"a{number}", title=f"Cookies {number} again", vector=[1.0, number, 0.5])
            vault.delete(f"a{number}")
            vault.add(id=f"a{number}", title=f"Cookies {number} again", vector=[1.0, number, 0.5])
