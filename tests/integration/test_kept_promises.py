"""What the page on compatibility promises about files and numbers, held against what was recorded at a release."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from septet import SchemaTooNew, Vault
from septet.profiles import BUILTIN
from septet.sqlite.store.connection import SCHEMA_VERSION
from septet.sqlite.store.restoring import full_text_faults

DATA = Path(__file__).with_name("data")
#: By schema version, a vault as a release wrote it. None is ever changed; a new version adds one.
RELEASED = sorted(DATA.glob("vault-*.sql"))
PROFILES = json.loads((DATA / "profiles.json").read_text(encoding="utf-8"))


@pytest.fixture(params=RELEASED, ids=lambda path: path.stem)
def kept(request, tmp_path):
    """A vault that a release wrote."""
    path = tmp_path / "kept.db"
    with closing(sqlite3.connect(path)) as sql:
        sql.executescript(request.param.read_text(encoding="utf-8"))
    return path


def columns(path):
    """The columns of each table and view, in any order."""
    with closing(sqlite3.connect(path)) as sql:
        names = [row[0] for row in sql.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        return {name: sorted(row[1:] for row in sql.execute(f"PRAGMA table_info ('{name}')")) for name in names}


def answered(vault):
    return (
        vault.search("how does JWT validation work", query_vector=[1, 0]).ids[0],
        vault.search("café").ids[0],
        vault.search("user name").ids[0],
        vault.recall("short reports").ids,
        vault.get("cafe").trust,
        [version.entry.description for version in vault.history("cafe")],
        [link.target for link in vault.links("auth-jwt-001")],
        vault.stats().entries,
    )


ANSWERS = ("auth-jwt-001", "cafe", "cafe", ["maria"], "unverified", ["getUserName"], ["cafe"])


@pytest.mark.parametrize("read_only", [True, False], ids=["for reading", "for writing"])
def test_a_vault_that_a_release_wrote_is_read_as_it_was(kept, read_only):
    with Vault(kept, read_only=read_only) as vault:
        assert answered(vault)[:-1] == ANSWERS


def test_a_vault_that_a_release_wrote_is_written_and_sound(kept, tmp_path):
    with Vault(kept) as vault:
        vault.add(id="new", title="zebra")
        assert vault.search("zebra").ids == ["new"]
    assert full_text_faults(str(kept)) == []
    Vault(tmp_path / "new.db").close()
    assert columns(kept) == columns(tmp_path / "new.db")


def test_the_present_version_of_the_schema_is_recorded():
    assert f"vault-{SCHEMA_VERSION}.sql" in [path.name for path in RELEASED]


def test_a_vault_of_a_newer_version_is_refused_and_not_touched(kept):
    with closing(sqlite3.connect(kept)) as sql:
        sql.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = kept.read_bytes()
    for read_only in (True, False):
        with pytest.raises(SchemaTooNew, match=f"schema version {SCHEMA_VERSION + 1}"):
            Vault(kept, read_only=read_only)
    assert kept.read_bytes() == before


@pytest.mark.parametrize("lines", sorted(DATA.glob("export-*.jsonl")), ids=lambda path: path.stem)
def test_lines_that_a_release_exported_are_imported(lines, tmp_path):
    with Vault(tmp_path / "other.db") as vault:
        vault.import_(lines)
        assert answered(vault)[:5] == ANSWERS[:5]
        assert [link.target for link in vault.links("auth-jwt-001")] == ["cafe"]
        assert vault.vectors(["auth-jwt-001"]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_the_numbers_of_a_profile_are_those_of_its_release(name):
    """Those that are documented never change; `septet` with a line in the changelog."""
    assert json.loads(json.dumps(BUILTIN[name].to_dict())) == PROFILES[name]


def test_every_profile_is_recorded():
    assert sorted(PROFILES) == sorted(BUILTIN)
