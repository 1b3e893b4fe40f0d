"""Addresses of vaults on servers: which vault they name, and what of them is shown."""

import traceback
from pathlib import Path

import pytest

from septet import AsyncPostgresVault, PostgresVault, Vault
from septet.cli.places import existing, writable
from septet.errors import StoreError, Unreachable
from septet.postgres.store.dsn import vault_named


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
    with pytest.raises(StoreError, match=r"with PostgresVault|open a file with Vault") as told:
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


def variables_of(fault):
    """What a report of an error shows of the frames that it passed, but for those of this test."""
    shown = []
    while fault is not None:
        for frame, _ in traceback.walk_tb(fault.__traceback__):
            if frame.f_code.co_filename != __file__:
                shown += [f"{name}={value!r}" for name, value in frame.f_locals.items()]
        fault = fault.__cause__ or fault.__context__
    return shown


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:s3cr3t@127.0.0.1:{}/db?vault=v",
        "postgresql://u@127.0.0.1:{}/db?pass%77ord=s3cr3t&vault=v",
        "postgresql://u@127.0.0.1:{}/db?password=one s3cr3t",
        "postgresql://u@127.0.0.1:{}/db?password=one@s3cr3t",
        "postgresql://u:one s3cr3t@127.0.0.1:{}/db",
        "host=127.0.0.1 port={} user=u password='one s3cr3t'",
    ],
)
def test_a_password_is_in_nothing_that_a_report_of_an_error_shows(address, closed_port):
    address = address.format(closed_port)
    with pytest.raises(StoreError) as told:
        PostgresVault(address)
    shown = variables_of(told.value)
    assert any(one.startswith("self=PostgresVault(") for one in shown)
    later = AsyncPostgresVault(address)
    shown += [str(told.value), str(told.value.__cause__), repr(later), later.path, repr(vars(later))]
    assert "s3cr3t" not in "\n".join(shown)


def test_what_the_frames_of_a_search_hold_has_no_password(dsn, vault_name, postgres):
    vault = PostgresVault(dsn.replace("postgres@", "postgres:s3cr3t@"), vault_name, timeout_s=60)
    pool = vault._store._reads.pool
    pool.drop_idle()
    # As if the server had gone.
    pool._conninfo = pool._conninfo.replace(str(postgres.port), "1")
    with pytest.raises(Unreachable) as told:
        vault.search("x")
    assert "s3cr3t" not in "\n".join(variables_of(told.value))
    vault.close()
