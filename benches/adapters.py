"""What the adapters cost beside the search that they ask for: the same query, with a vector, and its results mapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from race import Competitor, Run, medians, race
from septet import Vault
from septet.adapters import langchain, llama_index
from table import Row, plain
from vaults import Asked, prepared, questions, warm

TITLE = "Adapters"
ABOUT = "A hybrid search for ten results, asked of the vault and through LangChain and LlamaIndex."
ENTRIES, ROUNDS, LIMIT = 20_000, 200, 10


def sizes(run: Run) -> list[int]:
    return [run.entries(ENTRIES)]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    asked = questions(path)
    with Vault(path) as vault:
        warm(vault, asked[0])
        times = medians(race(list(competitors(vault)), asked, run.rounds(ROUNDS)))
    yield plain(f"{n:,} entries, hybrid search, p50", times["vault"])
    for name, said in (
        ("retriever", "LangChain's retriever"),
        ("store", "LangChain's vector store"),
        ("nodes", "LlamaIndex's vector store"),
    ):
        yield plain(f"{n:,} entries, {said}, beside the search", (times[name] - times["vault"]) * 1e3, "µs")


def competitors(vault: Vault) -> Iterator[Competitor]:
    from llama_index.core.vector_stores.types import VectorStoreQuery

    retriever = langchain.SeptetRetriever(vault=vault, k=LIMIT)
    store = langchain.SeptetVectorStore(vault=vault)
    nodes = llama_index.SeptetVectorStore(vault)

    def asked_nodes(q: Asked) -> Any:
        query = VectorStoreQuery(query_str=q.text, similarity_top_k=LIMIT, mode="hybrid")
        return nodes.query(query, query_vector=q.vector)

    yield Competitor("vault", lambda q: vault.search(q.text, limit=LIMIT, query_vector=q.vector))
    yield Competitor("retriever", lambda q: retriever.invoke(q.text, query_vector=q.vector))
    yield Competitor("store", lambda q: store.similarity_search(q.text, LIMIT, query_vector=q.vector))
    yield Competitor("nodes", asked_nodes)
