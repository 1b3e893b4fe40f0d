"""Septet for LangGraph: a store of long-term memory. Extra: ``septet[langgraph]``.

::

    store = SeptetStore("memory.db", index={"dims": 1536, "embed": OpenAIEmbeddings(), "fields": ["text"]})
    graph = builder.compile(store=store)
    store.put(("users", "ada"), "tea", {"text": "Ada likes green tea."}, ttl=60)
    store.search(("users",), query="what does Ada drink?")

An item is an entry: its namespace is the kind, ``("users", "ada")`` as ``item/users/ada``, its key the title, the text
of its indexed fields the description, and its value is ``attrs.value``. Over a federation, items of a namespace whose
first label is the name of a tier are written to that tier. A time to live is the entry's ``valid_until``.

What differs from LangGraph's own stores, or cannot be said:

- a query asks words, and vectors too where ``index`` has ``embed``; without ``index`` it asks words alone. Items that
  it does not find are left out, where others fill up with items without a score. All indexed texts of an item have one
  vector together, not one each;
- an item that has expired is never returned, as if ``omit_expired`` were set; it is deleted by `sweep_ttl`, which
  ``sweep_interval_minutes`` calls with the next write, not on a thread;
- a dot in the key of a filter is a path, ``"author.name"``; a filter on a list asks for one of its items, and lists are
  not compared as a whole; numbers do not compare with texts, and such an item is left out. All operators of ``where``
  work;
- a namespace has about 250 characters at most (`EntryError`);
- items are listed by the time of their last change, the latest first; of equal ones by id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, NamedTuple

from septet.adapters.contents import both
from septet.adapters.embeddings import name_of_embeddings
from septet.adapters.memory import Memory, needs
from septet.adapters.namespaces import id_of, kind_of, listed_namespaces, matches, namespace_of
from septet.errors import QueryError, ReadOnly
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.model.drafts import checked_attrs
from septet.model.entry import Entry
from septet.model.results import Results

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
    )
    from langgraph.store.base import validate_op_namespace as check_namespace
except ImportError as error:
    raise needs("langgraph", error) from None

__all__ = ["SeptetStore"]

#: What every item has, and what those have that a query may find.
_ITEMS = {"attrs.key": {"$exists": True}, "attrs.value": {"$exists": True}}
_HIDDEN = {"attrs.indexed": {"$ne": False}}


class _Put(NamedTuple):
    """An item to be written: its entry, and whether its text gets a vector."""

    fields: dict[str, Any]
    embeds: bool


class SeptetStore(BaseStore):
    """LangGraph's store over a vault, a federation, or a client of a remote one.

    Args:
        vault: where items are kept: open, or the path of a vault, which is opened; in memory unless given.
        index: ``fields`` says which parts of values are searched (``$``, the whole, unless given), ``embed`` what makes
            their vectors; without it a vault with an embedder of its own embeds.
        ttl: ``default_ttl``, ``refresh_on_read`` and ``sweep_interval_minutes``.
        model: the name of the vectors of ``embed``; None takes its class with its ``model``.
        clock: returns the current time in epoch seconds: that of the vault, if it has another.

    Raises:
        StoreError: ``vault`` is nothing to search, or the file cannot be used.
    """

    supports_ttl = True

    def __init__(
        self,
        vault: Any = ":memory:",
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        model: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.ttl_config = ttl
        self._fields = (index or {}).get("fields") or ["$"]
        embed = (index or {}).get("embed")
        self._embeddings = None if embed is None else ensure_embeddings(embed)
        self._model = model
        if self._embeddings is not None and model is None:
            self._model = name_of_embeddings(self._embeddings)
        self._clock = clock
        self._swept = clock()
        self._memory = Memory(vault)

    @property
    def vault(self) -> Any:
        """The vault, federation or client behind it."""
        return self._memory.blocking

    def close(self) -> None:
        """Close the vault, if a path was given."""
        self._memory.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several things: what reads sees the store as it was before what writes.

        Raises:
            InvalidNamespaceError: a namespace has an empty label, or one with a dot.
            SeptetError: as the methods of `Vault` do.
        """
        asked = _checked(ops)
        puts, queries = self._puts(asked), _queries(asked)
        texts = [put.fields["description"] for put in puts if put.embeds]
        vectors: Sequence[Any] = ()
        known: dict[str, Any] = {}
        if self._embeddings is not None:
            vectors = self._embeddings.embed_documents(texts) if texts else ()
            known = {query: self._embeddings.embed_query(query) for query in queries}
        return self._done(asked, puts, vectors, known)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do as `batch`; what embeds is awaited, the rest is done on a thread."""
        asked = _checked(ops)
        puts, queries = self._puts(asked), _queries(asked)
        texts = [put.fields["description"] for put in puts if put.embeds]
        vectors: Sequence[Any] = ()
        known: dict[str, Any] = {}
        if self._embeddings is not None:
            vectors = await self._embeddings.aembed_documents(texts) if texts else ()
            known = {query: await self._embeddings.aembed_query(query) for query in queries}
        return await self._memory.on_thread(self._done, asked, puts, vectors, known)

    def sweep_ttl(self) -> int:
        """Delete the items that have expired, and return how many."""
        self._swept = now = self._clock()
        gone = {"kind": {"$in": self._kinds((), None)}, "valid_until": {"$lte": now}}
        if not isinstance(self.vault, Federation):
            return int(self.vault.delete(where=gone))
        count = 0
        for tier in self.vault.tiers():
            # A tier for reading is swept by those who write it.
            with suppress(ReadOnly):
                count += self.vault.delete(where=gone, tier=tier)
        return count

    # -- doing ---------------------------------------------------------------------------------------------------------

    def _done(
        self, asked: Sequence[Op], puts: Sequence[_Put], vectors: Sequence[Any], known: Mapping[str, Any]
    ) -> list[Result]:
        results: list[Result] = [self._read(op, known) for op in asked]
        embedded = iter(vectors)
        for put in puts:
            if put.embeds:
                put.fields.update(vector=next(embedded), model=self._model)
        self._write(puts, _removed(asked))
        return results

    def _read(self, op: Op, known: Mapping[str, Any]) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op, known)
        if isinstance(op, ListNamespacesOp):
            every = (namespace_of(kind) for kind in self._kinds((), self._clock()))
            chosen = [
                one
                for one in every
                if one is not None and all(matches(one, c.match_type, c.path) for c in op.match_conditions or ())
            ]
            return listed_namespaces(chosen, op.max_depth)[op.offset : op.offset + op.limit]
        return None

    def _get(self, op: GetOp) -> Item | None:
        # A key may look like a path, which is an id for `get`.
        entry = next(iter(self.vault.load([id_of(op.namespace, op.key)])), None)
        if entry is None or not _is_item(entry) or _expired(entry, self._clock()):
            return None
        if op.refresh_ttl:
            self._refresh([entry])
        return Item(**_parts(entry))

    def _search(self, op: SearchOp, known: Mapping[str, Any]) -> list[SearchItem]:
        now = self._clock()
        kinds = self._kinds(op.namespace_prefix, now)
        if not kinds or op.limit < 1:
            return []
        where = both({"kind": {"$in": kinds}, **_ITEMS}, _where(op.filter or {}))
        found: list[tuple[Entry, float | None]]
        if op.query:
            vector = {"query_vector": known[op.query], "model": self._model} if op.query in known else {}
            named = {"limit": op.limit, "offset": op.offset, "where": both(where, _HIDDEN), **vector}
            results: Results = self.vault.search(op.query, **named)
            found = [(hit.entry, hit.score) for hit in results if hit.entry is not None]
        else:
            listed = self.vault.entries(where, order_by=("updated_at", "desc"), limit=op.offset + op.limit, as_of=now)
            found = [(entry, None) for entry in listed[op.offset :]]
        if op.refresh_ttl:
            self._refresh([entry for entry, _ in found])
        return [SearchItem(**_parts(entry), score=score) for entry, score in found]

    def _kinds(self, prefix: Sequence[str], as_of: float | None) -> list[str]:
        """Return the kinds of all namespaces that begin so, and have an item that is valid then."""
        found = ((kind, namespace_of(kind)) for kind in self._memory.kinds(as_of=as_of))
        # A label of a search is itself, "*" too: it may be the name of a user.
        return [kind for kind, namespace in found if namespace is not None and namespace[: len(prefix)] == (*prefix,)]

    def _refresh(self, entries: Sequence[Entry]) -> None:
        """Let the times to live of what was read begin anew."""
        tiers = [{"tier": name} for name in self.vault.tiers()] if isinstance(self.vault, Federation) else [{}]
        for entry in entries:
            if (minutes := entry.attrs.get("ttl")) is None:
                continue
            # What was put anew, or deleted, since it was read has another time to live, or none.
            same = {"id": entry.id, "updated_at": entry.updated_at, "attrs.ttl": minutes}
            until = self._clock() + minutes * 60
            for tier in tiers:
                with suppress(ReadOnly):
                    self.vault.update_many(same, valid_until=until, updated_at=entry.updated_at, **tier)

    def _puts(self, asked: Sequence[Op]) -> list[_Put]:
        """Return what is to be written; of one item that is put twice, the last."""
        last = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        return [self._put(op, op.value) for op in last.values() if op.value is not None]

    def _put(self, op: PutOp, value: Mapping[str, Any]) -> _Put:
        id = id_of(op.namespace, op.key)
        attrs = checked_attrs({"key": op.key, "value": dict(value)})
        fields: dict[str, Any] = {"id": id, "kind": kind_of(op.namespace), "title": op.key if op.key.strip() else id}
        if op.ttl is not None:
            attrs["ttl"] = op.ttl
            fields["valid_until"] = self._clock() + op.ttl * 60
        paths = self._fields if op.index is None else op.index or []
        texts = [text for path in paths for text in get_text_at_path(attrs["value"], path)]
        if op.index is False:
            attrs["indexed"] = False
        text = "\n".join(texts)
        return _Put({**fields, "attrs": attrs, "description": text}, self._embeddings is not None and bool(text))

    def _write(self, puts: Sequence[_Put], removed: Sequence[str]) -> None:
        if removed:
            self.vault.delete(*removed)
        if not puts:
            return
        by_tier: dict[str | None, list[dict[str, Any]]] = {}
        tiers = self.vault.tiers() if isinstance(self.vault, Federation) else {}
        for put in puts:
            first = (namespace_of(put.fields["kind"]) or ("",))[0]
            by_tier.setdefault(first if first in tiers else None, []).append(put.fields)
        for tier, items in by_tier.items():
            self.vault.add_many(items, **({} if tier is None else {"tier": tier}))
        every = (self.ttl_config or {}).get("sweep_interval_minutes")
        if every is not None and self._clock() >= self._swept + every * 60:
            self.sweep_ttl()


def _checked(ops: Iterable[Op]) -> list[Op]:
    asked = list(ops)
    for op in asked:
        if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):
            raise QueryError(f"{shown(op)} is no operation of a store")
        check_namespace(op)
    return asked


def _queries(asked: Sequence[Op]) -> list[str]:
    return list(dict.fromkeys(op.query for op in asked if isinstance(op, SearchOp) and op.query))


def _removed(asked: Sequence[Op]) -> list[str]:
    last = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
    return [id_of(op.namespace, op.key) for op in last.values() if op.value is None]


def _where(filter: Mapping[str, Any], path: str = "attrs.value") -> dict[str, Any]:
    """Return the filter on entries that is one on values: nested dicts are paths."""
    where: dict[str, Any] = {}
    for key, wanted in filter.items():
        if isinstance(wanted, Mapping) and not any(str(one).startswith("$") for one in wanted):
            where.update(_where(wanted, f"{path}.{key}"))
        else:
            where[f"{path}.{key}"] = wanted
    return where


def _is_item(entry: Entry) -> bool:
    """Say whether a store wrote an entry; another program may have given one such an id."""
    return namespace_of(entry.kind) is not None and {"key", "value"} <= entry.attrs.keys()


def _expired(entry: Entry, now: float) -> bool:
    return entry.valid_until is not None and entry.valid_until <= now


def _parts(entry: Entry) -> dict[str, Any]:
    """Return what an item is made of."""
    return {
        "namespace": namespace_of(entry.kind),
        "key": entry.attrs["key"],
        "value": entry.attrs["value"],
        "created_at": datetime.fromtimestamp(entry.created_at, timezone.utc),
        "updated_at": datetime.fromtimestamp(entry.updated_at, timezone.utc),
    }
