"""Random lives of a vault with a chain: orders change, models come and go; nothing is mixed, lost or paid twice."""

from collections import Counter
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chains import Switched, opened
from doubles import down, letters, refused
from examples import heavy
from septet import EmbeddingOptions

SIZES = {"test/a": 32, "test/b": 16, "test/c": 8}
ORDERS = list(permutations(SIZES))
#: By their place in the chain, so that the first one is often away.
PLACES = st.sampled_from([0, 0, 1, 2])
STEPS = st.one_of(
    st.tuples(st.just("order"), st.integers(0, len(ORDERS) - 1)),
    st.tuples(st.just("fails"), PLACES),
    st.tuples(st.just("back"), PLACES),
    st.tuples(st.just("quota"), st.tuples(PLACES, st.integers(0, 12))),
    st.tuples(st.just("delete"), st.integers(0, 30)),
    st.tuples(st.just("embed"), st.integers(0, 9)),
    st.tuples(st.just("embed"), st.integers(0, 9)),
    st.tuples(st.just("search"), st.integers(0, 40)),
)


class Counted(Switched):
    """It remembers what it was paid for."""

    def __init__(self, name):
        super().__init__(name.removeprefix("test/"), SIZES[name])
        self.paid = Counter()

    def embed(self, texts, kind="document", *, timeout_s=None):
        rows = super().embed(texts, kind, timeout_s=timeout_s)
        if kind == "document":
            self.paid.update(text for text in texts if text.startswith("title"))
        return rows


def vectors_of(vault):
    with vault._store.reading() as read:
        sql = "SELECT s.model, e.title, v.vector FROM spaces s JOIN vectors v USING (space) JOIN entries e "
        return read.sql.execute(sql + "ON e.text_hash = v.key WHERE e.live").fetchall()


def check(vault, models, before):
    """Each vector is its own model's; none that was there for a living text is gone; none was paid for twice."""
    now = {}
    for model, title, blob in vectors_of(vault):
        now[model, title] = np.frombuffer(blob, "<f4")
        np.testing.assert_allclose(now[model, title], letters(title, SIZES[model]), atol=1e-6)
    titles = {entry.title for entry in vault}
    assert {pair for pair in before if pair[1] in titles} <= now.keys()
    for name, model in models.items():
        assert max(model.paid.values(), default=0) <= 1
        assert {title for one, title in now if one == name} == {title for title in model.paid if title in titles}
    return now.keys()


def searched(vault, models, number):
    """A search answers; its vector is of one model that is there, compared with the vectors of that one alone."""
    found = vault.search(f"title {number}", limit=5)
    assert bool(found) is (len(vault) > 0)
    plan = vault._embedded(vault._plan(f"title {number}", {}))
    for one in plan.embeddings.values():
        assert one.vector.scan.size == SIZES[one.space.model]
        if models[one.space.model].fault is not None:
            # It was asked while it was there.
            assert any(f"title {number}" in texts for kind, texts in models[one.space.model].calls if kind == "query")
    assert all(0 <= hit.score <= 1 for hit in found)
    # A model that is back may answer between the two, in the background of the first.
    failed = any(note.code.startswith("embedding_") for note in found.notes)
    assert (found.weights["vector"] > 0) is bool(plan.embeddings) or failed


@heavy()
@given(st.lists(STEPS, min_size=5, max_size=25), st.sampled_from([1, 4, 100]))
def test_whatever_comes_and_goes_each_space_is_its_own_models_and_paid_for_once(tmp_path_factory, steps, batch):
    path = tmp_path_factory.mktemp("chain") / "v.db"
    models = {name: Counted(name) for name in SIZES}
    options = EmbeddingOptions(automatic=False, rest_s=0, batch_texts=batch)

    def again():
        return opened(path, *(models[name] for name in order), options=options, sidecar=False)

    order, count, kept = ORDERS[0], 0, ()
    vault = again()
    try:
        for step, value in [*steps, *(("back", place) for place in range(3)), ("embed", 3)]:
            if step == "order":
                vault.close()
                order = ORDERS[value]
                vault = again()
            elif step == "fails":
                models[order[value]].fault = refused() if count % 2 else down()
            elif step == "back":
                models[order[value]].fault = models[order[value]].lasts = None
            elif step == "quota":
                models[order[value[0]]].lasts = value[1]
            elif step == "delete":
                vault.delete(f"e{value}")
            elif step == "embed":
                vault.add_many({"id": f"e{n}", "title": f"title {n}"} for n in range(count, count + value))
                count += value
                vault.embed()
            else:
                searched(vault, models, value)
            kept = check(vault, models, kept)
        assert {title for model, title in kept if model == order[0]} == {entry.title for entry in vault}
        assert not vault.search("title 3").degraded
    finally:
        vault.close()
