"""A vault behind PgBouncer in transaction mode, over TLS, and with passwords."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pgbouncer import certified, pooled, why_not
from postgres_server import PostgresServer
from postgres_server import why_not as no_server
from septet import PostgresVault
from septet.errors import StoreError, Unreachable

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
SECRET = "pr1vate-w0rd"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certified(tmp_path_factory.mktemp("authority"))


def test_a_vault_behind_a_pooler_of_transactions_answers_as_one_that_asks_the_server(dsn, vault_name):
    with pooled(dsn, connections=2) as address, PostgresVault(address, vault_name, prepare=False) as vault:
        vault.add_many(
            {"id": f"e{i}", "title": f"retry {i} größer", "domain": "x" if i % 2 else "y", "vector": [1.0, i]}
            for i in range(200)
        )
        vault.link("e1", "e2")
        vault.update("e3", title="backoff")
        vault.delete("e4")
        vault.feedback("retry", "e5", "accepted")
        with PostgresVault(dsn, vault_name, clock=lambda: 2e9) as direct:
            vault._clock = direct._clock
            for asked in (
                {"query": "retry 17"},
                {"query": "retry", "query_vector": [1.0, 9.0]},
                {"query": "retry", "where": {"domain": "x"}, "limit": 40},
                {"query": "retry 8", "profile": "recall"},
            ):
                found, wanted = vault.search(**asked), direct.search(**asked)
                assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in wanted]
            assert vault.get("e3").title == "backoff" and vault.get("e4") is None


def test_many_threads_share_few_connections_of_a_pooler_and_lose_nothing(dsn, vault_name):
    with pooled(dsn, connections=2) as address, PostgresVault(address, vault_name, prepare=False) as vault:

        def work(thread):
            for number in range(12):
                vault.add(id=f"t{thread}-{number}", title=f"retry {thread} {number}")
                assert vault.search(f"retry {thread} {number}", limit=50).hits

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
        assert len(vault) == 8 * 12
        with vault._store.reading() as read:
            assert not read.tables.checking.faults(read)


def test_a_connection_over_tls_is_verified(dsn, vault_name, authority, tmp_path):
    tls = authority.parent
    with pooled(dsn, tls=tls) as address:
        verified = f"{address}?sslmode=verify-full&sslrootcert={authority}"
        with PostgresVault(verified, vault_name, prepare=False) as vault:
            vault.add(id="a", title="retry")
            assert vault.search("retry").ids == ["a"]
        other = certified(tmp_path)
        with pytest.raises((Unreachable, StoreError), match="certificate"):
            PostgresVault(f"{address}?sslmode=verify-full&sslrootcert={other}", vault_name, prepare=False)
        with pytest.raises((Unreachable, StoreError), match=r"(?i)ssl|tls"):
            PostgresVault(f"{address}?sslmode=disable", vault_name, prepare=False)


@pytest.mark.skipif(no_server() is not None, reason=no_server() or "")
def test_a_password_opens_a_vault_and_a_wrong_one_is_told_without_it():
    server = PostgresServer()
    try:
        with psycopg.connect(server.dsn(), autocommit=True) as sql:
            sql.execute(f"CREATE ROLE locked SUPERUSER LOGIN PASSWORD '{SECRET}'")
            rules = server.data / "pg_hba.conf"
            rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
            sql.execute("SELECT pg_reload_conf()")
        address = server.dsn().replace("postgres@", f"locked:{SECRET}@")
        with PostgresVault(address, "v") as vault:
            vault.add(id="a", title="retry")
            assert SECRET not in str(vault.path) and vault.search("retry").ids == ["a"]
        for wrong in (address.replace(SECRET, "wr0ng-w0rd"), address.replace(f":{SECRET}", "")):
            with pytest.raises(StoreError) as told:
                PostgresVault(wrong, "v")
            assert "wr0ng-w0rd" not in str(told.value) and "password" in str(told.value)
    finally:
        server.close()
