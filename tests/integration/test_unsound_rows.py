"""Rows of another program, or damaged ones: searches and exports go on without them, reads of them raise."""

import io
import json
import sqlite3
from contextlib import suppress

import numpy as np
import pytest

from commands import Commands
from septet import CallableEmbedder, NotAVault, StoreError, Vault
from septet.sqlite.store import soundness

DEEP = "[" * 5_000
#: By SQL, what is made of the row of the first entry, and how `septet doctor` names the column.
UNSOUND = {
    "attrs that are no JSON": ("attrs = '{'", "attrs"),
    "attrs that are 5,000 deep": (f"attrs = '{DEEP}'", "attrs"),
    "attrs that are a list": ("attrs = '[1]'", "attrs"),
    "attrs with half a character": ("""attrs = '{"a":"\\ud800"}'""", "attrs"),
    "tags that are no list of texts": ("tags = '[[1],2]'", "tags"),
    "a time that is a text": ("created_at = 'x'", "created_at"),
    "an infinite time": ("updated_at = 9e999", "updated_at"),
    "an id that is a blob": ("id = x'ff00'", "id"),
    "a title that is no UTF-8": ("title = CAST(x'ff616c706861' AS TEXT)", "title"),
    "a line that is a fraction": ("first_line = 1.5", "first_line"),
    "a trust of its own": ("trust = 'perhaps'", "trust"),
}


def changed(path, sql):
    with sqlite3.connect(path) as other:
        other.create_function("casefold", 1, str.casefold, deterministic=True)
        other.execute(sql)
    other.close()


@pytest.fixture
def path(tmp_path):
    with Vault(tmp_path / "v.db", sidecar=False) as vault:
        vault.add_many({"id": f"e{i}", "title": f"alpha {i}", "attrs": {"n": i}, "vector": [1, i]} for i in range(5))
        vault.link("e1", "e2")
    return tmp_path / "v.db"


@pytest.mark.parametrize("name", UNSOUND)
def test_a_search_finds_the_others_and_says_what_it_left_out(path, name):
    changed(path, f"UPDATE entries SET {UNSOUND[name][0]} WHERE row = 1")
    with Vault(path, sidecar=False) as vault:
        for _ in range(2):
            found = vault.search("alpha", where={"attrs.n": {"$gte": 0}} if "JSON" in name else None)
            assert {"e1", "e2", "e3", "e4"} <= set(found.ids)
            assert all(type(hit.id) is str and hit.entry.to_dict() for hit in found)
        if name != "a trust of its own":
            assert "e0" not in found.ids
            (note,) = [note for note in found.notes if note.code == "rows_left_out"]
            assert f"entries row 1, column {UNSOUND[name][1]}" in note.cause
            assert found.degraded


@pytest.mark.parametrize(
    "name", [name for name in UNSOUND if name not in ("an id that is a blob", "a trust of its own")]
)
def test_a_read_of_the_entry_raises_and_of_others_does_not(path, name):
    changed(path, f"UPDATE entries SET {UNSOUND[name][0]} WHERE row = 1")
    with Vault(path, sidecar=False) as vault:
        with pytest.raises(StoreError):
            vault.get("e0")
        with pytest.raises(StoreError):
            vault.entries()
        vault.search("alpha")
        with pytest.raises(StoreError):
            vault.get("e0")
        assert vault.get("e1").attrs == {"n": 1}


@pytest.mark.parametrize("name", UNSOUND)
def test_an_export_goes_on_past_it_and_the_commands_say_so(path, name, tmp_path, monkeypatch):
    changed(path, f"UPDATE entries SET {UNSOUND[name][0]} WHERE row = 1")
    with Vault(path, sidecar=False) as vault:
        vault.search("alpha")
        out = io.StringIO()
        assert vault.export(out) == 5
        records = [json.loads(line) for line in out.getvalue().splitlines()]
        assert [one.get("id") for one in records[:4]] == ["e1", "e2", "e3", "e4"]
    run = Commands(tmp_path, monkeypatch)
    code, out, said = run("export")
    assert (code, len(out.splitlines())) == (0, 5)
    cause = "skipped rows that are damaged or were written by another program"
    assert f"rows_left_out: {cause}: entries row 1, column {UNSOUND[name][1]}" in said


@pytest.mark.parametrize("name", UNSOUND)
def test_the_doctor_names_table_row_and_column(path, name, tmp_path, monkeypatch):
    run = Commands(tmp_path, monkeypatch)
    assert run("doctor", "--offline")[0] == 0
    changed(path, f"UPDATE entries SET {UNSOUND[name][0]} WHERE row = 1")
    code, out, _ = run("doctor", "--offline", "--json")
    rows = json.loads(out)["checks"]["rows"]
    assert (code, rows["state"], rows["count"]) == (3, "fault", 1)
    assert rows["faults"][0].startswith(f"entries row 1, column {UNSOUND[name][1]}: ")


def test_the_doctor_names_twenty_rows_and_counts_the_others(path, tmp_path, monkeypatch):
    with Vault(path, sidecar=False) as vault:
        vault.add_many({"id": f"n{i}", "title": "beta"} for i in range(40))
    changed(path, "UPDATE entries SET tags = 'x' WHERE title = 'beta'")
    code, out, _ = Commands(tmp_path, monkeypatch)("doctor", "--offline")
    assert code == 3
    assert "40 damaged, or of another program" in out
    assert out.count("column tags") == 20
    assert "20 more" in out


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE vectors SET vector = x'0000803f00' WHERE row = 1", "vectors row 1, column vector: 5 bytes"),
        (f"UPDATE vectors SET vector = x'{np.float32([np.nan, 1]).tobytes().hex()}' WHERE row = 1", "NaN"),
        ("UPDATE vectors SET vector = 'text' WHERE row = 1", "expected bytes"),
        ("UPDATE links SET note = x'ff'", "links row 'e1', 'e2', column note"),
        ("INSERT INTO feedback VALUES (1, 'q', 'e1', x'00', 'x')", "feedback row 1, column action"),
        ("UPDATE spaces SET dimensions = 'x'", "spaces row 1, column dimensions"),
    ],
)
def test_rows_of_other_tables_are_left_out_too(path, tmp_path, monkeypatch, sql, said):
    changed(path, sql)
    with Vault(path, sidecar=False) as vault:
        assert {f"e{i}" for i in range(1, 5)} <= set(vault.search("alpha", query_vector=[1, 0]).ids)
        assert vault.export(io.StringIO()) >= 5
    out = Commands(tmp_path, monkeypatch)("doctor", "--offline")[1]
    assert said in " ".join(out.split())


def test_an_entry_that_is_stored_again_is_found_again(path):
    changed(path, "UPDATE entries SET attrs = '{' WHERE row = 1")
    with Vault(path, sidecar=False) as vault:
        assert "e0" not in vault.search("alpha").ids
        vault.add(id="e0", title="alpha anew")
        assert "e0" in vault.search("alpha anew").ids
        assert vault.get("e0").title == "alpha anew"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'a', 'b', 'c', 'd' FROM n"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (f"DROP TABLE links; CREATE VIEW links (source, target, type, note) AS {ENDLESS}", "a view links"),
        ("DROP TABLE claims; CREATE VIRTUAL TABLE claims USING fts5(model)", "a virtual table claims"),
    ],
)
def test_a_vault_with_something_else_in_the_place_of_a_table_is_none(path, tmp_path, monkeypatch, sql, said):
    with sqlite3.connect(path) as other:
        other.executescript(sql)
    other.close()
    with pytest.raises(NotAVault, match=said):
        Vault(path)
    code, out, _ = Commands(tmp_path, monkeypatch)("doctor", "--offline")
    assert code == 3
    assert said in out


def test_the_doctor_does_not_follow_another_view_and_names_triggers(path, tmp_path, monkeypatch):
    with sqlite3.connect(path) as other:
        other.executescript(
            "DROP VIEW memories; CREATE VIEW memories (row, id, context, summary, topics, grams) AS "
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'a', 'b', 'c', 'd', 'e' FROM n;"
            "CREATE TRIGGER own AFTER UPDATE ON entries BEGIN SELECT 1; END"
        )
    other.close()
    code, out, _ = Commands(tmp_path, monkeypatch)("doctor", "--offline")
    out = " ".join(out.split())
    assert code == 3
    assert "the view memories is another one than Septet makes" in out
    assert "the trigger 'own' on entries was not created by Septet" in out


def test_a_vault_that_does_not_say_its_generation_is_refused_by_reads_and_writes(path, tmp_path, monkeypatch):
    changed(path, "DELETE FROM meta WHERE key = 'generation'")
    with Vault(path, sidecar=False) as vault:
        for call in (lambda: vault.search("alpha"), lambda: vault.similar("e1"), lambda: vault.get("e1"), vault.stats):
            with pytest.raises(NotAVault, match="generation"):
                call()
        with pytest.raises(StoreError, match="no generation"):
            vault.add(id="new", title="alpha")
    out = Commands(tmp_path, monkeypatch)("doctor", "--offline")[1]
    assert "does not say its generation" in " ".join(out.split())


@pytest.mark.parametrize("value", [2**63 - 1, -1])
def test_no_write_follows_a_generation_that_has_none_after_it(path, value):
    changed(path, f"UPDATE meta SET value = {value} WHERE key = 'generation'")
    with Vault(path, sidecar=False) as vault, pytest.raises(StoreError, match=f"generation {value}"):
        vault.link("e1", "e3")


def test_a_vault_without_its_id_is_named_by_the_doctor_and_raises_where_the_id_is_wanted(path, tmp_path, monkeypatch):
    changed(path, "DELETE FROM meta WHERE key = 'store_id'")
    with Vault(path) as vault:
        assert len(vault.search("alpha")) == 5
        with pytest.raises(StoreError, match="meta row 'store_id'"):
            vault.optimize()
    assert "meta row 'store_id'" in Commands(tmp_path, monkeypatch)("doctor", "--offline")[1]


@pytest.mark.parametrize("key", ["purged", "emptied:1"])
def test_searches_trust_no_arrays_when_what_was_purged_is_unknown(path, key):
    with Vault(path) as vault:
        vault.optimize()
        changed(path, f"INSERT OR REPLACE INTO meta VALUES ('{key}', 'x')")
        assert len(vault.search("alpha", query_vector=[1, 0])) == 5
    with Vault(path) as vault:
        assert len(vault.similar("e1")) >= 1
        vault.add(id="new", title="alpha")
        assert len(vault.search("alpha", query_vector=[1, 0])) == 6


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("ALTER TABLE meta RENAME COLUMN value TO other", "meta has no column value"),
        ("ALTER TABLE spaces RENAME COLUMN dimensions TO other", "spaces has no column dimensions"),
        ("ALTER TABLE vectors RENAME COLUMN space TO other", "vectors has no column space"),
        ("DROP TABLE links", "there is no table links"),
    ],
)
def test_a_table_or_column_that_is_not_there_is_an_error_and_the_doctor_names_it(
    path, tmp_path, monkeypatch, sql, said
):
    changed(path, sql)
    with suppress(StoreError), Vault(path, sidecar=False) as vault:
        # What does not need it goes on.
        vault.export(io.StringIO())
    with pytest.raises(StoreError), Vault(path, sidecar=False) as vault:
        vault.add(id="new", title="alpha", vector=[1, 2])
        vault.link("new", "e1")
    code, out, _ = Commands(tmp_path, monkeypatch)("doctor", "--offline")
    assert code == 3
    if "meta" not in sql:
        # A vault that does not say its generation is not opened.
        assert said in " ".join(out.split())


def test_a_version_of_another_type_raises(path, tmp_path, monkeypatch):
    with Vault(path, sidecar=False) as vault:
        vault.update("e1", title="alpha anew")
    for column in ("call", "columns"):
        changed(path, f"UPDATE history SET {column} = x'ff'")
        with Vault(path, sidecar=False) as vault, pytest.raises(StoreError):
            vault.history("e1")
        code, _, said = Commands(tmp_path, monkeypatch)("history", "e1", "--json")
        assert code == 3
        assert "Traceback" not in said


@pytest.mark.parametrize("until", ["1e300", "'x'", "9e12"])
def test_a_sync_does_not_wait_for_a_claim_that_nobody_makes(path, tmp_path, until):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nword\n", encoding="utf-8")
    changed(path, f"INSERT INTO claims VALUES ('files', 'sync', 'somebody', {until})")
    with Vault(path, sidecar=False) as vault:
        assert vault.sync(folder, timeout_s=2).files_added == 1


def test_a_sync_whose_claim_a_trigger_removes_raises(path, tmp_path):
    changed(path, "CREATE TRIGGER own AFTER INSERT ON claims BEGIN DELETE FROM claims; END")
    (tmp_path / "notes").mkdir()
    with Vault(path, sidecar=False) as vault, pytest.raises(StoreError, match="sync lock"):
        vault.sync(tmp_path / "notes", timeout_s=2)


def test_rows_of_the_index_that_no_entry_has_end_no_search(path):
    with Vault(path, sidecar=False) as vault:
        vault.remember("alpha memory", id="m")
    ghosts = [(row, "alpha") for row in range(900, 930)]
    with sqlite3.connect(path) as other:
        other.executemany("INSERT INTO grams_fts (rowid, grams) VALUES (?, ?)", ghosts)
        other.executemany("INSERT INTO memories_fts (rowid, context) VALUES (?, ?)", ghosts)
    other.close()
    with Vault(path, sidecar=False, read_only=True) as vault:
        found = vault.search("alpha", include_memories=True, include_expired=True, profile="recall")
        assert {"e1", "m"} & set(found.ids)


def test_vectors_of_a_space_that_is_made_meanwhile_are_sound(path, monkeypatch):
    connect = soundness.connect

    def connected(*given, **named):
        sql, made = connect(*given, **named), []

        def write(statement):
            if "FROM main.vectors" in statement and not made:
                made.append(statement)
                with Vault(path, sidecar=False) as vault:
                    vault.add(title="in another space", vector=[1, 2, 3], model="another")

        sql.set_trace_callback(write)
        return sql

    monkeypatch.setattr(soundness, "connect", connected)
    assert soundness.unsound_rows(str(path)) == ([], "")
    with Vault(path, sidecar=False) as vault:
        assert len(vault.embedding_status().spaces) == 2


def test_vectors_that_come_late_are_read_beside_those_that_are_left_out(path):
    changed(path, "UPDATE vectors SET vector = x'00' WHERE rowid = 1")
    embedder = CallableEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], model="late")
    with Vault(path, sidecar=False, embedder=embedder) as vault:
        vault.add(id="late", title="beta")
        assert vault.embedding_status(wait_s=60).activity == "idle"
        vault.export(io.StringIO())
        assert vault._store.left_out
        with vault._store.begin_reading() as read:
            space = next(one for one in read.tables.vectors.all_spaces(read) if "late" in one.model)
            late = read.tables.texts.late_vectors
            assert sorted(one.at for page in late(read, space, 0) for one in page) == [1, 2, 3, 4, 5, 6]
            assert [*late(read, space, 99)] == []
