"""The adapters over a client of a vault that a server holds."""

import asyncio
import inspect

import pytest

pytest.importorskip("uvicorn")

from septet import AsyncClient, Client, StoreError, Vault
from septet.adapters.shared import Memory
from serving import serving

VECTORS = {"red": [1.0, 0.0, 0.0], "blue": [0.0, 0.0, 1.0]}


@pytest.fixture
def vault():
    with Vault(":memory:") as vault:
        yield vault


@pytest.fixture
def client(vault):
    with serving(vault) as url, Client(url) as client:
        yield client


def test_langchains_own_suite_passes_over_a_client(subtests, client, vault):
    suites = pytest.importorskip("langchain_tests.integration_tests")
    from septet.adapters.langchain import SeptetVectorStore

    suite = type("Suite", (suites.VectorStoreIntegrationTests,), {"vectorstore": None})()
    tests = [name for name in dir(suite) if name.startswith("test_") and "OVERRIDE" not in name]
    assert len(tests) > 20
    for name in tests:
        with subtests.test(name):
            made = getattr(suite, name)(SeptetVectorStore(suite.get_embeddings(), vault=client))
            if inspect.isawaitable(made):
                asyncio.run(made)
            vault.delete(where={"id": {"$exists": True}})


def test_langchains_retriever_asks_a_server(client, vault):
    pytest.importorskip("langchain_core")
    from septet.adapters.langchain import SeptetRetriever

    vault.add(id="a", title="Rotate session cookies", source="wiki", attrs={"team": "web"})
    retriever = SeptetRetriever(vault=client)
    (document,) = retriever.invoke("session")
    assert (document.id, document.metadata["team"], document.metadata["septet"]["source"]) == ("a", "web", "wiki")
    assert asyncio.run(retriever.ainvoke("session"))[0].id == "a"


def test_nodes_of_llama_index_are_kept_by_a_server(client, vault):
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery

    from septet.adapters.llama_index import SeptetVectorStore

    store = SeptetVectorStore(client)
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="book")}
    nodes = [
        TextNode(id_="r", text="red", embedding=VECTORS["red"], relationships=source),
        TextNode(id_="b", text="blue", embedding=VECTORS["blue"], metadata={"deep": {"n": [1]}}),
    ]
    assert store.add(nodes) == ["r", "b"]
    found = asyncio.run(store.aquery(VectorStoreQuery(query_embedding=VECTORS["blue"], similarity_top_k=1)))
    assert found.ids == ["b"]
    assert found.nodes[0].metadata == {"deep": {"n": [1]}}
    assert {node.node_id for node in store.get_nodes()} == {"r", "b"}
    store.delete("book")
    assert [entry.id for entry in vault] == ["b"]
    store.clear()
    assert len(vault) == 0


def test_items_of_langgraph_are_kept_by_a_server(client, vault):
    pytest.importorskip("langgraph")
    from septet.adapters.langgraph import SeptetStore

    store = SeptetStore(client)
    store.put(("users", "ada"), "ü ?#%/..", {"text": "green tea"}, ttl=5)
    store.put(("users", "bob"), "k", {"text": "coffee", "n": 2})
    assert store.get(("users", "ada"), "ü ?#%/..").value == {"text": "green tea"}
    assert store.get(("users", "ada"), "none") is None
    assert [item.key for item in store.search(("users",), query="tea")] == ["ü ?#%/.."]
    assert [item.key for item in asyncio.run(store.asearch((), filter={"n": {"$gt": 1}}))] == ["k"]
    assert store.list_namespaces() == [("users", "ada"), ("users", "bob")]
    store.delete(("users", "bob"), "k")
    assert len(vault) == 1


def test_more_namespaces_than_a_server_names_are_an_error_and_not_cut(client, vault):
    vault.add_many([{"title": "t", "kind": f"k{n}"} for n in range(1_200)])
    with pytest.raises(StoreError, match="of 1,200 kinds"):
        Memory(client).kinds()


def test_a_client_for_asyncio_is_refused(client):
    with pytest.raises(StoreError, match="wanted a Vault"):
        Memory(AsyncClient(client.url))
