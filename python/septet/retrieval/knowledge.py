"""Knowledge: the methods of a vault or a federation that a retrieval uses, and the identity of its store."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from septet.errors import SeptetError
from septet.model.entry import Entry
from septet.model.links import Link
from septet.model.results import Hit, Results
from septet.query.options import SearchOptions
from septet.retrieval.corpus import Item
from septet.sqlite.store.mending import sqlite_settings
from septet.sqlite.store.store import SqliteStore

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.listing.request import OrderBy
    from septet.model.pages import Page


class Knowledge(Protocol):
    """Entries to search, read and add: a `Vault`, a `Federation`, or an object with these methods.

    See `Vault` for the methods; several threads may call them at once.
    """

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Find the entries that answer a query, best first."""

    def get(self, id: str) -> Entry | None:
        """Return the entry with this id, or None."""

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids, skipping unknown ids."""

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry."""

    def entries(
        self, where: Mapping[str, Any] | None = None, *, order_by: OrderBy = ..., limit: int | None = ...
    ) -> Page:
        """Return entries without a query, in an order."""

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return how many entries pass a filter."""

    def add(self, *entry: Any, **fields: Any) -> str:
        """Store an entry and return its id."""

    def add_many(self, items: Iterable[Entry | Mapping[str, object]]) -> list[str]:
        """Store many entries and return their ids."""

    def link(self, source: str, target: str, type: str = ..., *, note: str = ...) -> None:
        """Link two entries."""


#: Opens another vault for reading, by its path; it has a method `close`.
OpenVault: TypeAlias = Callable[[str], Any]

_numbers = itertools.count(1)
#: Names of objects without a file. Weak: an entry lives as long as its object.
_named: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def store_of(knowledge: Knowledge) -> str:
    """Return the name of the store: equal for all objects with the same file open, and unique otherwise.

    Vaults in memory, federations and other objects are each a store, numbered in the order of the first call.
    """
    path = getattr(knowledge, "path", None)
    if isinstance(path, str) and path and path != ":memory:":
        return os.path.realpath(path)
    try:
        # One call, so that two threads agree.
        return _named.setdefault(knowledge, f"{type(knowledge).__name__.lower()}-{next(_numbers)}")
    except TypeError:
        return f"{type(knowledge).__name__.lower()}-{id(knowledge):x}"


def settings_of(knowledge: Knowledge) -> Mapping[str, Any]:
    """Return the SQLite settings of a vault as the fields ``sqlite_…`` of an envelope; empty for other objects."""
    store = getattr(knowledge, "_store", None)
    if not isinstance(store, SqliteStore):
        return {}
    try:
        with store.reading() as read:
            settings = sqlite_settings(read)
    except SeptetError:
        # A search of the vault reports the error.
        return {}
    return {f"sqlite_{name}": value for name, value in settings._asdict().items()}


def links_of(knowledge: Knowledge, ids: Sequence[str]) -> Mapping[str, Sequence[Link]]:
    """Return the links from and to each entry; a vault reads those of all in one query."""
    together = getattr(knowledge, "_links_of", None)
    if together is None:
        return {entry_id: knowledge.links(entry_id) for entry_id in ids}
    links: dict[str, list[Link]] = {entry_id: [] for entry_id in ids}
    for link in together(ids):
        for end in (link.source, link.target):
            if end in links:
                links[end].append(link)
    return links


def key_of(store: str, entry_id: str) -> str:
    """Return the identity of an entry among the lists of a retrieval."""
    return f"{store}:{entry_id}"


def items_of(store: str, hits: Iterable[Hit]) -> Sequence[Item]:
    """Return hits of one store as list items."""
    # As `key_of`, inlined: a call less for each hit.
    return [Item(f"{store}:{hit.id}", hit) for hit in hits]
