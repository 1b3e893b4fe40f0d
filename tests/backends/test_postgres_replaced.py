"""A database that is dropped and made again while vaults of it are open."""

import pytest

from septet import PostgresVault
from septet.errors import VaultReplaced


@pytest.fixture
def again(postgres, vault_name):
    """Make a database, and drop the one that was there."""
    name = vault_name.replace("-", "_")

    def make():
        postgres.drop(name)
        return postgres.database(name)

    yield make
    postgres.drop(name)


def test_a_vault_whose_number_is_another_ones_now_reads_and_writes_nothing(again):
    vault = PostgresVault(dsn := again(), "team")
    vault.add(id="a", title="Cookies", vector=[1.0, 2.0])
    again()
    with PostgresVault(dsn, "others") as others:
        assert others._store.vault.number == vault._store.vault.number
        others.add(id="a", title="Salaries")
        calls = [
            lambda: vault.add(id="b", title="Cookies"),
            lambda: vault.update("a", title="Cookies"),
            lambda: vault.delete("a"),
            lambda: vault.search("salaries"),
            lambda: vault.get("a"),
            vault.optimize,
            vault.stats,
        ]
        for call in calls:
            with pytest.raises(VaultReplaced, match="the database was recreated"):
                call()
        assert [(one.id, one.title) for one in others.entries()] == [("a", "Salaries")]
    vault.close()
    with PostgresVault(dsn, "team") as vault:
        vault.add(id="b", title="Cookies")
        assert [one.id for one in vault.search("cookies")] == ["b"]


def test_a_vault_that_its_database_has_not_any_more_is_not_written_to(again):
    vault = PostgresVault(dsn := again(), "team")
    again()
    with PostgresVault(dsn, "other") as other, other._store.maintaining() as sql:
        sql.execute("DELETE FROM septet.vaults")
        with pytest.raises(VaultReplaced, match="open it again"):
            vault.add(id="b", title="Cookies")
        assert sql.execute("SELECT count(*) FROM septet.entries").fetchone() == (0,)
    vault.close()
