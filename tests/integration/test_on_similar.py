"""Near-duplicates on their way in: kept, noted, skipped or merged into what is there."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import Letters, down
from examples import heavy
from septet import AsyncVault, BatchError, EntryError, Federation, ReadOnly, Vault, VectorError
from septet.model.entry import TRUSTS

WORDS = "duck goose swan pond river lake swim fly walk green white small".split()
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
VECTORS = st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any)
THRESHOLDS = st.sampled_from([0, 0.25, 0.5, 0.75, 0.95, 1])


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        yield made


def seen(vault):
    return sorted(entry.id for entry in vault)


def cosine(a, b):
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


# -- whole ranges ------------------------------------------------------------------------------------------------------


@heavy()
@given(vectors=st.lists(VECTORS, max_size=8), least=THRESHOLDS, many=st.booleans())
def test_of_entries_with_vectors_those_are_skipped_that_are_near_one_stored_before(vectors, least, many):
    kept, wanted = [], []
    for number, vector in enumerate(vectors):
        scores = [(round(cosine(vector, vectors[other]), 6), -other) for other in kept]
        best = max(scores, default=(-1.0, 0))
        near = best[0] > 1e-6 and best[0] >= least - 1e-6
        wanted.append(str(-best[1]) if near else str(number))
        if not near:
            kept.append(number)
    # Titles with no word in common: words never speak.
    items = [{"id": str(n), "title": f"title{n}", "vector": v} for n, v in enumerate(vectors)]
    with Vault(":memory:", clock=lambda: 1_000.0) as vault:
        if many:
            ids = vault.add_many(items, on_similar="skip", similarity=least)
        else:
            ids = [vault.add(**item, on_similar="skip", similarity=least) for item in items]
        assert ids == wanted
        assert seen(vault) == sorted(map(str, kept))


@heavy()
@given(texts=st.lists(TEXTS, max_size=8), least=THRESHOLDS)
def test_without_vectors_words_decide_as_similar_does(texts, least):
    with Vault(":memory:", clock=lambda: 1_000.0) as vault, Vault(":memory:", clock=lambda: 1_000.0) as twin:
        for number, text in enumerate(texts):
            like = twin.similar(text=text, limit=100, min_similarity=max(0.0, least - 1e-6))
            best = [hit.id for hit in like if hit.score > like[0].score - 2e-6]
            found = vault.add(id=str(number), title=text, on_similar="skip", similarity=least)
            assert found in (best or [str(number)])
            if not best:
                twin.add(id=str(number), title=text)
        assert seen(vault) == seen(twin)


@pytest.mark.parametrize("embedded", [0, 1, 5, 10])
def test_an_entry_without_a_vector_is_compared_by_words(vault, embedded):
    for number in range(10):
        vector = np.eye(12)[number] if number < embedded else None
        vault.add(id=f"e{number}", title=f"subject{number} only{number}", vector=vector)
    for number in range(10):
        # The vector is like none; the words are those of an entry that may have a vector, which then speaks.
        given = vault.add(
            id="new", title=f"subject{number} only{number}", vector=np.eye(12)[11], on_similar="skip", similarity=0.9
        )
        assert given == ("new" if number < embedded else f"e{number}")
        vault.delete("new")


@pytest.mark.parametrize("what", ["note", "skip", "merge"])
@pytest.mark.parametrize("count", [0, 1, 3, 20, 40])
def test_the_oldest_of_equals_is_the_one_that_counts(what, count):
    clock = iter(range(1_000, 10_000))
    with Vault(":memory:", clock=lambda: float(next(clock))) as vault:
        for number in range(count):
            vault.add(id=f"e{99 - number}", title="ducks swim", vector=[1, 2, 3])
        got = vault.add(id="new", title="ducks swim", vector=[1, 2, 3], on_similar=what, similarity=1)
        assert got == ("new" if what == "note" or not count else "e99")
        assert len(vault) == count + (what == "note" or not count)
        assert [link.target for link in vault.links("new")] == (["e99"] if what == "note" and count else [])


def test_without_a_word_nothing_is_compared(vault):
    for number in range(3):
        assert vault.add(id=str(number), title="ducks swim") == str(number)
    assert vault.add_many([{"id": "x", "title": "ducks swim"}], on_similar="keep") == ["x"]
    assert len(vault) == 4


# -- what each of them does --------------------------------------------------------------------------------------------


def test_skip_writes_nothing(vault):
    first = vault.add(title="ducks swim in ponds", tags=["birds"])
    generation = vault.search("ducks").tiers[0].generation
    assert vault.add(id="b", title="ducks swim in ponds", tags=["birds"], on_similar="skip") == first
    assert vault.add(title="ducks swim in ponds", tags=["water"], on_similar="skip") == first
    assert vault.search("ducks").tiers[0].generation == generation
    assert vault.get(first).tags == ("birds",)


def test_note_stores_the_entry_with_a_link_that_says_how_similar_it_is(vault):
    vault.add(id="a", title="ducks", vector=[1, 0, 0])
    vault.add(id="b", title="geese", vector=[1, 0.2, 0], on_similar="note")
    (link,) = vault.links("b")
    assert (link.source, link.target, link.type) == ("b", "a", "similar")
    assert link.note == f"cosine {cosine([1, 0, 0], [1, 0.2, 0]):.4f}"
    vault.add(id="c", title="swans", vector=[0, 0, 1], on_similar="note")
    assert vault.links("c") == []


def test_merge_makes_one_entry_of_both_and_history_keeps_what_it_was(vault):
    vault.add(
        id="a", title="ducks swim", tags=["x", "y"], attrs={"n": 1, "own": {"p": 1}}, trust="unverified", source="hand",
        created_at=500, updated_at=600, valid_until=2_000, vector=[1, 0, 0], severity="warning", domain="birds",
    )  # fmt: skip
    got = vault.add(
        id="b", title="ducks swim", description="in ponds", tags=["z", "x"], attrs={"n": 2, "own": {"q": 2}},
        trust="trusted", source="web", created_at=400, updated_at=900, valid_from=300, vector=[1, 0.1, 0],
        severity="critical", domain="other", on_similar="merge",
    )  # fmt: skip
    assert got == "a"
    assert seen(vault) == ["a"]
    one = vault.get("a")
    assert (one.title, one.description, one.source, one.domain) == ("ducks swim", "in ponds", "web", "birds")
    assert (one.tags, one.attrs) == (("x", "y", "z"), {"n": 2, "own": {"p": 1, "q": 2}})
    assert (one.trust, one.severity) == ("unverified", "critical")
    assert (one.created_at, one.updated_at, one.valid_from, one.valid_until) == (400, 900, None, None)
    assert vault.vectors(["a"])[0] == pytest.approx([1, 0.1, 0])
    (before,) = vault.history("a")
    assert (before.call, before.entry.description, before.entry.trust) == ("add", "", "unverified")
    assert vault.search("ponds").ids == ["a"]


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("there", TRUSTS)
def test_nothing_of_what_is_trusted_less_is_merged(vault, there, trust):
    vault.add(id="a", title="ducks swim", trust=there, vector=[1, 0, 0])
    before = vault.get("a")
    text = "ducks swim, and all of this is longer"
    got = vault.add(title=text, trust=trust, tags=["new"], vector=[1, 0, 0], on_similar="merge")
    assert got == "a" and seen(vault) == ["a"]
    if TRUSTS.index(trust) < TRUSTS.index(there):
        assert vault.get("a") == before and vault.history("a") == []
    else:
        assert (vault.get("a").title, vault.get("a").trust) == (text, there)


def test_the_longer_text_stays_with_its_vector_and_its_source(vault):
    vault.add(id="a", title="ducks swim in ponds", source="book", vector=[1, 0, 0])
    vault.add(id="b", title="ducks", source="web", vector=[1, 0.1, 0], on_similar="merge", tags=["new"])
    one = vault.get("a")
    assert (one.title, one.source, one.tags) == ("ducks swim in ponds", "book", ("new",))
    assert vault.vectors(["a"])[0] == pytest.approx([1, 0, 0])
    vault.add(id="c", title="gnats swim in ponds", vector=[1, 0.1, 0], on_similar="merge")
    assert vault.get("a").title == "ducks swim in ponds", "of two of one length, that which was there"


def test_the_same_text_under_the_id_made_of_it_is_a_duplicate_and_not_overwritten(vault):
    made = vault.add(title="ducks swim", tags=["a"])
    assert vault.add(title="ducks swim", tags=["b"], on_similar="merge") == made
    assert vault.get(made).tags == ("a", "b")
    assert vault.add(title="ducks swim", tags=["c"], on_similar="note") == made
    assert vault.get(made).tags == ("c",)
    assert vault.links(made) == []
    vault.update(made, title="geese swim")
    assert vault.add(title="ducks swim", on_similar="skip") == made
    assert vault.get(made).title == "ducks swim", "another text under this id is overwritten"


def test_an_entry_with_an_id_that_is_there_is_overwritten(vault):
    vault.add(id="a", title="ducks swim")
    vault.add(id="b", title="geese fly")
    assert vault.add(id="b", title="ducks swim", on_similar="skip") == "b"
    assert vault.get("b").title == "ducks swim"


# -- what counts -------------------------------------------------------------------------------------------------------


def test_only_valid_entries_of_the_same_kind_and_parent_count(vault):
    vault.add(id="old", title="ducks swim", valid_until=900)
    vault.add(id="later", title="ducks swim", valid_from=1_100)
    vault.add(id="chunk", title="ducks swim", kind="chunk")
    vault.add(id="page", title="ducks swim", parent="book")
    vault.remember("ducks swim", id="memory")
    assert vault.add(id="new", title="ducks swim", on_similar="skip") == "new"
    assert vault.remember("ducks swim", id="again", on_similar="skip") == "memory"
    assert vault.add(id="p2", title="ducks swim", parent="book", on_similar="skip") == "page"
    assert vault.add(id="p3", title="ducks swim", parent="film", on_similar="skip") == "p3"
    assert vault.add(id="k2", title="ducks swim", kind="chunk", on_similar="skip") == "chunk"
    assert vault.add(id="past", title="ducks swim", valid_until=950, on_similar="skip") == "past"
    vault.delete("new")
    assert vault.add(id="new", title="ducks swim", on_similar="skip") == "new"


def test_what_is_split_is_not_compared(vault):
    text = " ".join(f"Ducks swim in pond {number}." for number in range(40))
    vault.add(id="long", title="ducks", description=text, split=20)
    part = vault.get("long#1")
    assert vault.add(id="a", title="ducks", description=part.description, on_similar="skip", similarity=0.99) == "a"
    vault.delete("a")
    assert vault.add(id="b", title="ducks", description=text, on_similar="skip") == "b"
    assert vault.add(id="c", title="ducks", description=text, split=20, on_similar="skip") == "c"
    assert vault.get("c#1").parent == "c"
    # Many parts before the first that counts.
    many = " ".join(["Ducks swim."] * 200)
    vault.add(id="many", title="birds", description=many, split=2)
    vault.add(id="plain", title="birds", description="Ducks swim. Ducks swim fast")
    assert vault.add(id="d", title="birds", description="Ducks swim.", on_similar="skip", similarity=0.4) == "plain"
    made = vault.add(title="geese", description=text, split=20)
    assert vault.add(title="geese", description=text, split=20, tags=["t"], on_similar="merge") == made
    assert vault.get(f"{made}#1").tags == ("t",)
    assert vault.add(title="geese", description=text, vector=[1, 2], on_similar="merge") == made


def test_an_embedder_makes_the_vector_that_is_compared_and_words_stand_in_when_it_fails():
    with Vault(":memory:", embedder=Letters()) as vault:
        vault.add(id="a", title="ducks swim", description="in ponds")
        vault.embed()
        assert vault.add(id="b", title="ducks swim", description="in ponds", tags=["t"], on_similar="skip") == "a"
        assert vault.add(id="c", title="zzz qqq", on_similar="skip") == "c"
        # Stored a moment ago, and without a vector yet: words are compared.
        vault.remember("bob owns billing", id="m")
        assert vault.remember("bob owns billing", id="m2", on_similar="skip") == "m"
        vault.embedding_status(wait_s=10)
        vault._embeddings.embedder.script += [down()] * 4
        assert vault.add(id="d", title="ducks swim in ponds", on_similar="skip") == "a"


def test_vectors_of_several_models_are_all_compared():
    with Vault(":memory:", profile="six-signals") as vault:
        vault.add(id="a", title="x", vector={"one": [1, 0], "two": [0, 1, 0]})
        vault.add(id="b", title="yaks", vector={"one": [0, 1], "two": [1, 0, 0]})
        assert vault.add(id="c", title="z", vector={"two": [1, 0.1, 0]}, on_similar="skip") == "b"
        assert vault.add(id="d", title="z", vector={"one": [1, 0.2], "two": [1, 0, 0]}, on_similar="skip") == "b"
        assert vault.add(id="e", title="z", vector=[1, 0.1], model="one", on_similar="skip") == "a"
        assert vault.add(id="f", title="yaks", vector=[1, 0], model="new", on_similar="skip") == "b", "by words"


# -- many --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [list, iter], ids=["list", "iterator"])
def test_near_duplicates_within_a_batch_are_found_too(vault, shape):
    items = [{"id": str(n), "title": f"ducks swim in pond{n % 3}"} for n in range(9)]
    told = []
    ids = vault.add_many(shape(items), on_similar="skip", progress=lambda done, total: told.append((done, total)))
    assert ids == ["0", "1", "2"] * 3
    assert seen(vault) == ["0", "1", "2"]
    assert told == [(n + 1, 9 if shape is list else None) for n in range(9)]


@pytest.mark.parametrize("frames", ["", "pandas", "polars"], ids=["list", "pandas", "polars"])
def test_a_matrix_stands_beside_a_list_or_a_frame(vault, frames):
    columns = {"id": ["a", "b", "c"], "title": ["one", "two", "three"]}
    items = [{"id": id, "title": title} for id, title in zip(*columns.values())]
    given = pytest.importorskip(frames).DataFrame(columns) if frames else items
    matrix = np.array([[1, 0], [1, 0.01], [0, 1]])
    assert vault.add_many(given, vectors=matrix, on_similar="skip") == ["a", "a", "c"]
    assert vault.add_many([{"id": "d", "title": "four"}], vectors=matrix[2:], on_similar="merge") == ["c"]


def test_an_item_that_cannot_be_stored_says_how_many_are(vault):
    items = [{"id": "a", "title": "ducks swim"}, {"id": "b", "title": "ducks swim"}, {"title": " "}]
    with pytest.raises(BatchError) as caught:
        vault.add_many(items, on_similar="skip")
    assert (caught.value.written, caught.value.index) == (2, 2)
    assert seen(vault) == ["a"]


# -- at the same time --------------------------------------------------------------------------------------------------


def test_what_threads_merge_into_one_entry_is_all_there(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="ducks swim in ponds", vector=[1, 0])
        with ThreadPoolExecutor(4) as threads:
            new = {"title": "ducks", "vector": [1, 0], "on_similar": "merge"}
            ids = list(threads.map(lambda n: vault.add(id=f"n{n}", tags=[f"t{n}"], **new), range(12)))
        assert ids == ["a"] * 12
        assert sorted(vault.get("a").tags) == sorted(f"t{n}" for n in range(12))


def test_of_two_writers_at_once_each_returns_an_id_that_is_there(tmp_path):
    with Vault(tmp_path / "v.db") as one, Vault(tmp_path / "v.db") as two, ThreadPoolExecutor(2) as threads:
        for round in range(10):
            text = f"subject{round} of its own{round}"
            adds = [
                threads.submit(v.add, id=f"{n}-{round}", title=text, on_similar="skip")
                for n, v in enumerate((one, two))
            ]
            ids = [add.result() for add in adds]
            assert len(one.load(set(ids))) == len(set(ids)), "one entry, or both where neither saw the other"
            assert one.add(id=f"late-{round}", title=text, on_similar="skip") in ids


# -- elsewhere ---------------------------------------------------------------------------------------------------------


def test_a_federation_compares_within_the_tier_that_is_written():
    with Vault(":memory:") as high, Vault(":memory:") as low, Federation({"agent": high, "team": low}) as both:
        both.tier("team").add(id="a", title="ducks swim")
        assert both.add(id="b", title="ducks swim", on_similar="skip") == "b"
        assert both.tier("team").add(id="c", title="ducks swim", on_similar="skip") == "a"
        assert both.add_many([{"id": "d", "title": "ducks swim"}], on_similar="skip") == ["b"]
        both.remember("geese fly", id="m")
        assert both.remember("geese fly", id="n", on_similar="merge", similarity=0.9) == "m"


def test_an_async_vault_takes_the_same_arguments():
    import asyncio

    async def items():
        for number in range(4):
            yield {"id": str(number), "title": "ducks swim"}

    async def go():
        async with AsyncVault(":memory:") as vault:
            assert await vault.add_many(items(), on_similar="skip", similarity=0.9) == ["0"] * 4
            assert await vault.add(id="x", title="ducks swim", on_similar="skip") == "0"
            assert await vault.remember("ducks swim", id="m", on_similar="skip") == "m"

    asyncio.run(go())


@pytest.mark.parametrize(
    "wrong",
    [{"on_similar": "ignore"}, {"on_similar": None}, {"on_similar": ["skip"]}, {"similarity": 1.1},
     {"similarity": -0.1}, {"similarity": "high"}, {"similarity": float("nan")}, {"similarity": None}],
)  # fmt: skip
def test_what_cannot_be_understood_is_refused_and_nothing_is_stored(vault, wrong):
    for write in (
        lambda: vault.add(title="ducks", **wrong),
        lambda: vault.add_many([{"title": "ducks"}], **wrong),
        lambda: vault.remember("ducks", **wrong),
    ):
        with pytest.raises(EntryError):
            write()
    assert len(vault) == 0


def test_a_vault_opened_for_reading_refuses_whatever_it_holds(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="ducks swim")
    with Vault(tmp_path / "v.db", read_only=True) as vault, pytest.raises(ReadOnly):
        vault.add(title="ducks swim", on_similar="skip")


def test_a_vector_of_a_wrong_length_is_refused_unless_nothing_is_stored(vault):
    vault.add(id="a", title="ducks", vector=[1, 0, 0])
    vault.add(id="b", title="geese", vector=[0, 1, 0])
    with pytest.raises(VectorError):
        vault.add(id="c", title="swans", vector=[1, 0], on_similar="note")
    assert seen(vault) == ["a", "b"]
    assert vault.links("a") == []


@pytest.mark.parametrize("what", ["note", "merge"])
def test_an_entry_that_goes_between_the_look_and_the_write_loses_nothing(vault, what, monkeypatch):
    vault.add(id="a", title="ducks swim")
    look = Vault._near

    def late(self, *given):
        found = look(self, *given)
        self.delete("a")
        return found

    monkeypatch.setattr(Vault, "_near", late)
    assert vault.add(id="b", title="ducks swim", on_similar=what) == "b"
    assert seen(vault) == ["b"]
    assert vault.links("b") == []
