"""A vault needs an SQLite that is new enough and has FTS5; what it finds instead it names."""

import sqlite3

import pytest

from septet import NotAVault, StoreError, Vault
from septet.sqlite.store import connection
from septet.sqlite.store.connection import OLDEST_SQLITE, prepare, require_version
from septet.system.forks import is_open


class WithoutFullText(sqlite3.Connection):
    """A connection of an SQLite that was built without FTS5."""

    def execute(self, sql, *parameters):
        if "fts5" in sql.lower():
            raise sqlite3.OperationalError("no such function: fts5")
        return super().execute(sql, *parameters)


def written(version):
    return ".".join(map(str, version))


@pytest.mark.parametrize("older", [(3, 7, 17), (3, 30, 1), (2, 99, 99), (OLDEST_SQLITE[0], OLDEST_SQLITE[1] - 1, 99)])
def test_an_older_sqlite_is_refused_with_what_was_found_and_what_is_needed(older):
    with pytest.raises(StoreError, match="upgrade the system's libsqlite3") as refused:
        require_version("agent.db", older)
    assert str(refused.value).startswith("agent.db cannot be opened: ")
    assert f"SQLite {written(older)}, Septet needs {written(OLDEST_SQLITE)} or newer" in str(refused.value)


@pytest.mark.parametrize("other", [OLDEST_SQLITE, (*OLDEST_SQLITE[:2], OLDEST_SQLITE[2] + 1), (3, 100, 0), (4, 0, 0)])
def test_the_oldest_sqlite_and_every_newer_one_will_do(other):
    require_version("agent.db", other)


def test_an_sqlite_without_fts5_is_refused_before_anything_is_written(tmp_path):
    file = tmp_path / "agent.db"
    with (
        sqlite3.connect(file, factory=WithoutFullText, isolation_level=None) as sql,
        pytest.raises(StoreError, match=f"SQLite {sqlite3.sqlite_version} of this Python was built without FTS5"),
    ):
        prepare(sql, str(file), read_only=False, busy_timeout_s=1.0)
    sql.close()
    assert file.stat().st_size == 0


def test_a_vault_opens_with_the_sqlite_of_this_python(tmp_path):
    assert sqlite3.sqlite_version_info >= OLDEST_SQLITE
    with Vault(tmp_path / "agent.db") as vault:
        vault.add(id="a", title="Cookies")
        assert vault.search("cookies").ids == ["a"]


def test_a_connection_that_cannot_be_set_up_is_closed(tmp_path, monkeypatch):
    file = tmp_path / "agent.db"
    Vault(file).close()

    def damaged(version):
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(connection, "stand_ins", damaged)
    with pytest.raises(NotAVault) as refused:
        connection.connect(str(file), mode="ro")
    # The traceback holds it.
    made = [one.frame.f_locals["connection"] for one in refused.traceback if "connection" in one.frame.f_locals]
    assert made and not any(map(is_open, made))
