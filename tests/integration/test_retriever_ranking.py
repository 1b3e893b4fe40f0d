"""A retriever ranks what each corpus over a vault holds as a search of that vault does."""

import numpy as np
import pytest

from septet import Vault

QUERY = "zeta omega"


def told(kind):
    """A vault where one entry is found by words and its vector, another one is a little further by its vector alone."""
    vault = Vault(":memory:", clock=lambda: 1_000.0)
    vault.add(id="both", title=QUERY, kind=kind, vector=[0.7, 0.714])
    vault.add(id="near", title="alpha", kind=kind, vector=[0.65, 0.76])
    for number in range(20):
        vault.add(id=f"far{number}", title=f"pond {number}", kind=kind, vector=[0.1 + 0.01 * number, 0.9])
    return vault


@pytest.mark.parametrize("kind", ["entry", "chunk", "node"])
@pytest.mark.parametrize("vector", [None, [1.0, 0.0]])
def test_one_corpus_ranks_as_a_search_of_the_vault(kind, vector):
    with told(kind) as vault, vault.retriever() as retriever:
        for query in (QUERY, "pond alpha", "omega pond 7"):
            wanted = vault.search(query, query_vector=vector, limit=10).ids
            assert retriever.retrieve(query, query_vector=vector).ids == wanted and wanted


@pytest.mark.parametrize("kind", ["entry", "chunk", "node"])
def test_what_words_and_vectors_both_find_is_first(kind):
    with told(kind) as vault, vault.retriever() as retriever:
        found = retriever.retrieve(QUERY, query_vector=[1.0, 0.0])
        assert found.ids[:2] == ["both", "near"]
        assert found.envelope.used_bm25 and found.envelope.used_vector
        # Beside another corpus, too.
        vault.add(id="beside", title="beta", kind="chunk" if kind == "entry" else "entry", vector=[0.6, 0.8])
        assert retriever.retrieve(QUERY, query_vector=[1.0, 0.0]).ids[0] == "both"


def test_a_mirror_and_a_vault_of_the_caller_rank_as_a_search_of_them():
    with Vault(":memory:") as vault, told("chunk") as other:
        wanted = other.search(QUERY, query_vector=[1.0, 0.0], limit=10).ids
        with vault.retriever(corpora={"docs_mirror": other}) as retriever:
            assert retriever.retrieve(QUERY, query_vector=[1.0, 0.0], corpora="docs_mirror").ids == wanted


@pytest.mark.parametrize("vectors", [False, True])
def test_sentences_of_a_page_are_found_among_the_first_as_often_as_by_a_search(vectors):
    rng = np.random.default_rng(5)
    words = [f"{one}{two}" for one in "bdfghklmnprst" for two in ("ado", "eki", "iru", "omel", "uny")]
    with Vault(":memory:") as vault, vault.retriever() as retriever:
        texts = [" ".join(rng.choice(words, 12)) for _ in range(60)]
        points = rng.normal(size=(60, 8)) + 0.5
        for at, text in enumerate(texts):
            vault.add(id=f"c{at}", title=f"Part {at}", description=text, kind="chunk", vector=points[at])
        # A weak model: the query is a little nearer to its passage than to others.
        found = {"search": 0, "retriever": 0}
        for at in range(0, 60, 4):
            query = " ".join(texts[at].split()[2:8])
            given = {"query_vector": points[at] + rng.normal(size=8)} if vectors else {}
            found["search"] += f"c{at}" in vault.search(query, limit=10, **given).ids[:5]
            found["retriever"] += f"c{at}" in retriever.retrieve(query, **given).ids[:5]
        assert found["retriever"] == found["search"] >= 12


def test_the_documented_profile_keeps_the_documented_fusion_of_chunks():
    with told("chunk") as vault, vault.retriever("planned-retrieval") as retriever:
        found = retriever.retrieve(QUERY, query_vector=[1.0, 0.0])
        # 0.6 of twice the cosine and 0.4 of the first place by words, and twice the cosine.
        (ranked,) = [one for one in found.lists if one.items]
        assert [item.hit.id for item in ranked.items][:2] == ["near", "both"]
        cosines = [0.65 / np.hypot(0.65, 0.76), 0.7 / np.hypot(0.7, 0.714)]
        wanted = [2 * cosines[0], 0.6 * 2 * cosines[1] + 0.4]
        assert [item.hit.score for item in ranked.items][:2] == pytest.approx(wanted, abs=1e-3)


#: `planned-retrieval` with a share for what one leg alone finds.
SHARES = {"vector": 0.55, "text": 0.45, "vector_alone": 0.55, "text_alone": 0.45}


def test_with_shares_what_both_legs_find_is_never_below_what_one_finds_with_the_same_score():
    rng = np.random.default_rng(3)
    mended = {"extends": "planned-retrieval", "weights": {"hybrid": SHARES}}
    with Vault(":memory:") as vault:
        vault.add_many({"title": f"pond {at}", "vector": [-1.0, 0.1 * at]} for at in range(200))
        for at in range(40):
            # Pairs of one text: one is as near as it is, the other one is found by its words alone.
            near = [abs(rng.normal()), rng.normal()]
            for name, vector in ((f"both{at}", near), (f"words{at}", [-1.0, 0.1 * at])):
                vault.add(id=name, title=" ".join(["zeta"] * (1 + at % 4)), description=name, vector=vector)
        documented, found = (
            {hit.id: hit.score for hit in vault.search("zeta", query_vector=[1.0, 0.0], profile=one, limit=100)}
            for one in ("planned-retrieval", mended)
        )
        assert all(found[f"both{at}"] >= found[f"words{at}"] for at in range(40))
        assert any(documented[f"both{at}"] < documented[f"words{at}"] for at in range(40))


@pytest.mark.parametrize("mode", ["full_text", "vector"])
def test_one_leg_alone_ranks_as_a_search_of_that_leg(mode):
    with told("chunk") as vault, vault.retriever() as retriever:
        leg = "text" if mode == "full_text" else "vector"
        wanted = vault.search(QUERY, query_vector=[1.0, 0.0], legs=leg, limit=10).ids
        assert retriever.retrieve(QUERY, query_vector=[1.0, 0.0], mode=mode).ids == wanted


@pytest.mark.parametrize("profile", ["septet", "planned-retrieval"])
@pytest.mark.parametrize("vector", [None, [1.0, 0.0]])
def test_what_is_linked_to_a_node_is_not_above_the_nodes_and_chunks_that_are_found(profile, vector):
    with Vault(":memory:", clock=lambda: 1_000.0) as vault, vault.retriever(profile) as retriever:
        for at in range(3):
            vault.add(id=f"n{at}", title=f"omega {at}", kind="node", vector=[1.0, 0.1 * at])
            vault.add(id=f"c{at}", title=f"omega part {at}", kind="chunk", vector=[1.0, 0.1 * at])
        for at in range(4):
            vault.add(id=f"e{at}", title=f"pond {at}", kind="entry")
            vault.link("n0", f"e{at}", "about")
        for corpora, above in ((["knowledge_graph"], 3), (["knowledge_graph", "document_chunks"], 6)):
            found = retriever.retrieve("omega", query_vector=vector, corpora=corpora, limit=10).ids
            assert {one[0] for one in found[:above]} <= {"n", "c"} and "e0" in found[above:]


def test_an_explanation_says_which_place_an_entry_has_by_both_legs():
    with Vault(":memory:") as vault, vault.retriever() as retriever:
        for at in range(30):
            vault.add(id=f"e{at}", title="omega " * (1 + at % 3) + f"x{at}", vector=[1, 0.05 * at], kind="chunk")
            vault.add(id=f"p{at}", title=f"pond {at}", vector=[-1, 0.05 * at], kind="chunk")
        order = vault.search("omega", query_vector=[1, 0], limit=60).ids
        told = retriever.explain("omega", order[12], query_vector=[1, 0]).reason
        assert "rank 13 by both, and 10 are listed; by words: rank " in told and "by vectors: rank " in told
