"""Septet for LangGraph: a store of long-term memory. Extra: ``septet[langgraph]``.

::

    store = SeptetStore("memory.db", index={"dims": 1536, "embed": OpenAIEmbeddings(), "fields": ["text"]})
    graph = builder.compile(store=store)
    store.put(("users", "ada"), "tea", {"text": "Ada likes green tea."}, ttl=60)
    store.search(("users",), query="what does Ada drink?")

An item is an entry: its namespace is the kind, ``("users", "ada")`` as ``item/users/ada``, its key the title, the text
of its indexed fields the description, its value ``attrs.value``, its expiry ``valid_until``. Over a federation, items
of a namespace whose first label is the name of a tier are written to that tier.

Differences from LangGraph's own stores:

- a query searches words, and vectors too if ``index`` has ``embed``. Only matching items are returned, while others
  fill up with items without a score. All indexed texts of an item share one vector;
- expired items are never returned, as if ``omit_expired`` were set; `sweep_ttl` deletes them, which
  ``sweep_interval_minutes`` runs with the next write, not on a thread;
- a dot in the key of a filter is a path, ``"author.name"``; a filter on a list matches any of its items, and lists are
  not compared as a whole; a number never matches a text. All operators of ``where`` work;
- a namespace has at most about 250 characters (`EntryError`);
- items are listed by the time of their last change, latest first; ties by id.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import unquote

from septet.adapters.shared import Memory, both, name_of_embeddings, needs
from septet.errors import QueryError, ReadOnly
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.inputs.times import utc_time
from septet.model.drafts import checked_attrs
from septet.model.entry import MAX_ID_CHARS, Entry
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

#: The filter of all items, and of those that queries search.
_ITEMS = {"attrs.key": {"$exists": True}, "attrs.value": {"$exists": True}}
_SEARCHED = {"attrs.indexed": {"$ne": False}}
_ROOT = "item"
#: The separator and the wildcard of namespaces, and characters that ids must not contain.
_ESCAPED = re.compile(r"[%/\x00-\x1f\x7f-\x9f]")


class _Put(NamedTuple):
    """An item to write: the fields of its entry, and True if its text is embedded."""

    fields: dict[str, Any]
    embeds: bool


class SeptetStore(BaseStore):
    """LangGraph's store over a vault, a federation, or a client of a remote one.

    Args:
        vault: an open vault, federation or client, or the path of a vault to open. Default: in memory.
        index: ``fields``: the paths of a value that are searched (default ``$``, the whole value); ``embed``: the
            embedding. Without ``embed``, the vault's embedder applies, if any.
        ttl: ``default_ttl``, ``refresh_on_read`` and ``sweep_interval_minutes``.
        model: the name of the vectors of ``embed``; None uses its class name with its ``model``.
        clock: returns the current time in epoch seconds; pass the vault's clock if it has its own.

    Raises:
        StoreError: ``vault`` cannot be searched, or its file cannot be used.
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
        """The vault, federation or client in use."""
        return self._memory.blocking

    def close(self) -> None:
        """Close the vault if it was opened from a path."""
        self._memory.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: all reads run before the writes.

        Raises:
            InvalidNamespaceError: a namespace has an empty label, or one with a dot.
            SeptetError: raised by the methods of `Vault`.
        """
        checked, puts, texts, queries = self._prepared(ops)
        embeddings: Any = self._embeddings
        vectors = embeddings.embed_documents(texts) if texts else ()
        known = {query: embeddings.embed_query(query) for query in queries}
        return self._run(checked, puts, vectors, known)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` on a thread, and await the embedding."""
        checked, puts, texts, queries = self._prepared(ops)
        embeddings: Any = self._embeddings
        vectors = await embeddings.aembed_documents(texts) if texts else ()
        known = {query: await embeddings.aembed_query(query) for query in queries}
        return await self._memory.on_thread(self._run, checked, puts, vectors, known)

    def sweep_ttl(self) -> int:
        """Delete expired items and return their number."""
        self._swept = now = self._clock()
        expired = {"kind": {"$in": self._kinds((), None)}, "valid_until": {"$lte": now}}
        if not isinstance(self.vault, Federation):
            return int(self.vault.delete(where=expired))
        count = 0
        for tier in self.vault.tiers():
            # The writers of a read-only tier sweep it.
            with suppress(ReadOnly):
                count += self.vault.tier(tier).delete(where=expired)
        return count

    def _run(
        self, ops: Sequence[Op], puts: Sequence[_Put], vectors: Sequence[Any], known: Mapping[str, Any]
    ) -> list[Result]:
        results: list[Result] = [self._read(op, known) for op in ops]
        embedded = iter(vectors)
        for put in puts:
            if put.embeds:
                put.fields.update(vector=next(embedded), model=self._model)
        self._write(puts, [id_of(op.namespace, op.key) for op in _last_puts(ops) if op.value is None])
        return results

    def _read(self, op: Op, known: Mapping[str, Any]) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op, known)
        if isinstance(op, ListNamespacesOp):
            conditions = op.match_conditions or ()
            namespaces = {
                namespace[: op.max_depth]
                for kind in self._kinds((), self._clock())
                if (namespace := namespace_of(kind)) is not None
                and all(_matches(namespace, condition.match_type, condition.path) for condition in conditions)
            }
            return sorted(namespaces)[op.offset : op.offset + op.limit]
        return None

    def _get(self, op: GetOp) -> Item | None:
        # `Vault.get` would resolve a key that looks like a path.
        entry = next(iter(self.vault.load([id_of(op.namespace, op.key)])), None)
        # Other programs may use the id of an item.
        if entry is None or namespace_of(entry.kind) is None or not {"key", "value"} <= entry.attrs.keys():
            return None
        if entry.valid_until is not None and entry.valid_until <= self._clock():
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
        matches: list[tuple[Entry, float | None]]
        if op.query:
            vector = {"query_vector": known[op.query], "model": self._model} if op.query in known else {}
            options = {"limit": op.limit, "offset": op.offset, "where": both(where, _SEARCHED), **vector}
            results: Results = self.vault.search(op.query, **options)
            matches = [(hit.entry, hit.score) for hit in results if hit.entry is not None]
        else:
            listed = self.vault.entries(where, order_by=("updated_at", "desc"), limit=op.offset + op.limit, as_of=now)
            matches = [(entry, None) for entry in listed[op.offset :]]
        if op.refresh_ttl:
            self._refresh([entry for entry, _ in matches])
        return [SearchItem(**_parts(entry), score=score) for entry, score in matches]

    def _kinds(self, prefix: Sequence[str], as_of: float | None) -> list[str]:
        """Return the kinds of all namespaces with a prefix that have an item valid at ``as_of``."""
        pairs = ((kind, namespace_of(kind)) for kind in self._memory.kinds(as_of=as_of))
        # "*" is no wildcard in the prefix of a search: it may be the name of a user.
        return [kind for kind, namespace in pairs if namespace is not None and namespace[: len(prefix)] == (*prefix,)]

    def _refresh(self, entries: Sequence[Entry]) -> None:
        """Restart the time to live of entries that were read."""
        vault = self.vault
        tiers = [*map(vault.tier, vault.tiers())] if isinstance(vault, Federation) else [vault]
        for entry in entries:
            if (minutes := entry.attrs.get("ttl")) is None:
                continue
            # An item that was replaced or deleted since the read must not get this expiry.
            same = {"id": entry.id, "updated_at": entry.updated_at, "attrs.ttl": minutes}
            until = self._clock() + minutes * 60
            for tier in tiers:
                with suppress(ReadOnly):
                    tier.update_many(same, valid_until=until, updated_at=entry.updated_at)

    def _prepared(self, ops: Iterable[Op]) -> tuple[list[Op], list[_Put], list[str], list[str]]:
        """Return the checked operations, the items to write, and the texts and queries to embed."""
        checked = list(ops)
        for op in checked:
            if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):
                raise QueryError(
                    f"unsupported operation {shown(op)}: wanted a GetOp, SearchOp, PutOp or ListNamespacesOp"
                )
            check_namespace(op)
        puts = [self._put(op, op.value) for op in _last_puts(checked) if op.value is not None]
        texts = [put.fields["description"] for put in puts if put.embeds]
        searches = [op.query for op in checked if isinstance(op, SearchOp) and op.query]
        return checked, puts, texts, [*dict.fromkeys(searches)] if self._embeddings is not None else []

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
            (self.vault if tier is None else self.vault.tier(tier)).add_many(items)
        every = (self.ttl_config or {}).get("sweep_interval_minutes")
        if every is not None and self._clock() >= self._swept + every * 60:
            self.sweep_ttl()


def kind_of(namespace: Sequence[str]) -> str:
    """Return the kind of a namespace, unique to it: ``item/users/ada`` for ``("users", "ada")``."""
    return "/".join([_ROOT, *map(_escaped, namespace)])


def namespace_of(kind: str) -> tuple[str, ...] | None:
    """Return the namespace of a kind; None for other kinds."""
    root, *labels = kind.split("/")
    return tuple(map(unquote, labels)) if root == _ROOT and labels else None


def id_of(namespace: Sequence[str], key: str) -> str:
    """Return the id of an item, unique to it; a digest if it would be longer than an id may be."""
    path = f"{kind_of(namespace)}/{_escaped(key)}"
    # A path contains a slash, a digest none: they cannot collide.
    return path if len(path) <= MAX_ID_CHARS else f"{_ROOT}-{sha256(path.encode()).hexdigest()}"


def _escaped(label: str) -> str:
    return _ESCAPED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), label)


def _matches(namespace: Sequence[str], match_type: str, path: Sequence[str]) -> bool:
    """Return True if a namespace has a path as ``prefix`` or ``suffix``; ``*`` matches any label."""
    start = 0 if match_type == "prefix" else max(0, len(namespace) - len(path))
    part = namespace[start : start + len(path)]
    return len(part) == len(path) and all(pattern in ("*", label) for pattern, label in zip(path, part))


def _last_puts(ops: Sequence[Op]) -> Iterable[PutOp]:
    """Return the puts; the last one of an item wins."""
    return {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values()


def _where(filter: Mapping[str, Any], path: str = "attrs.value") -> dict[str, Any]:
    """Convert a filter on values to a filter on entries: nested dicts become paths."""
    where: dict[str, Any] = {}
    for key, condition in filter.items():
        if isinstance(condition, Mapping) and not any(str(name).startswith("$") for name in condition):
            where.update(_where(condition, f"{path}.{key}"))
        else:
            where[f"{path}.{key}"] = condition
    return where


def _parts(entry: Entry) -> dict[str, Any]:
    """Return the constructor arguments of an item."""
    return {
        "namespace": namespace_of(entry.kind),
        "key": entry.attrs["key"],
        "value": entry.attrs["value"],
        "created_at": utc_time(entry.created_at),
        "updated_at": utc_time(entry.updated_at),
    }
