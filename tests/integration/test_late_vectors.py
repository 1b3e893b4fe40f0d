"""Vectors that arrive after their entries: the next search has them, and nothing else is read anew."""

import numpy as np
import pytest

from doubles import Letters
from septet import CallableEmbedder, EmbeddingOptions, Vault
from septet.model.drafts import draft
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.tables import texts
from septet.sqlite.tables.vectors import spaces

NOW = 1_000.0
MODEL = "test/late"


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as made:
        made.add_many({"id": i, "title": f"title {i}"} for i in "abc")
        yield made


def embed(vault, **vectors):
    """Give vectors ``(2,)`` to titles."""
    with vault._store.writing() as write:
        space = texts.make_space(write, MODEL, 2, NOW)
        keys = [draft({"title": f"title {name}"}, now=NOW).text_hash for name in vectors]
        return texts.put(write, space, keys, np.array(list(vectors.values()), dtype=np.float32))


def nearest(vault, *query):
    return vault.search("", query_vector=query, model=MODEL, legs="vector").ids


def view(vault, manager=None):
    with vault._store.reading() as read:
        space = texts.find_space(read, MODEL)
        return (manager or vault._tier.manager).view(read, NOW, terms=True, space=space), space.space


def test_the_next_search_has_a_vector_that_came_after_its_entry(vault):
    assert embed(vault, a=[1, 0]) == 1
    assert nearest(vault, 1, 0) == ["a"]
    assert embed(vault, c=[0, 1]) == 1
    assert nearest(vault, 0, 1) == ["c", "a"]
    assert embed(vault, c=[1, 1], b=[1, 1]) == 1
    assert nearest(vault, 0, 1) == ["c", "b", "a"]


def test_entries_and_tokens_are_not_read_again_when_vectors_arrive(vault):
    embed(vault, a=[1, 0])
    before, number = view(vault)
    embed(vault, b=[0, 1])
    after, _ = view(vault)
    assert after.generation > before.generation
    assert after.rows.tolist() == before.rows.tolist()
    assert after.terms.index is before.terms.index
    assert after.vectors[number].slots.tolist() == [0, 1]


def test_a_snapshot_in_use_is_not_disturbed_by_a_vector_that_arrives(vault):
    embed(vault, b=[1, 0])
    before, number = view(vault)
    embed(vault, a=[0, 1])
    view(vault)
    vectors = before.vectors[number]
    assert vectors.at(np.array([0, 1, 2, -1])).tolist() == [-1, 0, -1, -1]
    allowed = before.rows_allowed(number, before.alive)
    assert vectors.nearest(np.array([0, 1], dtype=np.float32), 9, allowed)[0].tolist() == [0]
    with pytest.raises(ValueError, match="read-only"):
        vectors.positions[0] = 0


def test_entries_with_the_same_text_share_one_vector(vault):
    embed(vault, a=[1, 0])
    assert nearest(vault, 1, 0) == ["a"]
    vault.add(id="twin", title="title a")
    assert nearest(vault, 1, 0) == ["a", "twin"]
    vault.add(id="triplet", title="title b")
    embed(vault, b=[0, 1])
    assert set(nearest(vault, 0, 1)[:2]) == {"b", "triplet"}
    with vault._store.reading() as read:
        assert read.sql.execute("SELECT count(*) FROM vectors").fetchone() == (2,)
        assert spaces(read)[0].entries == 4


def test_a_text_that_has_a_vector_already_gives_it_to_its_new_entry_at_once(vault):
    embed(vault, a=[1, 0], z=[0, 1])
    assert nearest(vault, 0, 1) == ["a"]
    vault.update("b", title="title z")
    assert nearest(vault, 0, 1) == ["b", "a"]
    vault.update("b", title="title b")
    assert nearest(vault, 0, 1) == ["a"]


def test_the_vector_of_a_deleted_entry_is_found_no_more_and_purged(vault):
    embed(vault, a=[1, 0], b=[1, 1])
    assert nearest(vault, 1, 0) == ["a", "b"]
    vault.delete("a")
    assert nearest(vault, 1, 0) == ["b"]
    vault.purge()
    with vault._store.reading() as read:
        assert read.sql.execute("SELECT count(*) FROM vectors").fetchone() == (1,)
    vault.add(id="a", title="title a")
    assert nearest(vault, 1, 0) == ["b"]


def test_a_space_that_was_emptied_and_filled_again_holds_the_new_vectors_alone(vault):
    embed(vault, a=[1, 0], b=[0, 1])
    with Vault(vault.path) as other:
        assert nearest(other, 1, 0) == ["a", "b"]
        with vault._store.writing() as write:
            assert texts.empty(write, texts.find_space(write, MODEL), 99) == 2
        embed(vault, b=[1, 0])
        assert nearest(other, 1, 0) == nearest(vault, 1, 0) == ["b"]


def test_a_snapshot_that_took_up_vectors_equals_one_made_anew(vault):
    generator = np.random.default_rng(7)
    for turn in range(30):
        name = "abcdefgh"[generator.integers(8)]
        if turn % 3 == 0:
            vault.add(id=name, title=f"title {'abcdefgh'[generator.integers(8)]}")
        else:
            embed(vault, **{name: generator.normal(size=2).tolist()})
        if turn:
            kept, made = (found(*view(vault, manager)) for manager in (None, SnapshotManager()))
            assert kept == made


def found(snapshot, number):
    vectors = snapshot.vectors[number]
    at = vectors.at(np.flatnonzero(snapshot.alive))
    rows = snapshot.rows[snapshot.alive].tolist()
    held = np.concatenate(vectors.rows)
    return sorted((row, held[p].tolist() if p >= 0 else []) for row, p in zip(rows, at, strict=True))


def test_what_gets_its_vector_while_it_is_looked_for_is_found(monkeypatch):
    """Between the comparison by vectors and that of what has none, an embedding thread stored it."""
    with Vault(":memory:", embedder=Letters(), embedding_options=EmbeddingOptions(automatic=False)) as vault:
        vault.add(id="a", title="zzz qqq")
        vault.embed()
        vault.add(id="b", title="ducks swim")
        vectors = vault.vectors

        def late(ids, model=None):
            """Return vectors, when all are there."""
            vault.embed()
            return vectors(ids, model)

        monkeypatch.setattr(vault, "vectors", late)
        assert vault.add(id="c", title="ducks swim", on_similar="skip") == "b"


def test_a_providers_vectors_come_back_and_a_given_one_of_the_same_model_goes_before(tmp_path):
    def embed(texts):
        return [[len(text), 1, 2] for text in texts]

    embedder = CallableEmbedder(embed, model="lengths", dimensions=3)
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        vault.add(id="a", title="a title")
        vault.add(id="b", title="another title", vector=[9, 9, 9], model=f"{embedder.provider}/lengths")
        vault.add(id="long", title="long", description="word " * 400, split="auto")
        vault.embed()
        found = vault.vectors(["a", "b", "long", "long#1"])
        model = vault.stats().spaces[0].model
    assert model == "function/lengths"
    # A provider's are stored as unit rows.
    assert found[0] == pytest.approx(np.array([7, 1, 2]) / np.sqrt(54), rel=1e-6)
    assert found[1].tolist() == [9, 9, 9]
    assert np.isnan(found[2]).all()
    assert found[3, 2] / found[3, 1] == pytest.approx(2)
