"""Septet for LlamaIndex: a vector store and a retriever. Extra: ``septet[llama-index]``.

::

    store = SeptetVectorStore(vault="notes.db")
    index = VectorStoreIndex.from_documents(documents, StorageContext.from_defaults(vector_store=store))
    index.as_retriever(vector_store_query_mode="hybrid", similarity_top_k=5).retrieve("session cookies")

    SeptetRetriever("notes.db", limit=5, domain="web").retrieve("session cookies")

A node is an entry: its text is the description, its metadata are the attrs, beside which ``_node_content`` keeps the
rest as LlamaIndex writes it, so that nodes come back as they were. What LlamaIndex's interfaces cannot say, or Septet
cannot do, and then says by a `QueryError`:

- the modes ``semantic_hybrid``, ``svm``, ``logistic_regression`` and ``linear_regression``;
- ``alpha`` between 0 (words alone) and 1 (vectors alone): a profile says how much each counts;
- ``sparse_top_k``, ``output_fields`` and ``embedding_field``;
- the filter operator ``text_match``, which minds capitals: ``text_match_insensitive`` does not;
- the notes of a search, its confidence, facets and timings: the vault's log has the notes (logger ``septet``).

``contains``, ``any`` and ``all`` are about lists; a text counts as a list of itself. Filters match metadata as
LlamaIndex's own store does, but for a number and a text, which are never equal, and never an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from septet.adapters.contents import both, content_of, facts_of, fields_of_text
from septet.adapters.memory import Memory, needs
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

#: Every node has it, and no other entry.
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
        vault: where nodes are kept: open, or the path of a vault, which is opened; in memory unless given.
        model: the name of the vectors that the index makes; another for each embedding model.
        kind: only entries of this kind are written, found and deleted: several indexes can share a vault. None writes
            the kind ``entry``, and finds whatever `Vault.search` does: entries that are no nodes come as text nodes.
        tier: the tier of a federation that is written to; deleting by a filter wants it named (`TierError`).
        is_embedding_query: whether an index embeds its queries; False for a vault with an embedder of its own, which
            queries of the mode ``default`` then ask for words and vectors.

    Raises:
        StoreError: ``vault`` is nothing to search, or the file cannot be used.
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
        """Return the name by which LlamaIndex knows the class."""
        return "SeptetVectorStore"

    @property
    def client(self) -> Any:
        """The vault, federation or client behind it."""
        return self._memory.blocking

    def close(self) -> None:
        """Close the vault, if a path was given."""
        self._memory.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **add_kwargs: Any) -> list[str]:
        """Store nodes, replacing those with the same ids, and return their ids.

        Args:
            nodes: the nodes, with their embeddings, or without.
            **add_kwargs: fields of `Vault.add` that all of them get, such as ``domain``.

        Raises:
            EntryError: a node cannot be stored, say as its id has more than 256 characters.
            StoreError: the vault cannot be written.
        """
        own = add_kwargs if self.kind is None else {"kind": self.kind, **add_kwargs}
        items = [{**self._item(node), **own} for node in nodes]
        stored: list[str] = self.client.add_many(items, **self._memory.into)
        return stored

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Do as `add`, on a thread."""
        return await self._memory.on_thread(self.add, nodes, **kwargs)

    def _item(self, node: BaseNode) -> dict[str, Any]:
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        metadata = node_to_metadata_dict(node, remove_text=True)
        # A filter for what is empty finds None; the node comes back from `_node_content`.
        attrs = {key: None if value == [] else value for key, value in metadata.items()}
        item = fields_of_text(node.node_id, text, attrs)
        if node.embedding is not None:
            item.update(vector=node.embedding, model=self.model)
        return item

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document."""
        self._delete({"attrs.ref_doc_id": ref_doc_id}, **delete_kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Do as `delete`, on a thread."""
        await self._memory.on_thread(self.delete, ref_doc_id, **delete_kwargs)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Delete the nodes with one of some ids that pass a filter.

        Raises:
            QueryError: neither was given: `clear` deletes all nodes.
        """
        where = both(_named("id", node_ids), where_of(filters))
        if where is None:
            raise QueryError("delete_nodes wants node_ids or filters: clear() deletes all nodes")
        self._delete(where, **delete_kwargs)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Do as `delete_nodes`, on a thread."""
        await self._memory.on_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    def clear(self) -> None:
        """Delete all nodes, of the ``kind`` if one was given; entries that are no nodes stay."""
        self._delete({})

    async def aclear(self) -> None:
        """Do as `clear`, on a thread."""
        await self._memory.on_thread(self.clear)

    def _delete(self, where: dict[str, Any], **named: Any) -> None:
        chosen = both(self._of_kind(), {_NODE: {"$exists": True}}, where)
        self.client.delete(where=chosen, **self._memory.into, **named)

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return the nodes with one of some ids that pass a filter, the oldest first; all of them without either."""
        where = both(self._of_kind(), _named("id", node_ids), where_of(filters))
        return [_node(entry) for entry in self.client.entries(where, limit=None)]

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Do as `get_nodes`, on a thread."""
        return await self._memory.on_thread(self.get_nodes, node_ids, filters)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes that answer a query, best first, with their scores, higher for better.

        Args:
            query: ``default`` asks vectors alone, or words where there is no embedding; ``hybrid`` both;
                ``text_search`` and ``sparse`` words; ``mmr`` vectors, with ``diversity=1 - mmr_threshold`` (0.5).
            **kwargs: options of `Vault.search`, which count before those of the query.

        Raises:
            QueryError: it asks for something that cannot be done; see the module.
            SeptetError: as `Vault.search` does.
        """
        found: Results = self.client.search(query.query_str or "", **{**self._options(query), **kwargs})
        nodes = [_of_hit(hit) for hit in found]
        return VectorStoreQueryResult(nodes=nodes, similarities=[hit.score for hit in found], ids=found.ids)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Do as `query`, on a thread."""
        return await self._memory.on_thread(self.query, query, **kwargs)

    def _of_kind(self) -> dict[str, Any] | None:
        return None if self.kind is None else {"kind": self.kind}

    def _options(self, query: VectorStoreQuery) -> dict[str, Any]:
        mode = VectorStoreQueryMode(query.mode)
        if mode not in _LEGS:
            known = ", ".join(one.value for one in _LEGS)
            raise QueryError(f"there is no search of the mode {mode.value!r}: known are {known}")
        for name in ("sparse_top_k", "output_fields", "embedding_field"):
            if getattr(query, name) is not None:
                raise QueryError(f"{name} cannot be chosen: leave it out")
        hybrid = mode == VectorStoreQueryMode.HYBRID
        legs = _LEGS[mode]
        if hybrid and query.alpha is not None:
            if query.alpha not in (0, 1):
                raise QueryError(f"alpha is {query.alpha}: wanted 0 or 1, or a profile that says how much each counts")
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
        # Of an index that keeps no list of its nodes, the retriever asks for those of an empty one, and means all.
        ids, documents = _named("id", query.node_ids or None), _named("attrs.ref_doc_id", query.doc_ids or None)
        options["where"] = both(ids, documents, where_of(query.filters))
        if self.kind is not None:
            options["kinds"] = self.kind
        return options


class SeptetRetriever(BaseRetriever):
    """LlamaIndex's retriever: `Vault.search` of a vault, a federation, or a client of a remote one.

    Nodes have what the hit says under ``septet`` in their metadata: score, confidence, kind, domain, tags, source,
    trust, tier and citation; a model is not shown it.

    Args:
        vault: what is searched: open, or the path of a vault, which is opened.
        limit: at most so many nodes.
        **options: the other options of `Vault.search`.
    """

    def __init__(self, vault: Any, *, limit: int = 10, **options: Any) -> None:
        self._memory = Memory(vault)
        self._options = {"limit": limit, **options}
        super().__init__()

    def close(self) -> None:
        """Close the vault, if a path was given."""
        self._memory.close()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        named = {} if query_bundle.embedding is None else {"query_vector": query_bundle.embedding}
        found: Results = self._memory.blocking.search(query_bundle.query_str, **{**self._options, **named})
        return [NodeWithScore(node=_of_hit(hit, septet=facts_of(hit)), score=hit.score) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await self._memory.on_thread(self._retrieve, query_bundle)


def where_of(filters: MetadataFilters | None) -> dict[str, Any] | None:
    """Return LlamaIndex's filters as a filter on entries; None if there are none.

    Raises:
        QueryError: an operator that Septet does not have.
    """
    if filters is None or not filters.filters:
        return None
    found = (where_of(one) if isinstance(one, MetadataFilters) else _condition(one) for one in filters.filters)
    parts = [part for part in found if part is not None]
    return {_CONDITIONS[filters.condition or FilterCondition.AND]: parts} if parts else None


def _condition(one: MetadataFilter) -> dict[str, Any]:
    field, value = f"attrs.{one.key}", one.value
    if one.operator == FilterOperator.IS_EMPTY:
        return {"$or": [{field: None}, {field: ""}]}
    if one.operator not in _OPERATORS:
        raise QueryError(
            f"there is no filter operator {one.operator.value!r}: text_match_insensitive minds no capitals"
        )
    return {field: {_OPERATORS[one.operator]: value}}


def _named(field: str, values: Sequence[str] | None) -> dict[str, Any] | None:
    return None if values is None else {field: {"$in": list(values)}}


def _node(entry: Entry, **more: Any) -> BaseNode:
    """Return an entry as the node that it was, or as a text node."""
    if "_node_content" not in entry.attrs:
        node: BaseNode = TextNode(id_=entry.id, text=content_of(entry), metadata=dict(entry.attrs))
    else:
        node = metadata_dict_to_node(dict(entry.attrs), text=entry.description or None)
    return _with(node, more)


def _of_hit(hit: Hit, **more: Any) -> BaseNode:
    """Return a hit as a node; without the entry, in mode ``scan``, as title and snippet."""
    if hit.entry is not None:
        return _node(hit.entry, **more)
    return _with(TextNode(id_=hit.id, text=f"{hit.title}\n\n{hit.snippet}".strip()), more)


def _with(node: BaseNode, more: Mapping[str, Any]) -> BaseNode:
    for name, value in more.items():
        node.metadata[name] = value
        node.excluded_llm_metadata_keys.append(name)
        node.excluded_embed_metadata_keys.append(name)
    return node
