"""Septet for LangChain: a vector store and a retriever. Extra: ``septet[langchain]``.

::

    store = SeptetVectorStore(OpenAIEmbeddings(), vault="notes.db")
    store.add_texts(["Rotate session cookies."], [{"team": "web"}])
    store.similarity_search("cookies", filter={"team": "web"})  # metadata
    store.similarity_search("cookies", where={"domain": "web"})  # fields of entries

    SeptetRetriever(vault=vault, k=5, options={"domain": "web"}) | prompt | model

Searches use words and vectors unless ``legs`` restricts them. The store's ``embedding`` runs within the call; if it
fails, the call raises. An embedder of the vault, ``Vault(path, embedder=embedder_of(OpenAIEmbeddings()))`` under a
store without ``embedding``, runs in the background; if it fails, searches use words alone. Use one of the two: their
vectors have different names. Differences from other LangChain stores:

- notes, overall confidence, facets and timings of a search have no place in LangChain's results: read the notes in
  the log (logger ``septet``), or call `find`. The retriever puts the fields of a hit under ``septet`` in the metadata
  of its documents; documents of the store have their own metadata only;
- ``fetch_k`` of ``max_marginal_relevance_search`` has no effect: a search with ``diversity`` sets the number of
  candidates;
- filters are dicts with the operators of ``where``, not functions;
- metadata must be JSON, ids at most 256 characters without control characters (`EntryError`);
- async methods call the blocking methods of an embedding on threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from septet.adapters.shared import (
    Memory,
    both,
    content_of,
    embedder_of,
    facts_of,
    fields_of_text,
    needs,
    where_of_metadata,
)
from septet.errors import EntryError, QueryError
from septet.inputs.arguments import listed
from septet.model.results import Hit, Results

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import Field, PrivateAttr
except ImportError as error:
    raise needs("langchain", error) from None

__all__ = ["SeptetRetriever", "SeptetVectorStore", "embedder_of"]

#: Maximum texts per call.
MOST_TEXTS = 100_000_000


class SeptetVectorStore(VectorStore):
    """LangChain's vector store over a vault, a federation, or a client of a remote one.

    A text becomes an entry: its id is the document's or a new one, its description the text, its attrs the metadata,
    its title ``metadata["title"]`` or the first line. Searches also return entries from other sources; the text of
    their documents is title, description and context.

    Args:
        embedding: embeds texts and queries. None leaves both to the embedder of the vault, if any.
        vault: an open vault, federation or client, or the path of a vault to open. Default: in memory.
        model: the name of the vectors, see `embedder_of`.
        kind: restricts writes, searches and deletions to entries of this kind, so that stores can share a vault. None
            writes the kind ``entry`` and searches the default kinds of `Vault.search`.
        tier: the tier of a federation to write to; required to delete by a filter (`TierError`).

    Raises:
        StoreError: ``vault`` cannot be searched, or its file cannot be used.
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        vault: Any = ":memory:",
        model: str | None = None,
        kind: str | None = None,
        tier: str | None = None,
    ) -> None:
        self._embedding = embedding
        self._embedder = None if embedding is None else embedder_of(embedding, model)
        self._model = model if self._embedder is None else self._embedder.model
        self._kind = kind
        self._memory = Memory(vault, tier)

    @property
    def embeddings(self) -> Embeddings | None:
        """The embedding model, or None."""
        return self._embedding

    @property
    def vault(self) -> Any:
        """The vault, federation or client in use."""
        return self._memory.blocking

    def close(self) -> None:
        """Close the vault if it was opened from a path."""
        self._memory.close()

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> SeptetVectorStore:
        """Create a store with these texts; ``kwargs`` are arguments of the class."""
        store = cls(embedding, **kwargs)
        try:
            store.add_texts(texts, metadatas, ids=ids)
        except BaseException:
            store.close()
            raise
        return store

    # -- writing -------------------------------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts, replacing those with the same ids, and return their ids.

        Args:
            texts: the texts.
            metadatas: JSON metadata, one dict or None per text.
            ids: one id per text; None for a new id.
            batch_size: no effect; accepted for LangChain's indexing.
            **kwargs: fields of `Vault.add` for all texts, such as ``domain`` or ``source``.

        Raises:
            EntryError: a text cannot be stored, or ``metadatas`` or ``ids`` differ from ``texts`` in length.
            EmbeddingError: the embedding failed; nothing was written.
            StoreError: the vault cannot be written.
        """
        checked = listed(texts, "texts", EntryError, "a list of texts", MOST_TEXTS, of=str)
        metadatas = [metadata or {} for metadata in metadatas or [{}] * len(checked)]
        for name, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(checked):
                raise EntryError(f"{name} has {len(values)} items for {len(checked)} texts: wanted one per text")
        if not checked:
            return []
        new_ids = [id or str(uuid4()) for id in ids or [None] * len(checked)]
        shared = kwargs if self._kind is None else {"kind": self._kind, **kwargs}
        items = [{**fields_of_text(*document), **shared} for document in zip(new_ids, checked, metadatas)]
        vectors: dict[str, Any] = {}
        if self._embedder is not None:
            vectors = {"vectors": self._embedder.embed(checked), "model": self._model}
        stored: list[str] = self._memory.written.add_many(items, **vectors)
        return stored

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Run `add_texts` on a thread."""
        return await self._memory.on_thread(self.add_texts, texts, metadatas, **kwargs)

    def delete(
        self,
        ids: list[str] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> bool:
        """Delete documents by id or by a filter. Return True, also if some did not exist.

        Args:
            ids: the ids.
            filter: a filter on metadata.
            where: a filter on entries.
            **kwargs: the other arguments of `Vault.delete`.

        Raises:
            QueryError: both ids and a filter; or neither, in a store without a ``kind``: to delete the whole vault,
                pass ``where={"id": {"$exists": True}}``. A store with a ``kind`` deletes all entries of it.
        """
        condition = both(where, None if filter is None else where_of_metadata(filter))
        if ids is None and (condition is not None or self._kind is not None):
            kind = None if self._kind is None else {"kind": self._kind}
            self._memory.written.delete(where=both(kind, condition), **kwargs)
        elif ids is None or condition is not None:
            raise QueryError(
                "delete requires either ids or a filter or where; where={'id': {'$exists': True}} deletes every entry"
            )
        elif ids and self._kind is not None:
            # Another store of the vault may have a document of this id.
            matching = {"kind": self._kind, "id": {"$in": list(ids)}}
            self._memory.written.delete(where=matching, **kwargs)
        elif ids:
            self._memory.written.delete(*ids, **kwargs)
        return True

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Run `delete` on a thread."""
        return await self._memory.on_thread(self.delete, ids, **kwargs)

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents in the order of ``ids``, without missing ones."""
        return [_document(entry) for entry in self.vault.load(list(ids))]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Run `get_by_ids` on a thread."""
        return await self._memory.on_thread(self.get_by_ids, ids)

    def find(self, query: str, k: int = 4, **options: Any) -> Results:
        """Return the full results of `similarity_search`, with notes, facets and timings.

        Args:
            query: the query.
            k: maximum hits.
            **options: ``filter``, on metadata; the options of `Vault.search`.

        Raises:
            SeptetError: raised by `Vault.search` or the embedding.
        """
        if self._embedder is not None and "query_vector" not in options and options.get("legs") != "text":
            options["query_vector"] = self._embedder.embed([query], "query")[0]
        if self._model is not None and "query_vector" in options:
            options = {"model": self._model, **options}
        if self._kind is not None:
            options = {"kinds": self._kind, **options}
        if (filter := options.pop("filter", None)) is not None:
            options["where"] = both(options.get("where"), where_of_metadata(filter))
        results: Results = self.vault.search(query, **{"limit": k, **options})
        return results

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents for a query, best first; ``kwargs`` as for `find`."""
        return [_of_hit(hit) for hit in self.find(query, k, **kwargs)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Run `similarity_search` on a thread."""
        return await self._memory.on_thread(self.similarity_search, query, k, **kwargs)

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return documents with their scores, higher is better; scores compare within one result only."""
        return [(_of_hit(hit), hit.score) for hit in self.find(query, k, **kwargs)]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Run `similarity_search_with_score` on a thread."""
        return await self._memory.on_thread(self.similarity_search_with_score, query, k, **kwargs)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their confidence, 0 to 1 for every profile."""
        return [(_of_hit(hit), hit.confidence or 0.0) for hit in self.find(query, k, **kwargs)]

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return await self._memory.on_thread(self._similarity_search_with_relevance_scores, query, k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents with the nearest vectors, best first; ``kwargs`` as for `find`."""
        return self.similarity_search("", k, **{"query_vector": embedding, "legs": "vector", **kwargs})

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Run `similarity_search_by_vector` on a thread."""
        return await self._memory.on_thread(self.similarity_search_by_vector, embedding, k, **kwargs)

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return diverse documents: a search with ``diversity=1 - lambda_mult``. ``fetch_k`` has no effect."""
        return self.similarity_search(query, k, **{"diversity": 1 - lambda_mult, **kwargs})

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Run `max_marginal_relevance_search` on a thread."""
        return await self.asimilarity_search(query, k, **{"diversity": 1 - lambda_mult, **kwargs})

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return diverse documents near a vector, as `max_marginal_relevance_search`."""
        return self.similarity_search_by_vector(embedding, k, **{"diversity": 1 - lambda_mult, **kwargs})

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Run `max_marginal_relevance_search_by_vector` on a thread."""
        return await self.asimilarity_search_by_vector(embedding, k, **{"diversity": 1 - lambda_mult, **kwargs})


class SeptetRetriever(BaseRetriever):
    """LangChain's retriever: `Vault.search` of a vault, a federation, or a client of a remote one.

    The metadata of a document are the attrs of its entry, and under ``septet`` score, confidence, kind, domain, tags,
    source, trust, tier and citation.

    Attributes:
        vault: an open vault, federation or client, or the path of a vault to open.
        k: maximum documents.
        options: default options of `Vault.search`; a call may override them.
    """

    vault: Any
    k: int = 10
    options: dict[str, Any] = Field(default_factory=dict)
    _memory: Memory = PrivateAttr()

    def model_post_init(self, _: Any, /) -> None:
        """Open the vault."""
        self._memory = Memory(self.vault)

    def close(self) -> None:
        """Close the vault if it was opened from a path."""
        self._memory.close()

    def find(self, query: str, *, k: int | None = None, **options: Any) -> Results:
        """Return the full results of `invoke`, with notes, facets and timings; arguments as for `invoke`."""
        limit = self.k if k is None else k
        results: Results = self._memory.blocking.search(query, **{"limit": limit, **self.options, **options})
        return results

    def _documents(self, query: str, options: dict[str, Any]) -> list[Document]:
        return [_of_hit(hit, septet=facts_of(hit)) for hit in self.find(query, **options)]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self._documents(query, kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return await self._memory.on_thread(self._documents, query, kwargs)


def _document(entry: Any, **more: Any) -> Document:
    return Document(id=entry.id, page_content=content_of(entry), metadata={**entry.attrs, **more})


def _of_hit(hit: Hit, **more: Any) -> Document:
    """Return a hit as a document; in mode ``scan``, which loads no entry, with title and snippet as text."""
    if hit.entry is not None:
        return _document(hit.entry, **more)
    return Document(id=hit.id, page_content=f"{hit.title}\n\n{hit.snippet}".strip(), metadata=more)
