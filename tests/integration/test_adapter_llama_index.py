"""The adapter for LlamaIndex, in the package's own index, query engine and filters."""

import asyncio
from importlib.metadata import version

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import (
    IndexNode,
    MetadataMode,
    NodeRelationship,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)

from septet import CallableEmbedder, EntryError, Federation, QueryError, TierError, Vault
from septet.adapters.llama_index import SeptetRetriever, SeptetVectorStore

MODES_WITHOUT = ("semantic_hybrid", "svm", "logistic_regression", "linear_regression")


class Axes(BaseEmbedding):
    """A vector per text: how often each of three words is in it."""

    def _get_text_embedding(self, text):
        return [text.count("red") + 0.1, text.count("green") + 0.1, text.count("blue") + 0.1]

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, text):
        return self._get_text_embedding(text)


class Sentences(TransformComponent):
    """A node for each sentence. Splitters of the package read word lists, which links of a package manager forbid."""

    def __call__(self, nodes, **kwargs):
        return [
            TextNode(
                text=sentence,
                metadata=one.metadata,
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=one.node_id)},
            )
            for one in nodes
            for sentence in one.text.split(". ")
        ]


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000_000.0) as vault:
        yield vault


def node(id, text, embedding=None, document=None, **metadata):
    made = TextNode(id_=id, text=text, metadata=metadata, embedding=embedding)
    if document is not None:
        made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return made


NODES = [
    node("door", "A red door.\nIt squeaks.", [1, 0, 0], "house", n=1, tags=["old", "loud"], state="open"),
    node("hill", "A green hill.", [0, 1, 0], "land", n=2, tags=[], state=None),
    node("sea", "The blue sea.", [0, 0, 1], "land", n=3, tags=["deep"], state="Open wide", title="Sea"),
    node("ü ?#%/..", "Nothing said of it.", [0, 0.6, 0.8], n="3"),
]


@pytest.fixture
def store(vault):
    store = SeptetVectorStore(vault)
    assert store.add(NODES) == [node.node_id for node in NODES]
    return store


def test_an_index_over_a_vault_finds_what_was_indexed_and_takes_it_back_from_the_file(tmp_path):
    documents = [
        Document(text="The red door squeaks. It is open. Nobody closes it.", id_="house", metadata={"n": 1}),
        Document(text="The blue sea is deep. The blue sky is high.", id_="land", metadata={"n": 2}),
    ]
    store = SeptetVectorStore(tmp_path / "v.db")
    index = VectorStoreIndex.from_documents(
        documents,
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=Axes(),
        transformations=[Sentences()],
    )
    found = index.as_retriever(similarity_top_k=2).retrieve("blue")
    assert {scored.node.ref_doc_id for scored in found} == {"land"}
    assert found[0].score >= found[1].score
    index.delete_ref_doc("land")
    store.close()

    again = SeptetVectorStore(tmp_path / "v.db")
    index = VectorStoreIndex.from_vector_store(again, embed_model=Axes(), transformations=[Sentences()])
    for mode in ("default", "hybrid", "text_search", "sparse", "mmr"):
        found = index.as_retriever(vector_store_query_mode=mode, similarity_top_k=3).retrieve("door blue")
        assert len(found) == (1 if mode in ("text_search", "sparse") else 3), mode
        assert {scored.node.ref_doc_id for scored in found} == {"house"}, mode
    index.insert(Document(text="A blue lake", id_="lake"))
    engine = index.as_retriever(similarity_top_k=1, vector_store_query_mode="hybrid")
    (best,) = asyncio.run(engine.aretrieve("blue lake"))
    assert best.node.get_content() == "A blue lake"
    again.close()


def test_nodes_come_back_as_they_were(store):
    odd = [
        IndexNode(id_="i", text="an index", index_id="other", metadata={"deep": {"a": [1, None]}}),
        TextNode(id_="e", text="", metadata={}),
        TextNode(id_="l", text="lines\n\nmore", start_char_idx=3, excluded_llm_metadata_keys=["x"], metadata={"x": []}),
    ]
    store.add(odd)
    for given in [*NODES, *odd]:
        (back,) = store.get_nodes([given.node_id])
        assert back.model_dump(exclude={"embedding"}) == given.model_dump(exclude={"embedding"})
        assert type(back) is type(given)
    assert {one.node_id for one in store.get_nodes()} == {one.node_id for one in [*NODES, *odd]}


def test_each_mode_is_the_search_that_it_stands_for(store, vault):
    vector = [0, 0.2, 1.0]

    def told(**options):
        found = vault.search("green door", limit=3, **options)
        return [(hit.id, hit.score) for hit in found]

    def asked(mode, **more):
        given = {"query_embedding": vector, "query_str": "green door", "similarity_top_k": 3, "mode": mode, **more}
        query = VectorStoreQuery(**given)
        found = store.query(query)
        assert [one.node_id for one in found.nodes] == found.ids
        return list(zip(found.ids, found.similarities))

    near = {"query_vector": vector, "model": "llama-index"}
    assert asked("default") == told(legs="vector", **near)
    assert asked("hybrid") == told(**near)
    assert asked("hybrid", alpha=0.0) == asked("text_search") == asked("sparse") == told(legs="text")
    assert asked("hybrid", alpha=1) == asked("default")
    assert asked("hybrid", hybrid_top_k=1) == told(**near)[:1]
    assert asked("mmr", mmr_threshold=0.2) == told(legs="vector", diversity=0.8, **near)
    assert asked("default", query_embedding=None) == told()
    assert [id for id, _ in asked("default", node_ids=["hill", "door"])] == ["hill", "door"]
    assert [id for id, _ in asked("default", doc_ids=["house"])] == ["door"]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"mode": mode} for mode in MODES_WITHOUT),
        {"mode": "hybrid", "alpha": 0.5},
        {"sparse_top_k": 3},
        {"output_fields": ["text"]},
        {"embedding_field": "other"},
        {"similarity_top_k": 0},
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_said(store, wrong):
    with pytest.raises(QueryError):
        store.query(VectorStoreQuery(query_embedding=[1, 0, 0], query_str="door", **wrong))


#: The version of what is compared with.
PACKAGE = tuple(map(int, version("llama-index-core").split(".")[:3]))
CONDITIONS = [
    ("n", "==", 3), ("n", "!=", 3), ("n", ">", 1), ("n", ">=", 2), ("n", "<", 2), ("n", "<=", 1),
    ("n", "in", [1, 2]), ("n", "nin", [1, 2]), ("tags", "any", ["deep", "loud"]), ("tags", "all", ["old", "loud"]),
    ("tags", "contains", "deep"), ("state", "text_match_insensitive", "OPEN"), ("tags", "is_empty", None),
    ("state", "is_empty", None), ("none", "is_empty", None), ("none", "!=", 1), ("none", "nin", ["x"]),
    ("state", "==", "open"),
]  # fmt: skip


@pytest.fixture
def peer():
    """The store that comes with LlamaIndex, with the nodes that it can compare."""
    peer = SimpleVectorStore()
    peer.add(NODES[:3])
    return peer


def both_find(store, peer, filters):
    query = VectorStoreQuery(query_embedding=[1, 1, 1], similarity_top_k=9, filters=filters)
    return {*store.query(query).ids} - {NODES[3].node_id}, {*peer.query(query).ids}


@pytest.mark.parametrize(("key", "operator", "value"), CONDITIONS)
@pytest.mark.parametrize("condition", FilterCondition)
def test_filters_choose_the_nodes_that_the_packages_own_store_chooses(store, peer, key, operator, value, condition):
    if key == "none" and operator in ("!=", "nin") and PACKAGE < (0, 14, 23):
        pytest.skip("the package's own store left out nodes without the key until 0.14.23")
    one = MetadataFilter(key=key, operator=FilterOperator(operator), value=value)
    other = MetadataFilter(key="n", operator=FilterOperator.EQ, value=1)
    ours, theirs = both_find(store, peer, MetadataFilters(filters=[one, other], condition=condition))
    assert ours == theirs
    alone, theirs = both_find(store, peer, MetadataFilters(filters=[one]))
    assert alone == theirs


def test_filters_may_be_nested_and_the_one_that_minds_capitals_is_refused(store):
    low = MetadataFilter(key="n", operator=FilterOperator.LT, value=3)
    nested = MetadataFilters(filters=[MetadataFilters(filters=[low], condition=FilterCondition.NOT)])
    assert [one.node_id for one in store.get_nodes(filters=nested)] == ["sea", "ü ?#%/.."]
    assert len(store.get_nodes(filters=MetadataFilters(filters=[MetadataFilters(filters=[])]))) == 4
    minds = MetadataFilters(filters=[MetadataFilter(key="state", operator=FilterOperator.TEXT_MATCH, value="open")])
    with pytest.raises(QueryError, match="text_match_insensitive"):
        store.get_nodes(filters=minds)


def test_deleting_takes_documents_ids_and_filters_and_leaves_what_is_no_node(store, vault):
    vault.add(id="own", title="Not a node", attrs={"n": 1})
    store.delete("land")
    assert {entry.id for entry in vault} == {"door", "ü ?#%/..", "own"}
    store.delete_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="n", value=1)]))
    store.delete_nodes(["none"])
    assert {entry.id for entry in vault} == {"ü ?#%/..", "own"}
    with pytest.raises(QueryError, match="clear"):
        store.delete_nodes()
    store.clear()
    assert {entry.id for entry in vault} == {"own"}


def test_a_node_that_cannot_be_stored_stores_none(store, vault):
    with pytest.raises(EntryError, match="256"):
        store.add([node("fine", "text"), node("x" * 300, "text")])
    assert len(vault) == 4


def test_entries_that_are_no_nodes_are_found_as_text_nodes(store, vault):
    vault.add(id="x", title="Purple", description="Mixed of two.", attrs={"n": 5})
    query = VectorStoreQuery(query_str="purple", mode="text_search")
    (found,) = store.query(query).nodes
    assert (found.node_id, found.text, found.metadata) == ("x", "Purple\n\nMixed of two.", {"n": 5})
    (light,) = store.query(query, mode="scan").nodes
    assert light.text == "Purple\n\nMixed of two."


def test_two_indexes_share_a_vault_by_kind(vault):
    one, two = SeptetVectorStore(vault, kind="one"), SeptetVectorStore(vault, kind="two")
    one.add([node("1", "red", [1, 0, 0])])
    two.add([node("2", "red", [1, 0, 0])])
    assert one.query(VectorStoreQuery(query_embedding=[1, 0, 0], similarity_top_k=9)).ids == ["1"]
    one.clear()
    assert [entry.id for entry in vault] == ["2"]
    assert [found.node_id for found in two.get_nodes()] == ["2"]


def test_awaited_methods_do_the_same(store):
    async def all_of_them():
        assert await store.async_add([node("new", "A red cart.", [0.9, 0, 0.1], "cart")]) == ["new"]
        query = VectorStoreQuery(query_embedding=[1, 0, 0], query_str="cart", mode="hybrid", similarity_top_k=2)
        assert await store.aquery(query) == store.query(query)
        assert await store.aget_nodes(["new"]) == store.get_nodes(["new"])
        await store.adelete("cart")
        await store.adelete_nodes(["door"])
        assert {one.node_id for one in await store.aget_nodes()} == {"hill", "sea", "ü ?#%/.."}
        await store.aclear()
        assert await store.aget_nodes() == []

    asyncio.run(all_of_them())


def test_a_federation_writes_to_the_tier_that_was_named():
    with Vault(":memory:") as own, Vault(":memory:") as team, Federation({"own": own, "team": team}) as both:
        store = SeptetVectorStore(both, tier="team")
        store.add(NODES)
        own.add(id="o", title="A blue ball", vector=[0, 0, 1], model="llama-index")
        found = store.query(VectorStoreQuery(query_embedding=[0, 0, 1], similarity_top_k=2))
        assert set(found.ids) == {"o", "sea"}
        with pytest.raises(TierError):
            SeptetVectorStore(both).clear()
        store.clear()
        assert (len(own), len(team)) == (1, 0)


def test_a_retriever_says_what_the_search_said(vault):
    vault.add(id="a", title="Rotate session cookies", domain="web", attrs={"team": "core"}, source="wiki")
    vault.add(id="b", title="Session limits", domain="ops", vector=[1, 0], model="m")
    retriever = SeptetRetriever(vault, limit=5, domain="web")
    told = vault.search("session", limit=5, domain="web")
    (found,) = retriever.retrieve("session")
    assert (found.node.node_id, found.score) == (told.hits[0].id, told.hits[0].score)
    assert found.node.metadata["septet"]["source"] == "wiki"
    assert "septet" not in found.node.get_content(metadata_mode=MetadataMode.LLM)
    assert asyncio.run(retriever.aretrieve("session"))[0].score == found.score
    with_vector = QueryBundle("limits", embedding=[1, 0])
    assert SeptetRetriever(vault, model="m").retrieve(with_vector)[0].node.node_id == "b"


def test_a_vault_that_embeds_by_itself_answers_queries_that_the_index_does_not_embed():
    axes = Axes()
    embedder = CallableEmbedder(lambda texts: [axes._get_text_embedding(text) for text in texts], model="axes")
    with Vault(":memory:", embedder=embedder) as vault:
        store = SeptetVectorStore(vault, is_embedding_query=False)
        store.add([node("r", "red, red"), node("b", "blue, blue")])
        vault.embedding_status(wait_s=30)
        index = VectorStoreIndex.from_vector_store(store, embed_model=axes)
        found = index.as_retriever(similarity_top_k=2).retrieve("all that is reddish")
        assert [scored.node.node_id for scored in found] == ["r", "b"]


def test_an_index_with_a_mock_embedding_of_the_package_works(vault):
    index = VectorStoreIndex.from_vector_store(SeptetVectorStore(vault), embed_model=MockEmbedding(8))
    index.insert_nodes([TextNode(id_="a", text="one"), TextNode(id_="b", text="two")])
    found = index.as_retriever(vector_store_query_mode="hybrid").retrieve("two")
    assert [scored.node.node_id for scored in found] == ["b", "a"]
