"""One vault: everything that is written can be read, and every change changes exactly what it says."""

import io
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from septet import (
    BatchError,
    Closed,
    EntryError,
    EntryNotFound,
    ReadOnly,
    Span,
    StoreError,
    Vault,
    VectorError,
)

NOW = 1_700_000_000.0


class Clock:
    """A clock that shows what it was set to."""

    def __init__(self, now=NOW):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def vault(tmp_path, clock):
    with Vault(tmp_path / "v.db", clock=clock) as made:
        yield made


def nearest(vault, *vector, **options):
    return [h.id for h in vault.search("", query_vector=vector, **options) if h.signals["vector"] is not None]


def full_text_is_sound(vault):
    with closing(sqlite3.connect(vault.path)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("entries_fts", "grams_fts"):
            sql.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    return True


def test_an_upsert_keeps_the_creation_time_and_replaces_the_rest(vault, clock):
    vault.add(id="x", title="First", tags=["a"], attrs={"k": 1})
    clock.now += 100
    vault.add(id="x", title="Second")
    entry = vault.get("x")
    assert (entry.title, entry.tags, entry.attrs) == ("Second", (), {})
    assert (entry.created_at, entry.updated_at) == (NOW, NOW + 100)
    assert (vault.search("first").ids, vault.search("second").ids, len(vault)) == ([], ["x"], 1)


def test_a_given_creation_time_wins_over_the_stored_one(vault):
    vault.add(id="x", title="First")
    vault.add(id="x", title="First", created_at=5)
    assert vault.get("x").created_at == 5


def test_a_clock_that_goes_backwards_breaks_nothing(vault, clock):
    vault.add(id="x", title="First")
    clock.now -= 1_000
    vault.add(id="x", title="Second")
    assert vault.get("x").created_at <= vault.get("x").updated_at
    clock.now -= 1_000
    assert vault.update("x", title="Third").updated_at >= vault.get("x").created_at
    assert 0 <= vault.search("third")[0].score <= 1


def test_an_update_changes_what_it_names(vault, clock):
    vault.add(id="x", title="First", description="kept", tags=["a"], span=Span("f", 1, 2), valid_until=NOW * 2)
    clock.now += 10
    changed = vault.update("x", title="Second", valid_until=None)
    assert changed == vault.get("x")
    assert (changed.title, changed.description, changed.tags) == ("Second", "kept", ("a",))
    assert (changed.created_at, changed.updated_at, changed.valid_until) == (NOW, NOW + 10, None)
    with pytest.raises(EntryNotFound, match="no entry 'y'"):
        vault.update("y", title="Second")


def test_a_deleted_entry_is_gone_with_its_links_and_vectors_and_may_come_back(vault, clock):
    vault.add(id="x", title="Secret word", vector=[1, 0])
    vault.add(id="y", title="Other")
    vault.link("x", "y")
    assert vault.delete("x", "missing", "x") == 1
    assert (vault.get("x"), "x" in vault, vault.links("y"), len(vault)) == (None, False, [], 1)
    assert (vault.search("secret").ids, nearest(vault, 1, 0)) == ([], [])
    with pytest.raises(EntryNotFound):
        vault.explain("secret", "x")
    clock.now += 100
    vault.add(id="x", title="Secret word")
    assert vault.get("x").created_at == NOW + 100
    assert (nearest(vault, 1, 0), vault.links("x")) == ([], [])
    assert vault.search("secret").ids == ["x"] and full_text_is_sound(vault)


def test_a_deleted_text_leaves_the_file_when_it_is_purged(vault):
    vault.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(10))
    assert vault.delete([f"e{i}" for i in range(5)], "e5") == 6
    assert (vault.purge(), vault.purge(), len(vault)) == (6, 0, 4)
    assert full_text_is_sound(vault)
    vault.add(id="fresh", title="word")
    assert sorted(vault.search("word", limit=20).ids) == ["e6", "e7", "e8", "e9", "fresh"]


def test_a_purge_before_the_next_search_leaves_no_ghost(vault):
    vault.add_many({"id": f"g{i}", "title": f"ghost {i}", "vector": [1, 0.001 * i]} for i in range(40))
    vault.add(id="real", title="real", vector=[0, 1])
    vault.search("ghost", query_vector=[1, 0])
    vault.delete([f"g{i}" for i in range(40)])
    vault.purge()
    assert nearest(vault, 1, 0, limit=5) == ["real"]


def test_vectors_are_dropped_when_the_text_changes_and_kept_when_it_does_not(vault):
    vault.add(id="x", title="First", vector=[1, 0])
    vault.update("x", tags=["t"], severity="critical")
    vault.add(id="x", title="First", domain="other")
    assert nearest(vault, 1, 0) == ["x"]
    vault.update("x", title="Second")
    assert nearest(vault, 1, 0) == []
    vault.update("x", title="Third", vector=[0, 1])
    assert nearest(vault, 0, 1) == ["x"]
    vault.add(id="x", title="First")
    assert vault.stats().spaces == []


def test_a_vector_stays_with_its_text_when_a_batch_names_an_id_twice(vault):
    vault.add_many([{"id": "x", "title": "First", "vector": [1, 0]}, {"id": "x", "title": "Second"}])
    assert vault.get("x").title == "Second"
    assert vault.stats().spaces == []


def test_a_source_may_reuse_its_buffer_for_every_vector(vault):
    buffer = np.zeros(2, dtype=np.float32)

    def source():
        for i, vector in enumerate([(1, 0), (0, 1)]):
            buffer[:] = vector
            yield {"id": f"e{i}", "title": f"word {i}", "vector": buffer}

    vault.add_many(source())
    assert (nearest(vault, 1, 0, limit=1), nearest(vault, 0, 1, limit=1)) == (["e0"], ["e1"])


def test_an_entry_keeps_one_vector_or_one_per_model_as_the_profile_says(tmp_path):
    for profile, spaces in (("septet", {"b"}), ("six-signals", {"a", "b"})):
        with Vault(tmp_path / f"{profile}.db", profile=profile) as vault:
            vault.add(id="x", title="First", vector=[1, 0], model="a")
            vault.add(id="x", title="First", vector=[1, 0, 0], model="b")
            assert {s.model for s in vault.stats().spaces} == spaces


def test_a_query_vector_of_another_dimension_is_an_error_that_says_what_there_is(vault):
    vault.add(id="x", title="First", vector=[1, 0])
    with pytest.raises(VectorError, match=r"3 dimensions.*given \(2\)"):
        vault.search("first", query_vector=[1, 0, 0])
    with pytest.raises(VectorError, match="'other'"):
        vault.search("first", query_vector=[1, 0], model="other")


def test_a_query_vector_without_any_stored_is_a_note(vault):
    vault.add(id="x", title="First")
    results = vault.search("first", query_vector=[1, 0, 0])
    assert (results.ids, [n.code for n in results.notes], results.degraded) == (["x"], ["no_vectors"], True)


def test_memories_are_found_when_asked_for_and_count_nowhere_else(vault):
    vault.remember("Chose WAL", "because of readers", ["sqlite"], id="m", vector=[1, 0])
    vault.add(id="x", title="WAL notes", vector=[0, 1])
    assert vault.search("wal").ids == ["x"]
    hits = vault.search("wal", include_memories=True)
    assert sorted(hits.ids) == ["m", "x"]
    memory = next(h for h in hits if h.id == "m")
    assert memory.score == pytest.approx(sum(memory.breakdown.values())) != 0.5
    hits = vault.search("wal", include_memories=True, profile="seven-signals")
    memory = next(h for h in hits if h.id == "m")
    assert (memory.score, memory.kind, dict(memory.breakdown)) == (0.5, "memory", {"memory": 0.5})
    assert vault.search("wal", kinds="memory").ids == ["m"]
    assert nearest(vault, 1, 0) == ["x"]


def test_an_entry_may_become_a_memory_and_an_entry_again(vault):
    vault.add(id="x", title="WAL notes", vector=[1, 0])
    vault.update("x", kind="memory")
    assert (vault.search("wal").ids, nearest(vault, 1, 0)) == ([], [])
    assert vault.search("wal", include_memories=True).ids == ["x"]
    vault.update("x", kind="entry")
    assert (vault.search("wal").ids, nearest(vault, 1, 0)) == (["x"], ["x"])
    assert full_text_is_sound(vault)


def test_links_are_stored_once_and_need_both_ends(vault):
    vault.add_many({"id": i, "title": i} for i in "abc")
    vault.link("a", "b", "needs", note="n")
    vault.link("a", "b", "extends")
    assert vault.link_many([("b", "c"), ("c", "a", "cites")]) == 2
    assert [tuple(link) for link in vault.links("a")] == [("a", "b", "extends", ""), ("c", "a", "cites", "")]
    for bad in (("a", "missing"), ("missing", "a")):
        with pytest.raises(EntryNotFound, match="missing"):
            vault.link_many([("a", "c"), bad])
    for bad in [("a", "a"), ("a",), ("a", "b", ""), ("a", 5), ("a", "b", "t", "n", "x")]:
        with pytest.raises(EntryError):
            vault.link_many([bad])
    assert (vault.unlink("a", "b"), vault.unlink("a", "b"), vault.stats().links) == (True, False, 2)


def test_a_hub_with_very_many_links_floods_neither_results_nor_time(vault):
    vault.add(id="hub", title="hub alpha")
    vault.add_many({"id": f"n{i}", "title": f"leaf {i}"} for i in range(8_000))
    vault.link_many(("hub", f"n{i}") for i in range(8_000))
    results = vault.search("alpha")
    # Five neighbours of an entry are walked to.
    assert results.ids == ["hub", *(f"n{i}" for i in range(5))]
    assert len(vault.search("alpha", profile="seven-signals")) == 10
    assert results.tiers[0].candidates == 1


SURROGATES = {
    "link type": lambda v: v.link("a", "b", "\ud800"),
    "link note": lambda v: v.link("a", "b", note="\ud800"),
    "links": lambda v: v.links("\ud800"),
    "unlink": lambda v: v.unlink("\ud800", "b"),
    "feedback query": lambda v: v.feedback("\ud800", "a", "accepted"),
    "model": lambda v: v.add(title="t", vector=[1], model="\ud800"),
}


@pytest.mark.parametrize("call", SURROGATES.values(), ids=SURROGATES)
def test_a_lone_surrogate_outside_an_entry_is_a_septet_error(vault, call):
    vault.add_many({"id": i, "title": i} for i in "ab")
    with pytest.raises((EntryError, EntryNotFound)):
        call(vault)


def test_a_batch_that_stops_says_how_far_it_got(vault):
    told = []
    items = [{"title": f"word {i}"} for i in range(12_500)]
    items[11_000] = {"title": ""}
    with pytest.raises(BatchError, match=r"item 11000.*title is empty.*10000") as caught:
        vault.add_many(items, progress=lambda done, total: told.append((done, total)))
    assert (caught.value.written, caught.value.index, len(vault)) == (10_000, 11_000, 10_000)
    assert told == [(5_000, 12_500), (10_000, 12_500)]


@pytest.mark.parametrize("item", [5, None, "text", ["a"], {"title": "t", "colour": 1}, {"vector": [1]}], ids=repr)
def test_an_item_that_is_no_entry_is_a_batch_error(vault, item):
    with pytest.raises(BatchError) as caught:
        vault.add_many([{"title": "fine"}, item])
    assert (caught.value.written, caught.value.index, len(vault)) == (0, 1, 0)


def test_a_batch_with_two_dimensions_for_one_model_is_not_written(vault):
    with pytest.raises(BatchError, match="3 dimensions") as caught:
        vault.add_many([{"title": "a", "vector": [1, 0]}, {"title": "b", "vector": [1, 0, 0]}])
    assert (caught.value.written, len(vault), vault.stats().spaces) == (0, 0, [])


def test_items_may_be_made_by_searching_the_same_vault(vault):
    def source():
        for i in range(10_100):
            if i % 3_500 == 0:
                yield {
                    "id": f"e{i}",
                    "title": f"seen {len(vault.search('word', limit=9))} {vault.add(title=f'own {i}')}",
                }
            yield {"title": f"word {i}"}

    assert len(vault.add_many(source())) == 10_100 + 3
    assert vault.get("e7000").title.startswith("seen 9")


def test_an_error_of_the_source_says_how_many_are_stored_and_whole_batches_stay(vault):
    def source():
        for i in range(5_500):
            yield {"title": f"word {i}"}
        raise OSError("the source broke")

    with pytest.raises(BatchError, match="the source broke") as caught:
        vault.add_many(source())
    assert (caught.value.written, caught.value.index) == (5_000, 5_500)
    assert isinstance(caught.value.__cause__, OSError)
    assert len(vault) == 5_000


@pytest.mark.parametrize("first", [True, False])
def test_a_closed_vault_says_so(tmp_path, first):
    vault = Vault(tmp_path / "v.db" if first else ":memory:")
    vault.add(id="x", title="word")
    vault.close()
    vault.close()
    for call in (
        lambda: vault.add(title="t"),
        lambda: vault.search("word"),
        lambda: vault.get("x"),
        lambda: vault.explain("word", "x"),
        lambda: vault.stats(),
        lambda: vault.delete("x"),
        lambda: vault.links("x"),
        lambda: vault.export(io.StringIO()),
        lambda: vault.backup(tmp_path / "copy.db"),
        lambda: len(vault),
    ):
        with pytest.raises(Closed, match="was closed"):
            call()


def test_an_empty_vault_answers_everything(vault):
    assert (vault.search("word").ids, vault.search("word", query_vector=[1]).ids) == ([], [])
    assert (vault.get("x"), vault.load(["x"]), vault.links("x"), len(vault)) == (None, [], [], 0)
    assert (vault.delete("x"), vault.delete(), vault.purge(), vault.purge(feedback=True)) == (0, 0, 0, 0)


def test_an_empty_vault_is_a_true_value(vault):
    assert vault


def test_a_read_only_vault_reads_and_refuses_every_write(vault):
    vault.add_many({"id": i, "title": f"word {i}", "vector": [1, 0]} for i in "ab")
    with Vault(vault.path, read_only=True) as reader:
        assert sorted(reader.search("word", query_vector=[1, 0]).ids) == ["a", "b"]
        for write in (
            lambda: reader.add(title="t"),
            lambda: reader.update("a", title="t"),
            lambda: reader.delete("a"),
            lambda: reader.purge(),
            lambda: reader.link("a", "b"),
            lambda: reader.feedback("word", "a", "accepted"),
        ):
            with pytest.raises(ReadOnly, match="read_only=True"):
                write()
        vault.add(id="c", title="word c")
        assert sorted(reader.search("word").ids) == ["a", "b", "c"]


def test_a_backup_in_use_is_a_whole_vault(vault, tmp_path):
    vault.add_many({"id": f"e{i}", "title": f"word {i}", "vector": [1, i]} for i in range(500))
    told = []

    def progress(done, total):
        told.append((done, total))
        vault.add(title=f"meanwhile {len(told)}")

    copy = tmp_path / "copy.db"
    vault.backup(copy, progress=progress)
    assert told and told[-1][0] == told[-1][1]
    with Vault(copy) as other:
        assert len(other) == 500 and full_text_is_sound(other)
        assert nearest(other, 1, 3, limit=1) == nearest(vault, 1, 3, limit=1)
    with pytest.raises(StoreError, match="vault itself"):
        vault.backup(vault.path)
    with pytest.raises(StoreError, match="does not exist"):
        vault.backup(tmp_path / "missing" / "copy.db")


def test_a_backup_over_a_vault_in_use_is_refused_or_holds(vault, tmp_path):
    vault.add_many({"id": f"e{i}", "title": f"word {i}"} for i in range(100))
    with Vault(tmp_path / "copy.db") as other:
        other.add(id="old", title="old")
        try:
            vault.backup(tmp_path / "copy.db")
        except StoreError:
            return
        with Vault(tmp_path / "copy.db") as copy:
            assert "e5" in copy and "old" not in copy


def test_lines_that_are_json_but_no_records_are_refused(vault):
    for line in ('{"record": "link", "source": "a"}', '{"record": "other"}', "[1]"):
        with pytest.raises(EntryError, match="line 1"):
            vault.import_(io.StringIO(line))
    assert json.loads(json.dumps(vault.stats().to_dict()))["entries"] == 0
