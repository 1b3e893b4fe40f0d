"""Septet for LlamaIndex: a vector store and a retriever. Extra: ``septet[llama-index]``.

::

    store = SeptetVectorStore(vault="notes.db")
    index = VectorStoreIndex.from_documents(documents, StorageContext.from_defaults(vector_store=store))
    index.as_retriever(vector_store_query_mode="hybrid", similarity_top_k=5).retrieve("session cookies")

    SeptetRetriever("notes.db", limit=5, domain="web").retrieve("session cookies")

A node is an entry: its text is the description, its metadata are the attrs; the attr ``_node_content`` holds the rest
in LlamaIndex's format, so that nodes round-trip. Not supported (`QueryError`):

- the modes ``semantic_hybrid``, ``svm``, ``logistic_regression`` and ``linear_regression``;
- ``alpha`` between 0 (words alone) and 1 (vectors alone): a profile sets the weights;
- ``sparse_top_k``, ``output_fields`` and ``embedding_field``;
- the case-sensitive filter operator ``text_match``: use ``text_match_insensitive``.

Notes, confidence, facets and timings of a search have no place in LlamaIndex's results: read the notes in the log
(logger ``septet``).

``contains``, ``any`` and ``all`` apply to lists; a text counts as a list of one. Filters match metadata as LlamaIndex's
own store does, except that a number never equals a text and comparing them is not an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from septet.adapters.shared import Memory, both, content_of, facts_of, fields_of_text, needs
from septet.errors import QueryError
from septet.model.entry import Entry
from septet.model.results import Hit, Results

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:
    raise needs("llama-index", error) from None

__all__ = ["SeptetRetriever", "SeptetVectorStore"]

#: The attr that distinguishes nodes from other entries.
_NODE = "attrs._node_type"
_LEGS: dict[VectorStoreQueryMode, str | None] = {
    VectorStoreQueryMode.DEFAULT: "vector",
    VectorStoreQueryMode.MMR: "vector",
    VectorStoreQueryMode.HYBRID: None,
    VectorStoreQueryMode.SPARSE: "text",
    VectorStoreQueryMode.TEXT_SEARCH: "text",
}
_OPERATORS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.ANY: "$in",
    FilterOperator.ALL: "$all",
    FilterOperator.CONTAINS: "$eq",
    FilterOperator.TEXT_MATCH_INSENSITIVE: "$contains",
}
_CONDITIONS = {FilterCondition.AND: "$and", FilterCondition.OR: "$or", FilterCondition.NOT: "$nor"}


class SeptetVectorStore(BasePydanticVectorStore):
    """LlamaIndex's vector store over a vault, a federation, or a client of a remote one.

    Args:
        vault: an open vault, federation or client, or the path of a vault to open. Default: in memory.
        model: the name of the vectors that the index computes; use a different name per embedding model.
        kind: restricts writes, searches and deletions to entries of this kind, so that indexes can share a vault. None
            writes the kind ``entry`` and searches the default kinds of `Vault.search`; entries that are not nodes are
            returned as text nodes.
        tier: the tier of a federation to write to; required to delete by a filter (`TierError`).
        is_embedding_query: True if the index embeds its queries. Set False for a vault with its own embedder; the mode
            ``default`` then searches words and vectors.

    Raises:
        StoreError: ``vault`` cannot be searched, or its file cannot be used.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    model: str = "llama-index"
    kind: str | None = None
    _memory: Memory = PrivateAttr()

    def __init__(
        self,
        vault: Any = ":memory:",
        *,
        model: str = "llama-index",
        kind: str | None = None,
        tier: str | None = None,
        is_embedding_query: bool = True,
    ) -> None:
        super().__init__(model=model, kind=kind, is_embedding_query=is_embedding_query)  # type: ignore[call-arg]
        self._memory = Memory(vault, tier)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class in LlamaIndex."""
        return "SeptetVectorStore"

    @property
    def client(self) -> Any:
        """The vault, federation or client in use."""
        return self._memory.blocking

    def close(self) -> None:
        """Close the vault if it was opened from a path."""
        self._memory.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **add_kwargs: Any) -> list[str]:
        """Store nodes, replacing those with the same ids, and return their ids.

        Args:
            nodes: the nodes, with or without embeddings.
            **add_kwargs: fields of `Vault.add` for all nodes, such as ``domain``.

        Raises:
            EntryError: a node cannot be stored, for example because its id has more than 256 characters.
            StoreError: the vault cannot be written.
        """
        shared = add_kwargs if self.kind is None else {"kind": self.kind, **add_kwargs}
        items = [{**self._item(node), **shared} for node in nodes]
        stored: list[str] = self._memory.written.add_many(items)
        return stored

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Run `add` on a thread."""
        return await self._memory.on_thread(self.add, nodes, **kwargs)

    def _item(self, node: BaseNode) -> dict[str, Any]:
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        metadata = node_to_metadata_dict(node, remove_text=True)
        # IS_EMPTY filters match None, not []; `_node_content` restores the list.
        attrs = {key: None if value == [] else value for key, value in metadata.items()}
        item = fields_of_text(node.node_id, text, attrs)
        if node.embedding is not None:
            item.update(vector=node.embedding, model=self.model)
        return item

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document."""
        self._delete({"attrs.ref_doc_id": ref_doc_id}, **delete_kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Run `delete` on a thread."""
        await self._memory.on_thread(self.delete, ref_doc_id, **delete_kwargs)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Delete the nodes with these ids that match the filters.

        Raises:
            QueryError: neither ids nor filters; use `clear` to delete all nodes.
        """
        where = both(_named("id", node_ids), where_of(filters))
        if where is None:
            raise QueryError("delete_nodes requires node_ids or filters; clear() deletes all nodes")
        self._delete(where, **delete_kwargs)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Run `delete_nodes` on a thread."""
        await self._memory.on_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    def clear(self) -> None:
        """Delete all nodes of the store's ``kind``, or of every kind without one; other entries stay."""
        self._delete({})

    async def aclear(self) -> None:
        """Run `clear` on a thread."""
        await self._memory.on_thread(self.clear)

    def _delete(self, where: dict[str, Any], **kwargs: Any) -> None:
        nodes = both(self._of_kind(), {_NODE: {"$exists": True}}, where)
        self._memory.written.delete(where=nodes, **kwargs)

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return the nodes with these ids that match the filters, oldest first; all nodes without arguments."""
        where = both(self._of_kind(), _named("id", node_ids), where_of(filters))
        return [_node(entry) for entry in self.client.entries(where, limit=None)]

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Run `get_nodes` on a thread."""
        return await self._memory.on_thread(self.get_nodes, node_ids, filters)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes for a query, best first, with their scores, higher is better.

        Args:
            query: mode ``default`` searches vectors, or words if the query has no embedding; ``hybrid`` both;
                ``text_search`` and ``sparse`` words; ``mmr`` vectors, with ``diversity=1 - mmr_threshold`` (0.5).
            **kwargs: options of `Vault.search`; they override those of the query.

        Raises:
            QueryError: the query uses an unsupported feature; see the module.
            SeptetError: raised by `Vault.search`.
        """
        results: Results = self.client.search(query.query_str or "", **{**self._options(query), **kwargs})
        nodes = [_of_hit(hit) for hit in results]
        return VectorStoreQueryResult(nodes=nodes, similarities=[hit.score for hit in results], ids=results.ids)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Run `query` on a thread."""
        return await self._memory.on_thread(self.query, query, **kwargs)

    def _of_kind(self) -> dict[str, Any] | None:
        return None if self.kind is None else {"kind": self.kind}

    def _options(self, query: VectorStoreQuery) -> dict[str, Any]:
        mode = VectorStoreQueryMode(query.mode)
        if mode not in _LEGS:
            available = ", ".join(supported.value for supported in _LEGS)
            raise QueryError(f"unsupported query mode {mode.value!r}; available: {available}")
        for name in ("sparse_top_k", "output_fields", "embedding_field"):
            if getattr(query, name) is not None:
                raise QueryError(f"{name} is not supported: omit it")
        hybrid = mode == VectorStoreQueryMode.HYBRID
        legs = _LEGS[mode]
        if hybrid and query.alpha is not None:
            if query.alpha not in (0, 1):
                raise QueryError(f"alpha is {query.alpha}: wanted 0 or 1; a profile sets the weights in between")
            legs = "vector" if query.alpha == 1 else "text"
        if query.query_embedding is None and legs == "vector":
            legs = None
        options: dict[str, Any] = {"limit": query.similarity_top_k, "legs": legs}
        if hybrid and query.hybrid_top_k is not None:
            options["limit"] = query.hybrid_top_k
        if query.query_embedding is not None and legs != "text":
            options.update(query_vector=query.query_embedding, model=self.model)
        if mode == VectorStoreQueryMode.MMR:
            options["diversity"] = 1 - (0.5 if query.mmr_threshold is None else query.mmr_threshold)
        # The retriever passes an empty list, meaning all nodes, if the index keeps no list of its nodes.
        ids, documents = _named("id", query.node_ids or None), _named("attrs.ref_doc_id", query.doc_ids or None)
        options["where"] = both(ids, documents, where_of(query.filters))
        if self.kind is not None:
            options["kinds"] = self.kind
        return options


class SeptetRetriever(BaseRetriever):
    """LlamaIndex's retriever: `Vault.search` of a vault, a federation, or a client of a remote one.

    The metadata of a node have under ``septet`` score, confidence, kind, domain, tags, source, trust, tier and citation
    of its hit; they are excluded from the text for models.

    Args:
        vault: an open vault, federation or client, or the path of a vault to open.
        limit: maximum nodes.
        **options: the other options of `Vault.search`.
    """

    def __init__(self, vault: Any, *, limit: int = 10, **options: Any) -> None:
        self._memory = Memory(vault)
        self._options = {"limit": limit, **options}
        super().__init__()

    def close(self) -> None:
        """Close the vault if it was opened from a path."""
        self._memory.close()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        vector = {} if query_bundle.embedding is None else {"query_vector": query_bundle.embedding}
        results: Results = self._memory.blocking.search(query_bundle.query_str, **{**self._options, **vector})
        return [NodeWithScore(node=_of_hit(hit, septet=facts_of(hit)), score=hit.score) for hit in results]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await self._memory.on_thread(self._retrieve, query_bundle)


def where_of(filters: MetadataFilters | None) -> dict[str, Any] | None:
    """Convert LlamaIndex's filters to a filter on entries; None if there are none.

    Raises:
        QueryError: an unsupported operator.
    """
    if filters is None or not filters.filters:
        return None
    wheres = (where_of(part) if isinstance(part, MetadataFilters) else _condition(part) for part in filters.filters)
    parts = [where for where in wheres if where is not None]
    return {_CONDITIONS[filters.condition or FilterCondition.AND]: parts} if parts else None


def _condition(filter: MetadataFilter) -> dict[str, Any]:
    field, value = f"attrs.{filter.key}", filter.value
    if filter.operator == FilterOperator.IS_EMPTY:
        return {"$or": [{field: None}, {field: ""}]}
    if filter.operator not in _OPERATORS:
        raise QueryError(
            f"unsupported filter operator {filter.operator.value!r}: use text_match_insensitive to match text"
        )
    return {field: {_OPERATORS[filter.operator]: value}}


def _named(field: str, values: Sequence[str] | None) -> dict[str, Any] | None:
    return None if values is None else {field: {"$in": list(values)}}


def _node(entry: Entry, **more: Any) -> BaseNode:
    """Restore the node an entry was stored from; other entries become text nodes."""
    if "_node_content" not in entry.attrs:
        node: BaseNode = TextNode(id_=entry.id, text=content_of(entry), metadata=dict(entry.attrs))
    else:
        node = metadata_dict_to_node(dict(entry.attrs), text=entry.description or None)
    return _with(node, more)


def _of_hit(hit: Hit, **more: Any) -> BaseNode:
    """Return a hit as a node; in mode ``scan``, which loads no entry, with title and snippet as text."""
    if hit.entry is not None:
        return _node(hit.entry, **more)
    return _with(TextNode(id_=hit.id, text=f"{hit.title}\n\n{hit.snippet}".strip()), more)


def _with(node: BaseNode, more: Mapping[str, Any]) -> BaseNode:
    for name, value in more.items():
        node.metadata[name] = value
        node.excluded_llm_metadata_keys.append(name)
        node.excluded_embed_metadata_keys.append(name)
    return node
