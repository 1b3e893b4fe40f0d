"""Addresses of vaults on servers: which vault they name, and what of them is shown."""

from pathlib import Path

import pytest

from septet import PostgresVault, Vault
from septet.cli.places import existing, writable
from septet.errors import StoreError
from septet.storage.postgres.dsn import vault_named


@pytest.mark.parametrize(
    ("address", "plain", "vault"),
    [
        ("postgresql://host/db?vault=team", "postgresql://host/db", "team"),
        ("postgresql://host?vault=team", "postgresql://host", "team"),
        ("postgresql:///db?sslmode=require&vault=a%20b", "postgresql:///db?sslmode=require", "a b"),
        ("postgresql://a,b:5433/db?vault=x&target=any", "postgresql://a,b:5433/db?target=any", "x"),
        ("postgresql://u:p?vault=no@host/db?vault=yes", "postgresql://u:p?vault=no@host/db", "yes"),
        ("postgres://u:p%40@host/db?vault=%C3%A9", "postgres://u:p%40@host/db", "é"),
    ],
)  # fmt: skip
def test_an_address_names_a_vault_in_a_parameter_that_libpq_does_not_see(address, plain, vault):
    assert vault_named(address) == (plain, vault)
    assert vault_named(address, vault) == (plain, vault)


def test_a_vault_may_be_named_beside_the_address():
    assert vault_named("postgresql://host/db", "team") == ("postgresql://host/db", "team")


@pytest.mark.parametrize("address", ["postgresql://u:secret@host/db", "postgresql://u@host/db?password=secret&vault="])
def test_an_address_without_a_vault_is_refused_and_its_password_is_not_told(address):
    with pytest.raises(StoreError, match=r"names no vault: write .vault=NAME") as told:
        vault_named(address)
    assert "secret" not in str(told.value)


def test_an_address_that_is_shown_has_no_user():
    with pytest.raises(StoreError, match=r"^postgresql://host/db names no vault"):
        vault_named("postgresql://u:secret@host/db")


@pytest.mark.parametrize("opened", [Vault, lambda address: PostgresVault(address, "team")])
def test_a_file_is_no_server_and_a_server_no_file(opened, tmp_path):
    address = tmp_path / "agent.db" if opened is not Vault else "postgresql://u:secret@host/db"
    with pytest.raises(StoreError, match=r"PostgresVault opens|Vault opens files") as told:
        opened(str(address))
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "place", ["mysql://u:secret@host/db", "host=h password=secret", Path("postgresql://u:secret@host/db")]
)
def test_what_looks_like_an_address_and_is_none_is_not_repeated(place):
    for opened in (existing, lambda one: writable(one).__enter__()):
        with pytest.raises(StoreError) as told:
            opened(place)
        assert "secret" not in str(told.value)


def test_two_names_of_vaults_are_refused():
    with pytest.raises(StoreError, match=r"wanted one of a, b"):
        vault_named("postgresql://host/db?vault=a", "b")
