"""Whatever is done to a vault, by whom and in which order, what is derived from it equals a rebuild from scratch."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from septet import Vault, _core
from septet.storage.keeper import Keeper
from septet.storage.vectors import choose

VOCABULARY = ["alpha", "beta", "gamma", "naïve", "getUserName", "東京都", "đồng"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4)
IDS = st.sampled_from([f"e{i}" for i in range(8)])
VECTORS = st.one_of(st.none(), st.sampled_from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]]))
WINDOWS = st.tuples(st.one_of(st.none(), st.integers(-5, 30)), st.one_of(st.none(), st.integers(0, 60)))
QUERIES = ("alpha", "beta gamma", "user name", "naive dong", "東京", "alpha alpha beta")


class Vaults(RuleBasedStateMachine):
    """A vault with two connections, a clock, and a model of what it should hold."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.folder = Path(tempfile.mkdtemp(prefix="septet-"))
        self.model = {}

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

    @rule(elsewhere=st.booleans())
    def purge(self, elsewhere):
        self.writer(elsewhere).purge()

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

    @rule(seconds=st.integers(1, 40))
    def look_back(self, seconds):
        """A search with an older clock must not disturb the next one."""
        now, self.now = self.now, self.now - seconds
        self.vault.search("alpha", query_vector=[1.0, 0.0])
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
                assert derived(vault._tier.keeper, read, self.now) == derived(Keeper(), read, self.now)

    @invariant()
    def searches_equal_those_of_a_fresh_vault(self):
        fresh = Vault(":memory:", clock=lambda: self.now)
        with fresh:
            stored = self.vault.load(list(self.model))
            fresh.add_many({**e.to_dict(), "vector": self.model[e.id]["vector"]} for e in stored)
            for query in QUERIES:
                for options in ({}, {"include_expired": True, "include_memories": True}, {"query_vector": [1.0, 0.25]}):
                    wanted = answers(fresh, query, options)
                    assert answers(self.vault, query, options) == wanted
                    assert answers(self.other, query, options) == wanted


def derived(keeper, read, now):
    """Everything a snapshot is asked for, by id rather than by slot."""
    held = read.sql.execute("SELECT 1 FROM vectors LIMIT 1").fetchone()
    space = choose(read, None, 2) if held else None
    snapshot = keeper.view(read, now, terms=True, space=space)
    ids = dict(read.sql.execute("SELECT row, id FROM entries"))
    slots = {ids[int(snapshot.rows[s])]: s for s in np.flatnonzero(snapshot.alive)}
    order = sorted(slots)
    at = np.array([slots[i] for i in order], dtype=np.int64)
    terms = snapshot.terms
    cosines = {q: terms.index.cosines(terms.frequencies, q, at).tolist() for q in QUERIES}
    found = [order, terms.frequencies.documents, terms.frequencies.to_dict(), cosines]
    if space is not None:
        vectors = snapshot.vectors[space.space]
        mask = (snapshot.valid(now) & snapshot.searchable)[vectors.slots]
        query = _core.unit_rows(np.array([[1.0, 0.25]], dtype=np.float32))[0]
        rows, scores = _core.top_k(query, vectors.rows, 9, mask)
        found.append(sorted((-s, ids[int(snapshot.rows[vectors.slots[r]])]) for r, s in zip(rows, scores, strict=True)))
    return found


def answers(vault, query, options):
    """Ids and scores; equal scores stand in the order of rows, which two vaults need not share."""
    hits = vault.search(query, limit=20, profile="seven-signals", **options)
    return sorted((round(h.score, 9), h.id, h.kind) for h in hits)


TestVaults = Vaults.TestCase
TestVaults.settings = settings(
    derandomize=True,
    deadline=None,
    max_examples=20,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
