"""Whatever is done to a vault, by whom and in which order, what is derived from it equals a rebuild from scratch."""

import shutil
import tempfile
import zlib
from copy import deepcopy
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from examples import heavy
from septet import Vault, VectorError, _core
from septet.model.drafts import draft
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.postings import agrees
from septet.sqlite.tables import texts
from septet.sqlite.tables.vectors import spaces

VOCABULARY = ["alpha", "beta", "gamma", "naïve", "getUserName", "東京都", "đồng"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4)
IDS = st.sampled_from([f"e{i}" for i in range(8)])
VECTORS = st.one_of(st.none(), st.sampled_from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]]))
WINDOWS = st.tuples(st.one_of(st.none(), st.integers(-5, 30)), st.one_of(st.none(), st.integers(0, 60)))
MODEL = "test/letters"
QUERIES = ("alpha", "beta gamma", "user name", "naive dong", "東京", "alpha alpha beta")


class Vaults(RuleBasedStateMachine):
    """A vault with two connections, a clock, and a model of what it should hold."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.folder = Path(tempfile.mkdtemp(prefix="septet-"))
        self.model = {}
        self.embedded = set()
        self.backup = None

    @initialize()
    def opened(self):
        self.vault = self.open()
        self.other = self.open()

    def open(self, name="v.db"):
        return Vault(self.folder / name, clock=lambda: self.now)

    def teardown(self):
        for vault in (getattr(self, "vault", None), getattr(self, "other", None)):
            if vault is not None:
                vault.close()
        shutil.rmtree(self.folder)

    def writer(self, elsewhere):
        return self.other if elsewhere else self.vault

    @rule(elsewhere=st.booleans(), id=IDS, words=WORDS, vector=VECTORS, window=WINDOWS, memory=st.booleans())
    def add(self, elsewhere, id, words, vector, window, memory):
        first, last = window
        if first is not None and last is not None and last < first:
            first, last = last, first
        fields = {
            "id": id,
            "title": " ".join(words),
            "tags": words[:1],
            "kind": "memory" if memory else "entry",
            "valid_from": first,
            "valid_until": last,
        }
        self.writer(elsewhere).add(**fields, vector=vector)
        old = self.model.get(id)
        if vector is None and old is not None and old["title"] == fields["title"]:
            vector = old["vector"]
        self.model[id] = {**fields, "vector": vector}

    @rule(elsewhere=st.booleans(), items=st.lists(st.tuples(IDS, WORDS), max_size=6, unique_by=lambda i: i[0]))
    def add_many(self, elsewhere, items):
        self.writer(elsewhere).add_many({"id": id, "title": " ".join(words)} for id, words in items)
        for id, words in items:
            old, title = self.model.get(id), " ".join(words)
            vector = old["vector"] if old is not None and old["title"] == title else None
            self.model[id] = {"id": id, "title": title, "vector": vector}

    @rule(elsewhere=st.booleans(), id=IDS, kind=st.sampled_from(["entry", "chunk", "memory"]))
    def change_kind(self, elsewhere, id, kind):
        if id in self.model:
            self.writer(elsewhere).update(id, kind=kind)
            self.model[id]["kind"] = kind

    @rule(elsewhere=st.booleans(), id=IDS, vector=VECTORS)
    def give_vector(self, elsewhere, id, vector):
        if id in self.model and vector is not None:
            self.writer(elsewhere).update(id, vector=vector)
            self.model[id]["vector"] = vector

    @rule(elsewhere=st.booleans(), ids=st.lists(IDS, max_size=3))
    def delete(self, elsewhere, ids):
        assert self.writer(elsewhere).delete(ids) == len(set(ids) & set(self.model))
        for id in ids:
            self.model.pop(id, None)

    @rule(elsewhere=st.booleans(), word=st.sampled_from(VOCABULARY), dry=st.booleans())
    def delete_by_filter(self, elsewhere, word, dry):
        passing = {id for id, fields in self.model.items() if word in fields["title"]}
        assert self.writer(elsewhere).delete(where={"title": {"$contains": word}}, dry_run=dry) == len(passing)
        for id in () if dry else passing:
            del self.model[id]

    @rule(elsewhere=st.booleans(), ids=st.lists(IDS, max_size=5), kind=st.sampled_from(["entry", "chunk", "memory"]))
    def change_many(self, elsewhere, ids, kind):
        passing = set(ids) & set(self.model)
        changes = {"kind": kind, "tags": ["naïve"], "merge_attrs": {"n": 1}}
        assert self.writer(elsewhere).update_many({"id": {"$in": ids}}, **changes) == len(passing)
        for id in passing:
            self.model[id]["kind"] = kind

    @rule(elsewhere=st.booleans(), old=st.sampled_from(VOCABULARY), new=st.sampled_from(VOCABULARY))
    def rename(self, elsewhere, old, new):
        writer = self.writer(elsewhere)
        tagged = {e.id for e in writer.load(list(self.model)) if old in e.tags}
        assert writer.rename("tags", {old: new}) == (0 if old == new else len(tagged))
        assert all(new in e.tags and (old == new or old not in e.tags) for e in writer.load(list(tagged)))

    @rule(elsewhere=st.booleans(), written=st.booleans(), titles=st.lists(WORDS, max_size=4))
    def vectors_arrive(self, elsewhere, written, titles):
        """Vectors come after their entries, or for texts that nobody has written (yet), or that are there already."""
        wanted = {" ".join(words) for words in titles}
        if written:
            wanted |= {fields["title"] for fields in self.model.values()}
        give_texts(self.writer(elsewhere), sorted(wanted))
        self.embedded |= wanted

    @rule(elsewhere=st.booleans())
    def space_is_emptied(self, elsewhere):
        with self.writer(elsewhere)._store.writing() as write:
            space = texts.make_space(write, MODEL, 3, self.now)
            while texts.empty(write, space, 9):
                pass
        self.embedded = set()

    @rule(elsewhere=st.booleans())
    def purge(self, elsewhere):
        self.writer(elsewhere).purge()
        self.embedded &= {fields["title"] for fields in self.model.values()}

    @rule(seconds=st.integers(1, 20))
    def time_passes(self, seconds):
        self.now += seconds

    @rule(elsewhere=st.booleans())
    def reopen(self, elsewhere):
        self.writer(elsewhere).close()
        if elsewhere:
            self.other = self.open()
        else:
            self.vault = self.open()

    @rule(elsewhere=st.booleans())
    def optimize(self, elsewhere):
        """What is derived goes into a file, and is gone on with there; who opens the vault later begins with it."""
        self.writer(elsewhere).optimize()

    @rule()
    def optimize_without_use_for_token_counts(self):
        """They go from file to file, and lack the slots that came since."""
        with self.open() as third:
            third.optimize()

    @rule()
    def back_up(self):
        self.vault.backup(self.folder / "backup.db")
        self.backup = deepcopy(self.model), set(self.embedded)

    @rule()
    def restore(self):
        """The vault goes back to its backup; what was derived from its lost future lies still beside it."""
        if self.backup is not None:
            self.vault.close()
            self.other.close()
            shutil.copy(self.folder / "backup.db", self.folder / "v.db")
            self.model, self.embedded = deepcopy(self.backup[0]), set(self.backup[1])
            self.vault, self.other = self.open(), self.open()

    @rule(seconds=st.integers(1, 40))
    def look_back(self, seconds):
        """A search with an older clock must not disturb the next one."""
        now, self.now = self.now, self.now - seconds
        answers(self.vault, "alpha", {"query_vector": [1.0, 0.0]})
        answers(self.vault, "alpha", {"query_vector": [0.5, 0.25, 1.0], "model": MODEL})
        self.now = now

    @invariant()
    def the_vault_holds_the_model(self):
        for vault in (self.vault, self.other):
            assert {e.id: e.title for e in vault.load([f"e{i}" for i in range(8)])} == {
                id: fields["title"] for id, fields in self.model.items()
            }

    @invariant()
    def derived_arrays_equal_a_rebuild(self):
        for vault in (self.vault, self.other):
            with vault._store.reading() as read:
                assert derived(vault._tier.manager, read, self.now) == derived(SnapshotManager(), read, self.now)

    @invariant()
    def searches_equal_those_of_a_fresh_vault(self):
        fresh = Vault(":memory:", clock=lambda: self.now)
        with fresh:
            stored = self.vault.load(list(self.model))
            fresh.add_many({**e.to_dict(), "vector": self.model[e.id]["vector"]} for e in stored)
            give_texts(fresh, sorted(self.embedded))
            for query in QUERIES:
                for options in OPTIONS:
                    wanted = answers(fresh, query, options)
                    assert answers(self.vault, query, options) == wanted
                    assert answers(self.other, query, options) == wanted


OPTIONS = (
    {},
    {"include_expired": True, "include_memories": True},
    {"query_vector": [1.0, 0.25]},
    {"query_vector": [0.5, 0.25, 1.0], "model": MODEL},
)


def give_texts(vault, titles):
    """Store the vectors of texts that are a title alone."""
    with vault._store.writing() as write:
        space = texts.make_space(write, MODEL, 3, 0.0)
        keys = [draft({"title": title}, now=0.0).text_hash for title in titles]
        rows = [[zlib.crc32(title.encode()) % p - p / 2 for p in (5, 7, 11)] for title in titles]
        texts.put(write, space, keys, np.array(rows, dtype=np.float32).reshape(-1, 3))


def derived(manager, read, now):
    """Everything a snapshot is asked for, by id rather than by slot."""
    snapshot = manager.view(read, now, terms=True)
    ids = dict(read.sql.execute("SELECT row, id FROM entries"))
    slots = {ids[int(snapshot.rows[s])]: s for s in np.flatnonzero(snapshot.alive)}
    order = sorted(slots)
    assert snapshot.hidden == np.count_nonzero(~(snapshot.alive & snapshot.searchable))
    assert manager._buffers.dead == np.count_nonzero(~snapshot.alive)
    limited = np.isfinite(snapshot.valid_from) | np.isfinite(snapshot.valid_until)
    assert snapshot.bounded.tolist() == np.flatnonzero(limited).tolist()
    if snapshot.postings is not None:
        assert agrees(read, snapshot.postings)
    at = np.array([slots[i] for i in order], dtype=np.int64)
    terms = snapshot.terms
    cosines = {q: terms.index.cosines(terms.frequencies, q, at).tolist() for q in QUERIES}
    found = [order, terms.frequencies.documents, terms.frequencies.to_dict(), cosines]
    for space in spaces(read):
        snapshot = manager.view(read, now, terms=True, space=space)
        vectors = snapshot.vectors[space.space]
        where = vectors.at(at)
        assert (vectors.slots[where[where >= 0]] == at[where >= 0]).all()
        assert np.count_nonzero(where >= 0) == space.entries
        base, more = vectors.rows
        rows = np.concatenate([base.read(0, len(base)) if isinstance(base, _core.FileRows) else base, more])
        assert len(rows) == len(vectors.slots) <= len(vectors.codes)
        found.append([rows[p].tolist() if p >= 0 else None for p in where])
        query = _core.unit_rows(np.array([[1.0, 0.25, 0.5][: space.dimensions]], dtype=np.float32))[0]
        rows, scores = vectors.nearest(
            query, 9, snapshot.rows_allowed(space.space, snapshot.valid(now) & snapshot.searchable)
        )
        found.append(sorted((-s, ids[int(snapshot.rows[vectors.slots[r]])]) for r, s in zip(rows, scores, strict=True)))
    return found


def answers(vault, query, options):
    """Ids and scores; equal scores stand in the order of rows, which two vaults need not share."""
    try:
        hits = vault.search(query, limit=20, profile="seven-signals", **options)
    except VectorError as fault:
        return str(fault)
    return sorted((round(h.score, 9), h.id, h.kind) for h in hits)


TestVaults = Vaults.TestCase
TestVaults.settings = heavy()
