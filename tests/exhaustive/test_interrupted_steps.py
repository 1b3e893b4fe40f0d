"""An interrupt at any line of Septet leaves what it stopped usable, and hinders neither threads nor other processes."""

import gc
import os

import numpy as np
import pytest

from doubles import Letters
from interrupting import interrupted, on_a_thread
from septet import EmbeddingOptions, Vault, VectorIndex, _core

#: What an interrupt left to nobody closes itself, and Python may say so.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
#: With time to spare every line is tried, else one in so many.
EVERY = 1 if os.environ.get("SEPTET_STRESS_S") else 19
NOW = 1.7e9
ROWS = [{"id": f"e{i}", "title": f"word {i}", "vector": [1.0, i], "domain": f"d{i % 3}"} for i in range(30)]


@pytest.fixture(autouse=True)
def collected():
    """Have it said of the test that left something, and not of one that follows."""
    yield
    gc.collect()


def steps(act, check, *, before=lambda: None, every=EVERY, spared=None):
    """Interrupt an act at one line after the other, with a check after each."""
    at = tried = 0
    while True:
        before()
        where = interrupted(act, at, spared)
        if where is None:
            return tried
        try:
            check()
        except BaseException as fault:
            raise AssertionError(f"after an interrupt at {where}, step {at}: {fault!r}") from fault
        tried += 1
        at += every


def answers(vault):
    """What searches return, to the digit."""
    found = [
        vault.search("word 7", limit=5),
        vault.search("word 3", limit=5, query_vector=[1.0, 3.0], where={"domain": "d0"}),
    ]
    return [[(hit.id, hit.score) for hit in one] for one in found]


class World:
    """A vault under test, and another one on the same file as other processes have it."""

    def __init__(self, path, **options):
        self.path, self.options = path, options
        self.vault = Vault(path, clock=lambda: NOW, **options)
        self.vault.add_many(ROWS)
        self.vault.link("e1", "e2")
        self.other = Vault(path, clock=lambda: NOW)
        self.turn = 0

    def at_rest(self):
        """Nobody is inside SQLite any more: a fork could happen at once."""
        try:
            assert _core.shut_gate(5.0), "a read or a write was left open"
        finally:
            _core.open_gate()

    def check(self):
        self.at_rest()
        self.turn += 1
        self.other.add(id="other", title=f"another process {self.turn}", vector=[1.0, 99.0])
        on_a_thread(lambda: self.vault.add(id="thread", title=f"another thread {self.turn}", vector=[1.0, 98.0]))
        self.vault.add(id="same", title=f"the same thread {self.turn}", vector=[1.0, 97.0])
        wanted = answers(self.other)
        assert answers(self.vault) == wanted
        assert on_a_thread(lambda: answers(self.vault)) == wanted

    def close(self):
        on_a_thread(self.vault.close)
        self.other.close()


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "v.db")
    yield made
    made.close()


SEARCHES = {
    "text": lambda v: v.search("word 7", limit=5),
    "hybrid": lambda v: v.search("word 7", limit=5, query_vector=[1.0, 7.0]),
    "filtered": lambda v: v.search("word 7", limit=5, query_vector=[1.0, 7.0], where={"domain": "d1"}),
    "many": lambda v: v.search_many(["word 1", "word 2", "word 3"], threads=2),
    "explained": lambda v: v.explain("word 7", "e7"),
}


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_search_may_be_interrupted_at_any_line(world, kind):
    SEARCHES[kind](world.vault)
    assert steps(lambda: SEARCHES[kind](world.vault), world.check, every=2 * EVERY if kind == "many" else EVERY) > 5


WRITES = {
    "add": lambda v: v.add(id="new", title="new word", vector=[1.0, 50.0]),
    "add many": lambda v: v.add_many([{"id": f"n{i}", "title": f"word {i}", "vector": [1.0, i]} for i in range(3)]),
    "update": lambda v: v.update("e5", severity="critical"),
    "delete": lambda v: (v.delete("e6"), v.add(**ROWS[6])),
    "link": lambda v: v.link("e1", "e3"),
    "remember": lambda v: v.remember("a fact", id="m"),
    "feedback": lambda v: v.feedback("word", "e1", "accepted"),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_may_be_interrupted_at_any_line(world, kind):
    assert steps(lambda: WRITES[kind](world.vault), world.check, every=-(-EVERY // 4)) > 5


def test_the_first_search_after_a_change_may_be_interrupted_at_any_line(world):
    def change():
        world.turn += 1
        world.other.add(id="e4", title=f"word 4 {world.turn}", vector=[1.0, 4.0])

    world.vault.search("word")
    assert steps(lambda: answers(world.vault), world.check, before=change, every=2 * EVERY) > 5


def test_the_first_search_of_all_may_be_interrupted_at_any_line(tmp_path):
    world = World(tmp_path / "v.db")

    def anew():
        world.vault.close()
        world.vault = Vault(world.path, clock=lambda: NOW)

    assert steps(lambda: answers(world.vault), world.check, before=anew, every=2 * EVERY) > 5
    world.close()


@pytest.mark.parametrize("kind", ["backup", "export", "optimize", "stats"])
def test_other_work_may_be_interrupted_at_any_line(world, tmp_path, kind):
    act = {
        "backup": lambda: world.vault.backup(tmp_path / "copy.db"),
        "export": lambda: world.vault.export(tmp_path / "copy.jsonl"),
        "optimize": world.vault.optimize,
        "stats": world.vault.stats,
    }[kind]
    every = {"stats": -(-EVERY // 6), "export": 8 * EVERY}.get(kind, EVERY)
    assert steps(act, world.check, every=every) > 3
    on_a_thread(act)
    left = {p.name for p in tmp_path.iterdir()} - {"copy.db", "copy.jsonl", "v.db", "v.db-wal", "v.db-shm"}
    assert left <= {"v.db.septet"}


def test_closing_may_be_interrupted_at_any_line_and_is_done_when_it_is_called_again(tmp_path):
    path, opened = tmp_path / "v.db", []
    with Vault(path) as vault:
        vault.add_many(ROWS)

    def anew():
        opened[:] = [Vault(path)]
        opened[0].search("word")

    def check():
        on_a_thread(opened[0].close)
        on_a_thread(opened[0].close)
        assert not path.with_name("v.db-wal").exists(), "a connection was left open"

    assert steps(lambda: opened[0].close(), check, before=anew, every=1) > 5
    opened[0].close()


def test_embedding_may_be_interrupted_at_any_line_and_goes_on(tmp_path):
    embedder = Letters()
    options = EmbeddingOptions(automatic=False, batch_texts=2)
    world = World(tmp_path / "v.db", embedder=embedder, embedding_options=options)
    world.vault.embed()

    def change():
        world.turn += 1
        world.vault.add_many({"id": f"t{i}", "title": f"text {i} {world.turn}"} for i in range(3))

    def check():
        world.at_rest()
        assert on_a_thread(world.vault.embed).missing == 0
        world.other.add(id="other", title=f"another process {world.turn}")

    assert steps(world.vault.embed, check, before=change, every=2 * EVERY, spared="with self._state") > 5
    world.close()


@pytest.mark.parametrize("kind", ["add", "search", "save"])
def test_an_index_of_vectors_may_be_interrupted_at_any_line(tmp_path, kind):
    rows = np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32)
    index, twin = VectorIndex(8), VectorIndex(8)

    def check():
        # What was interrupted added its rows, or none.
        added = len(index) - len(twin)
        assert added in (0, 5)
        twin.add(rows[:added])
        assert on_a_thread(lambda: index.add(rows[5:8])) == twin.add(rows[5:8])
        assert [part.tolist() for part in index.search(rows[3], 50)] == [
            part.tolist() for part in twin.search(rows[3], 50)
        ]

    acts = {
        "add": lambda: index.add(rows[:5]),
        "search": lambda: index.search(rows[3], 5),
        "save": lambda: index.save(tmp_path / "i.npy"),
    }
    assert steps(acts[kind], check, every=1) > 5
    assert {p.name for p in tmp_path.iterdir()} <= {"i.npy", "i.npy.codes"}


@pytest.mark.parametrize("kind", ["add", "upsert", "remove", "look up"])
def test_ids_of_an_index_may_be_changed_with_interrupts_at_any_line(kind):
    rows = np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32)
    index, count = VectorIndex(8), 20
    index.add(rows[:count], [f"v{i}" for i in range(count)])

    def check():
        # All of it happened, or nothing; whoever comes next finds ids and vectors as they belong together.
        known = on_a_thread(lambda: index.ids.tolist())
        if kind in ("add", "remove"):
            assert len(known) - count in (0, 3 if kind == "add" else -3)
        on_a_thread(lambda: index.upsert(rows[:count], [f"v{i}" for i in range(count)]))
        index.remove([one for one in index if int(one[1:]) >= count], strict=True)
        assert list(index) == [f"v{i}" for i in range(count)]
        np.testing.assert_array_equal(index.get(list(index)), _core.unit_rows(rows[:count]))
        assert index.search(rows[7], 1, ids=["v3", "v7"])[0].tolist() == ["v7"]

    acts = {
        "add": lambda: index.add(rows[20:23], ["v20", "v21", "v22"]),
        "upsert": lambda: index.upsert(rows[20:23], ["v3", "v5", "v7"]),
        "remove": lambda: index.remove(["v3", "v5", "v7"]),
        "look up": lambda: (index["v3"], "v4" in index, index.search(rows[0], ids=["v5"])),
    }
    assert steps(acts[kind], check, every=1) > 5


def test_a_write_that_wakes_the_background_may_be_interrupted(tmp_path):
    world = World(tmp_path / "v.db", embedder=Letters(), embedding_options=EmbeddingOptions(batch_texts=50))
    assert world.vault.embedding_status(wait_s=60).activity == "idle"

    def act():
        world.turn += 1
        world.vault.add(id="text", title=f"text {world.turn}")

    def check():
        on_a_thread(lambda: world.vault.add(id="later", title=f"later {world.turn}"))
        assert world.vault.embedding_status(wait_s=20).activity == "idle", "the background does not embed any more"

    assert steps(act, check, every=10, spared="with self._state") > 5
    world.close()
