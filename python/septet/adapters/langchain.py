"""Septet for LangChain: a vector store and a retriever. Extra: ``septet[langchain]``.

::

    store = SeptetVectorStore(OpenAIEmbeddings(), vault="notes.db")
    store.add_texts(["Rotate session cookies."], [{"team": "web"}])
    store.similarity_search("cookies", filter={"team": "web"})  # metadata
    store.similarity_search("cookies", where={"domain": "web"})  # fields of entries

    SeptetRetriever(vault=vault, k=5, options={"domain": "web"}) | prompt | model

Searches ask words and vectors at once, unless ``legs`` says otherwise. An ``embedding`` of the store makes vectors
while a call waits, and a call raises when it fails. A vault with an embedder of its own, ``Vault(path,
embedder=embedder_of(OpenAIEmbeddings()))`` under a store without one, embeds in the background, and searches by words
while the embedding fails. Use one of the two: their vectors have different names. What LangChain's interfaces cannot
say:

- the notes of a search, its confidence as a whole, facets and timings: the vault's log has the notes (logger
  ``septet``), and `Vault.search` all of it. What a hit says is in the metadata of the retriever's documents, under
  ``septet``; documents of the store have their own metadata only;
- the number of candidates of ``max_marginal_relevance_search``: ``fetch_k`` is taken and has no effect, as a search
  with ``diversity`` chooses them itself;
- a filter that is a function: filters are dicts with the operators of ``where``;
- metadata that are no JSON, ids of more than 256 characters or with control characters: adding them raises an
  `EntryError`;
- an embedding that only works in coroutines: its blocking methods are called on threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from septet.adapters.contents import both, content_of, facts_of, fields_of_text, where_of_metadata
from septet.adapters.embeddings import embedder_of
from septet.adapters.memory import Memory, needs
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

#: Texts of one call.
MOST_TEXTS = 100_000_000


class SeptetVectorStore(VectorStore):
    """LangChain's vector store over a vault, a federation, or a client of a remote one.

    A text becomes an entry: its id is the document's (a new one where there is none), its description the text, its
    attrs the metadata, its title ``metadata["title"]`` or the first line. Entries that were stored otherwise are found
    too: their documents have title, description and context as text.

    Args:
        embedding: makes the vectors of texts and queries. None leaves both to the embedder of the vault, if it has one.
        vault: where texts are kept: open, or the path of a vault, which is opened; in memory unless given.
        model: the name of the vectors, see `embedder_of`.
        kind: only entries of this kind are written, searched and deleted: several stores can share a vault. None
            writes the kind ``entry`` and searches whatever `Vault.search` does.
        tier: the tier of a federation that is written to; deleting by a filter wants it named (`TierError`).

    Raises:
        StoreError: ``vault`` is nothing to search, or the file cannot be used.
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
        """What makes the vectors, as given."""
        return self._embedding

    @property
    def vault(self) -> Any:
        """The vault, federation or client behind it."""
        return self._memory.blocking

    def close(self) -> None:
        """Close the vault, if a path was given."""
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
        """Return a store that holds these texts; ``kwargs`` are the arguments of the class."""
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
            metadatas: what is known of each, as JSON.
            ids: the id of each, None for a new one.
            batch_size: taken for LangChain's indexing, without effect.
            **kwargs: fields of `Vault.add` that all of them get, such as ``domain`` or ``source``.

        Raises:
            EntryError: a text cannot be stored, or there is not one id, or metadata, for each.
            EmbeddingError: the embedding failed; nothing was written.
            StoreError: the vault cannot be written.
        """
        given = listed(texts, "texts", EntryError, "a list of texts", MOST_TEXTS, of=str)
        metadatas = [{} if one is None else one for one in metadatas or [{}] * len(given)]
        for name, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(given):
                raise EntryError(f"there are {len(values)} {name} for {len(given)} texts: wanted one for each")
        if not given:
            return []
        named = [id or str(uuid4()) for id in ids or [None] * len(given)]
        own = kwargs if self._kind is None else {"kind": self._kind, **kwargs}
        items = [{**fields_of_text(*one), **own} for one in zip(named, given, metadatas)]
        vectors: dict[str, Any] = {}
        if self._embedder is not None:
            vectors = {"vectors": self._embedder.embed(given), "model": self._model}
        stored: list[str] = self.vault.add_many(items, **vectors, **self._memory.into)
        return stored

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Do as `add_texts`, on a thread."""
        return await self._memory.on_thread(self.add_texts, texts, metadatas, **kwargs)

    def delete(
        self,
        ids: list[str] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> bool:
        """Delete documents by id, or by a filter; True, also if some did not exist.

        Args:
            ids: the ids.
            filter: a filter on metadata.
            where: a filter on entries.
            **kwargs: the other arguments of `Vault.delete`.

        Raises:
            QueryError: there is nothing to tell by what to delete: a store with a ``kind`` deletes all of it then, but
                one without would delete a whole vault, for which ``where={"id": {"$exists": True}}`` is wanted.
        """
        chosen = both(where, None if filter is None else where_of_metadata(filter))
        if ids is None and (chosen is not None or self._kind is not None):
            kind = None if self._kind is None else {"kind": self._kind}
            self.vault.delete(where=both(kind, chosen), **self._memory.into, **kwargs)
        elif ids is None or chosen is not None:
            raise QueryError("delete wants ids, or a filter, or a where: {'id': {'$exists': True}} means every entry")
        elif ids and self._kind is not None:
            # Another store of the vault may have a document of this id.
            named = {"kind": self._kind, "id": {"$in": list(ids)}}
            self.vault.delete(where=named, **self._memory.into, **kwargs)
        elif ids:
            self.vault.delete(*ids, **self._memory.into, **kwargs)
        return True

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Do as `delete`, on a thread."""
        return await self._memory.on_thread(self.delete, ids, **kwargs)

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents in the order of their ids; those that do not exist are left out."""
        return [_document(entry) for entry in self.vault.load(list(ids))]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Do as `get_by_ids`, on a thread."""
        return await self._memory.on_thread(self.get_by_ids, ids)

    def find(self, query: str, k: int = 4, **options: Any) -> Results:
        """Return the results of the search that `similarity_search` makes, with all that they say.

        Args:
            query: what to search for.
            k: at most so many.
            **options: ``filter``, on metadata; the options of `Vault.search`.

        Raises:
            SeptetError: as `Vault.search` and the embedding do.
        """
        if self._embedder is not None and "query_vector" not in options and options.get("legs") != "text":
            options["query_vector"] = self._embedder.embed([query], "query")[0]
        if self._model is not None and "query_vector" in options:
            options = {"model": self._model, **options}
        if self._kind is not None:
            options = {"kinds": self._kind, **options}
        if (filter := options.pop("filter", None)) is not None:
            options["where"] = both(options.get("where"), where_of_metadata(filter))
        found: Results = self.vault.search(query, **{"limit": k, **options})
        return found

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents that answer a query, best first; ``kwargs`` as for `find`."""
        return [_of_hit(hit) for hit in self.find(query, k, **kwargs)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Do as `similarity_search`, on a thread."""
        return await self._memory.on_thread(self.similarity_search, query, k, **kwargs)

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return documents with their scores, higher for better; they compare within one answer only."""
        return [(_of_hit(hit), hit.score) for hit in self.find(query, k, **kwargs)]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Do as `similarity_search_with_score`, on a thread."""
        return await self._memory.on_thread(self.similarity_search_with_score, query, k, **kwargs)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their confidence, which is from 0 to 1 for every profile."""
        return [(_of_hit(hit), hit.confidence or 0.0) for hit in self.find(query, k, **kwargs)]

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return await self._memory.on_thread(self._similarity_search_with_relevance_scores, query, k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents whose vectors are nearest, best first; ``kwargs`` as for `find`."""
        return self.similarity_search("", k, **{"query_vector": embedding, "legs": "vector", **kwargs})

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Do as `similarity_search_by_vector`, on a thread."""
        return await self._memory.on_thread(self.similarity_search_by_vector, embedding, k, **kwargs)

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return documents unlike each other: a search with ``diversity=1 - lambda_mult``; see the module."""
        return self.similarity_search(query, k, **{"diversity": 1 - lambda_mult, **kwargs})

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search`, on a thread."""
        return await self.asimilarity_search(query, k, **{"diversity": 1 - lambda_mult, **kwargs})

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return documents near a vector and unlike each other, as `max_marginal_relevance_search`."""
        return self.similarity_search_by_vector(embedding, k, **{"diversity": 1 - lambda_mult, **kwargs})

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search_by_vector`, on a thread."""
        return await self.asimilarity_search_by_vector(embedding, k, **{"diversity": 1 - lambda_mult, **kwargs})


class SeptetRetriever(BaseRetriever):
    """LangChain's retriever: `Vault.search` of a vault, a federation, or a client of a remote one.

    The metadata of a document are the attrs of its entry, and under ``septet`` score, confidence, kind, domain, tags,
    source, trust, tier and citation.

    Attributes:
        vault: what is searched: open, or the path of a vault.
        k: at most so many documents.
        options: the other options of `Vault.search`; those named in a call count before them.
    """

    vault: Any
    k: int = 10
    options: dict[str, Any] = Field(default_factory=dict)
    _memory: Memory = PrivateAttr()

    def model_post_init(self, _: Any, /) -> None:
        """Take up what is searched."""
        self._memory = Memory(self.vault)

    def close(self) -> None:
        """Close the vault, if a path was given."""
        self._memory.close()

    def find(self, query: str, *, k: int | None = None, **options: Any) -> Results:
        """Return the results behind the documents, with all that they say; arguments as for `invoke`."""
        limit = self.k if k is None else k
        found: Results = self._memory.blocking.search(query, **{"limit": limit, **self.options, **options})
        return found

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
    """Return a hit as a document; without the entry, in mode ``scan``, as title and snippet."""
    if hit.entry is not None:
        return _document(hit.entry, **more)
    return Document(id=hit.id, page_content=f"{hit.title}\n\n{hit.snippet}".strip(), metadata=more)
