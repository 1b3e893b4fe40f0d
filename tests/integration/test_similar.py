"""Entries like an entry, a text or a vector: what comes back is what a plain scan in Python finds."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import Letters, down
from examples import heavy
from septet import EntryNotFound, Federation, QueryError, TierError, Vault, VectorError, _core
from septet.model.vector import query_vector
from septet.search.similar import Like

WORDS = "duck goose swan pond river lake swim fly walk green white small".split()
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
VECTORS = st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)


def cosine(a, b):
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def twin_words(text, texts):
    """The TF-IDF cosine of a text with each of those by id, as the documentation has it."""
    counts = {id: Counter(_core.tokenize(one)) for id, one in texts.items()}
    n = Counter(word for one in counts.values() for word in one)

    def weighed(count):
        total = count.total()
        return {w: c / total * (math.log((len(texts) + 1) / (n[w] + 1)) + 1) for w, c in count.items() if n[w]}

    def product(a, b):
        return sum(value * b.get(word, 0.0) for word, value in a.items())

    own, found = weighed(Counter(_core.tokenize(text))), {}
    for id, count in counts.items():
        other = weighed(count)
        size = math.sqrt(product(own, own) * product(other, other))
        found[id] = product(own, other) / size if size else 0.0
    return found


def assert_ranked(results, scores, limit):
    """The results are the best of these scores above 0, best first; equal scores in any order."""
    wanted = sorted((s for s in scores.values() if s > 1e-6), reverse=True)[:limit]
    assert [h.score for h in results] == pytest.approx(wanted, abs=1e-6)
    assert [h.score for h in results] == pytest.approx([scores[h.id] for h in results], abs=1e-6)
    assert len(set(results.ids)) == len(results)


@st.composite
def worlds(draw):
    """Entries, of which none, one, few, half or all have a vector."""
    texts = draw(st.lists(TEXTS, min_size=1, max_size=12))
    share = draw(st.sampled_from([0, 1, len(texts) // 4, len(texts) // 2, len(texts)]))
    return texts, [draw(VECTORS) for _ in range(min(share, len(texts)))], draw(st.integers(1, 14))


@heavy()
@given(world=worlds(), asked=VECTORS)
def test_vectors_are_compared_with_every_entry_that_has_one(world, asked):
    texts, vectors, limit = world
    with Vault(":memory:") as vault:
        for number, text in enumerate(texts):
            vault.add(id=str(number), title=text, vector=vectors[number] if number < len(vectors) else None)
        scores = {str(i): cosine(asked, v) for i, v in enumerate(vectors)}
        assert_ranked(vault.similar(vector=asked, limit=limit), scores, limit)
        for number, vector in enumerate(vectors):
            near = vault.similar(str(number), limit=limit)
            others = {str(i): cosine(vector, v) for i, v in enumerate(vectors) if i != number}
            assert_ranked(near, others, limit)
            assert near.weights == {"cosine": 1.0}


@heavy()
@given(world=worlds(), asked=TEXTS)
def test_words_are_compared_with_every_entry_where_there_is_no_vector(world, asked):
    texts, vectors, limit = world
    with Vault(":memory:") as vault:
        for number, text in enumerate(texts):
            vault.add(id=str(number), title=text, vector=vectors[number] if number < len(vectors) else None)
        whole = {str(i): text for i, text in enumerate(texts)}
        results = vault.similar(text=asked, limit=limit)
        assert_ranked(results, twin_words(asked, whole), limit)
        assert results.weights == {"tfidf": 1.0}
        for number in range(len(vectors), len(texts)):
            others = twin_words(texts[number], whole)
            del others[str(number)]
            assert_ranked(vault.similar(str(number), limit=limit), others, limit)


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add(id="a", title="ducks swim", domain="birds", vector=[1, 0, 0])
        made.add(id="b", title="ducks swim fast", domain="birds", vector=[0.9, 0.1, 0])
        made.add(id="c", title="ducks swim slowly", domain="water", vector=[0.5, 0.5, 0])
        made.add(id="old", title="ducks swam", vector=[1, 0.01, 0], valid_until=500)
        made.remember("ducks swim", id="m")
        yield made


def test_the_filters_are_those_of_a_search(vault):
    assert vault.similar("a").ids == ["b", "c"]
    assert vault.similar("a", where={"domain": "water"}).ids == ["c"]
    assert vault.similar("a", include_expired=True).ids == ["old", "b", "c"]
    assert vault.similar("a", min_similarity=0.99).ids == ["b"]
    assert vault.similar("a", limit=1).ids == ["b"]
    assert vault.similar("old").ids == ["a", "b", "c"]
    assert "m" not in vault.similar(text="ducks swim").ids
    assert vault.similar(text="ducks swim", include_memories=True).ids[:2] in (["a", "m"], ["m", "a"])
    assert vault.similar("m").ids[0] == "a"


def test_a_score_is_absolute(vault):
    one, all_of_them = vault.similar("a", limit=1)[0], vault.similar("a")[0]
    assert one.score == all_of_them.score == pytest.approx(cosine([1, 0, 0], [0.9, 0.1, 0]), abs=1e-6)
    assert one.raw["cosine"] == one.score
    assert one.breakdown == {"cosine": one.score}
    assert vault.similar(vector=[-1, -1, 0]).ids == []


def test_the_mode_scan_brings_light_results(vault):
    assert vault.similar("a", mode="scan")[0].entry is None
    assert vault.similar("a")[0].entry.title == "ducks swim fast"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"id": "a", "text": "ducks"},
        {"text": "ducks", "vector": [1, 0, 0]},
        {"id": 3},
        {"id": "a", "limit": 0},
        {"id": "a", "limit": None},
        {"id": "a", "min_similarity": 1.5},
        {"id": "a", "min_similarity": float("nan")},
        {"id": "a", "where": {"domain": {"$near": 1}}},
        {"id": "a", "mode": "half"},
    ],
)
def test_what_cannot_be_understood_is_refused(vault, arguments):
    with pytest.raises(QueryError):
        vault.similar(**arguments)


def test_an_unknown_entry_and_a_vector_that_fits_nothing_are_errors(vault):
    with pytest.raises(EntryNotFound, match="no entry 'nowhere'"):
        vault.similar("nowhere")
    with pytest.raises(VectorError):
        vault.similar(vector=[1, 0])


def test_a_vault_without_vectors_says_so_when_a_vector_is_asked():
    with Vault(":memory:") as vault:
        vault.add(id="a", title="ducks")
        assert [n.code for n in vault.similar(vector=[1, 0]).notes] == ["no_vectors"]
        assert vault.similar("a").ids == []


def test_the_parts_of_an_entry_are_not_similar_to_it():
    with Vault(":memory:") as vault:
        text = " ".join(f"Ducks swim in pond {number}." for number in range(40))
        vault.add(id="long", title="ducks", description=text, split=50)
        vault.add(id="other", title="ducks", description="Ducks swim in pond 7.")
        assert vault.similar("long").ids == ["other"]
        assert "long#1" not in vault.similar("long#1").ids
        assert "long#2" in vault.similar("long#1").ids


def test_the_models_vectors_are_compared():
    with Vault(":memory:", profile="six-signals") as vault:
        vault.add(id="a", title="x", vector={"one": [1, 0], "two": [1, 0, 0]})
        vault.add(id="b", title="y", vector={"one": [0, 1], "two": [1, 0, 0]})
        vault.add(id="c", title="z", vector={"one": [1, 0.1]})
        assert vault.similar("a", model="two").ids == ["b"]
        assert vault.similar("a", model="one").ids == ["c"]
        assert vault.similar("a").ids == ["c"], "of the fullest space"


@pytest.fixture
def embedded():
    with Vault(":memory:", embedder=Letters()) as made:
        made.add(id="a", title="ducks swim", description="in ponds")
        made.add(id="b", title="ducks swim", description="in lakes")
        made.embed()
        yield made


def test_a_text_is_embedded_as_entries_are(embedded):
    found = embedded.similar(text="ducks swim\nin ponds")
    assert found.ids == ["a", "b"]
    assert found[0].score == pytest.approx(1.0, abs=1e-6)
    assert found.weights == {"cosine": 1.0}
    assert embedded._embeddings.embedder.sizes("query") == []
    assert embedded.similar("a").ids == ["b"]


def test_words_stand_in_for_an_embedder_that_fails(embedded):
    embedded._embeddings.embedder.script.append(down())
    found = embedded.similar(text="ducks swim in ponds")
    assert found.ids == ["a", "b"]
    assert found.weights == {"tfidf": 1.0}
    assert "embedding_unavailable" in [n.code for n in found.notes]


@pytest.fixture
def federation(vault, embedded):
    with Federation({"agent": vault, "team": embedded}) as made:
        yield made


def test_a_federation_has_each_id_once_the_copy_of_the_highest_tier(federation, vault, embedded):
    found = federation.similar(text="ducks swim fast")
    assert len(set(found.ids)) == len(found)
    by_vector = federation.similar("a")
    assert by_vector.ids == ["b", "c"]
    assert {h.tier for h in by_vector} == {"agent"}
    assert [n.tier for n in by_vector.notes if n.code == "vector_mismatch"] == ["team"]
    assert federation.tier("team").similar("a").ids == ["b"]
    assert federation._alone("team").similar("a")[0].tier == "team"
    with pytest.raises(TierError):
        federation.tier("nowhere").similar("a")
    with pytest.raises(EntryNotFound):
        federation.tier("team").similar("c")


def test_a_federation_of_words_scans_every_tier():
    with Vault(":memory:") as one, Vault(":memory:") as two, Vault(":memory:") as three:
        for number, vault in enumerate((one, two, three)):
            vault.add(id=f"own{number}", title=f"ducks swim {WORDS[number]}")
            vault.add(id="shared", title=f"ducks walk {WORDS[number]}")
        with Federation({"agent": one, "project": two, "team": three}) as federation:
            found = federation.similar("shared", limit=10)
            assert sorted(found.ids) == ["own0", "own1", "own2"]
            found = federation.similar(text="ducks walk", limit=10)
            assert sorted(found.ids) == ["own0", "own1", "own2", "shared"]
            assert next(h for h in found if h.id == "shared").tier == "agent"
            three.close()
            assert "own1" in federation.similar("shared").ids


def test_what_is_about_to_be_written_is_compared_by_words_where_its_vector_fits_no_other(vault):
    other = Like("ducks swim", "ducks swim", query_vector([1, 0]), "another")
    assert vault._like_new(other).ids[0] == "a"
    assert vault._like_new(other, 5, 0.999).ids == ["a"]
    fits = other._replace(vector=query_vector([1.0, 0, 0]), model=None)
    assert vault._like_new(fits)[0].raw["cosine"] == pytest.approx(1.0)
    with Vault(":memory:") as without:
        assert without._like_new(fits).ids == []
        without.add(id="a", title="ducks swim")
        assert without._like_new(fits).ids == ["a"]
