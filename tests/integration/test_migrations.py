"""Files of an older schema: upgraded when opened for writing, read as they are when not."""

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from septet import NotAVault, Vault
from septet.model.drafts import draft
from septet.sqlite.store import connection
from septet.sqlite.store.connection import APPLICATION_ID, SCHEMA_VERSION
from septet.sqlite.tables import entries

#: What rows have that version 1 had no columns for, and what is no column.
NEWER = ("parent", "source", "trust", "created_given")
#: Tables of version 6.
FILES = "DROP TABLE roots; DROP TABLE files; DROP TABLE mentions; DROP TABLE staged;"
FIRST = Path(__file__).with_name("data") / "schema-1.sql"


@pytest.fixture
def old(tmp_path):
    """A vault as version 1 wrote it: two entries, one of them with a vector."""
    path = tmp_path / "old.db"
    with closing(connection.connect(str(path), mode="rwc")) as sql:
        sql.execute("PRAGMA journal_mode = WAL")
        sql.executescript(FIRST.read_text(encoding="utf-8"))
        sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        sql.execute("PRAGMA user_version = 1")
        sql.execute("INSERT INTO meta VALUES ('store_id', 'x'), ('generation', 1)")
        drafts = [draft({"id": i, "title": f"word {i}"}, now=0.0) for i in ("a", "b")]
        for row in (entries.row_of(d)._asdict() for d in drafts):
            fields = {name: value for name, value in row.items() if name not in NEWER}
            names = ", ".join((*fields, "live", "generation"))
            sql.execute(f"INSERT INTO entries ({names}) VALUES ({'?, ' * len(fields)}1, 1)", [*fields.values()])
        sql.execute("INSERT INTO entries_fts (entries_fts) VALUES ('rebuild')")
        sql.execute("INSERT INTO spaces VALUES (1, 'm', 2, 'entry', 0.0)")
        row = np.array([1.0, 0.0], dtype="<f4").tobytes()
        sql.execute(
            "INSERT INTO vectors (space, key, vector) VALUES (1, ?, ?)",
            (f"{drafts[0].text_hash}:a", row),
        )
    return path


def version(path):
    with closing(sqlite3.connect(path)) as sql:
        return sql.execute("PRAGMA user_version").fetchone()[0]


def schema(path):
    """Tables with their columns, and indexes; a column added later stands last, wherever the text names it."""
    with closing(sqlite3.connect(path)) as sql:
        names = [r[0] for r in sql.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        tables = {n: sorted(r[1:] for r in sql.execute(f"SELECT * FROM pragma_table_info('{n}')")) for n in names}
        indexes = sql.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name").fetchall()
    return tables, indexes


def both(vault):
    return vault.search("word", query_vector=[1, 0]).ids


def test_an_older_vault_is_upgraded_when_it_is_opened_for_writing(old, tmp_path):
    with Vault(old) as vault:
        assert both(vault) == ["a", "b"]
        vault.add(id="c", title="word c", vector=[0, 1], model="m", created_at=0)
        # How near b is, which has no vector, is estimated.
        assert both(vault) == ["a", "b", "c"]
    with Vault(tmp_path / "new.db"):
        assert schema(old) == schema(tmp_path / "new.db")
    assert version(old) == SCHEMA_VERSION


def test_an_older_vault_opened_for_reading_is_read_and_left_as_it_is(old):
    before = old.read_bytes()
    with Vault(old, read_only=True) as vault:
        assert both(vault) == ["a", "b"]
        assert [h.id for h in vault.search("", query_vector=[1, 0], legs="vector")] == ["a"]
        assert vault.stats().spaces[0].entries == 1
        assert vault.explain("word", "a", query_vector=[1, 0]).found
    assert old.read_bytes() == before
    assert version(old) == 1


def test_who_reads_while_another_upgrades_goes_on_reading(old):
    with Vault(old, read_only=True) as reader:
        assert both(reader) == ["a", "b"]
        with Vault(old) as writer:
            writer.add(id="c", title="word c", vector=[0, 1], model="m", created_at=0)
            assert both(reader) == ["a", "b", "c"]


def test_several_may_open_an_older_vault_for_writing_at_once(old):
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(Vault, [old] * 4))
    for vault in opened:
        assert both(vault) == ["a", "b"]
        vault.close()


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(old):
    with closing(sqlite3.connect(old)) as sql:
        sql.execute("CREATE TABLE claims (x)")
    before = schema(old)
    with pytest.raises(connection.StoreError, match="claims already exists"):
        Vault(old)
    assert schema(old) == before
    assert version(old) == 1


def test_an_upgrade_that_is_interrupted_is_an_interrupt_and_leaves_the_file_as_it_was(old):
    with closing(sqlite3.connect(old)) as sql:
        sql.execute("UPDATE entries SET title = 'Größe'")
        sql.commit()

    def interrupt(frame, event, _argument):
        if event == "call" and frame.f_code.co_name == "tags_of":
            sys.settrace(None)
            raise KeyboardInterrupt

    before, tracing = schema(old), sys.gettrace()
    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            Vault(old)
    finally:
        sys.settrace(tracing)
    assert schema(old) == before
    assert version(old) == 1
    with Vault(old) as vault:
        assert vault.search("groesse").ids == ["a", "b"]


def test_a_version_that_was_never_written_is_refused(old):
    with closing(sqlite3.connect(old)) as sql:
        sql.execute("PRAGMA user_version = 0")
    with pytest.raises(NotAVault, match="schema version 0"):
        Vault(old)


def test_what_changed_is_found_by_its_generation_not_by_a_walk_of_all_entries(tmp_path):
    asked = []
    with Vault(tmp_path / "new.db") as vault:
        vault.add_many({"id": str(i), "title": f"word {i}"} for i in range(100))
        vault.search("word")
        vault.add(id="x", title="one more")
        with vault._store.reading() as read:
            read.sql.set_trace_callback(asked.append)
            assert len(entries.facts_changed(read, ["e.row"], read.generation - 1)) == 1
            read.sql.set_trace_callback(None)
            plan = read.sql.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert "USING" in plan[0][-1] and "entries_by_generation" in plan[0][-1]


def test_an_older_vault_has_entries_without_parents(old):
    with Vault(old, read_only=True) as vault:
        assert vault.get("a").parent is None
        assert vault.search("word", where={"parent": {"$exists": True}}).ids == []
        with Vault(old) as writer:
            writer.add(id="long", title="t", description="word " * 60, split=20)
        # The view that stood in for the column shows it, now that it is there.
        assert vault.get("long#1").parent == "long"
        assert set(vault.search("word", where={"parent": "long"}).ids) == {"long#1", "long#2", "long#3"}


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="the test drops columns")
def test_an_upgrade_brings_the_terms_of_words_with_accents(tmp_path):
    path = tmp_path / "v.db"
    texts = {"plain": "cafe au lait", "accented": "café au lait", "ascii": "getUserName"}
    with Vault(path) as vault:
        vault.add_many({"id": name, "title": text} for name, text in texts.items())
        vault.remember("crème brûlée", id="memory")
        wanted = vault.search("café", limit=5).ids
    with closing(sqlite3.connect(path)) as sql:
        # As version 3 wrote it: without these terms.
        sql.execute("INSERT INTO grams_fts (grams_fts) VALUES ('delete-all')")
        sql.execute("UPDATE entries SET grams = '' WHERE title GLOB '*[^ -~]*'")
        sql.execute("INSERT INTO grams_fts (rowid, grams) SELECT row, grams FROM entries WHERE grams <> ''")
        sql.executescript(
            f"DROP INDEX entries_by_parent; DROP TABLE link_changes; DROP TABLE history; {FILES}PRAGMA user_version = 3"
        )
        for name in ("parent", "source", "trust"):
            sql.execute(f"ALTER TABLE entries DROP COLUMN {name}")
        sql.commit()
    with Vault(path) as vault:
        assert vault.search("café", limit=5).ids == wanted and wanted[0] == "accented"
        assert vault.search("crème brûlée", include_memories=True).ids == ["memory"]
        assert vault.search("user name").ids == ["ascii"]
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("INSERT INTO grams_fts (grams_fts) VALUES ('integrity-check')")
        assert sql.execute("SELECT count(*) FROM grams_fts_docsize").fetchone() == (2,)
        grams = dict(sql.execute("SELECT id, grams FROM entries WHERE live"))
    assert grams["plain"] == "" and grams["accented"] == "cafze9z cafze9z cafze9z"
    assert grams["memory"] == " ".join(3 * ["crze8zme brzfbzlze9ze"])


def test_an_older_vault_has_entries_that_are_trusted_and_of_no_source(old):
    with Vault(old, read_only=True) as vault:
        assert (vault.get("a").source, vault.get("a").trust) == (None, "trusted")
        assert vault.search("word", where={"trust": "trusted"}).ids == ["a", "b"]
        with Vault(old) as writer:
            writer.update("a", source="user", trust="untrusted")
        assert (vault.get("a").source, vault.get("a").trust) == ("user", "untrusted")
        assert vault.search("word", where={"trust": "untrusted"}).ids == ["a"]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="the test drops columns")
def test_a_vault_of_version_4_is_read_with_its_links_and_history_and_then_upgraded(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add_many({"id": i, "title": f"word {i}"} for i in "abc")
        vault.link("a", "b")
        wanted = schema(path)
    with closing(sqlite3.connect(path)) as sql:
        sql.executescript(f"DROP TABLE history; {FILES} PRAGMA user_version = 4")
        for name in ("source", "trust"):
            sql.execute(f"ALTER TABLE entries DROP COLUMN {name}")
    with Vault(path, read_only=True) as reader:
        assert [(e.source, e.trust) for e in reader.load(["a", "b"])] == [(None, "trusted")] * 2
        assert set(reader.search("word a").ids) == {"a", "b", "c"}
        assert (reader.history("a"), reader.purge(history_older_than=0, dry_run=True)) == ([], 0)
        with Vault(path) as writer:
            writer.link("a", "c")
            writer.update("a", title="word changed")
        # Versions that others keep meanwhile, too.
        assert [version.entry.title for version in reader.history("a")] == ["word a"]
        assert reader.purge(history_older_than=0, dry_run=True) == 1
        # The reader sees the ages of links that others store meanwhile.
        assert [link.target for link in reader.links("a")] == ["b", "c"]
        assert set(reader.search("word a").ids) == {"a", "b", "c"}
    assert schema(path) == wanted
