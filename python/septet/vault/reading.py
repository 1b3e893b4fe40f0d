"""Reading a vault without a query: entries, links and counts."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.errors import EntryError, VectorError
from septet.inputs.arguments import shown, utf8, whole
from septet.model.entry import Entry
from septet.model.fields import Span
from septet.model.links import Link
from septet.vault.batch import ids_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.stats import Stats
    from septet.store.protocol import Remembered, Store

#: A model with its number of dimensions.
Layout: TypeAlias = "tuple[str, int]"


class VectorReader:
    """A store whose vectors can be read."""

    _store: Store
    #: Caches the result of a read per state of the store.
    _remembered: Remembered

    def vectors(self, ids: Iterable[str], model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries as stored or received from a provider, one row per id.

        Args:
            ids: of entries, in any order, possibly repeated.
            model: the model of the vectors; None for the one with the most entries, the older one of equals.

        Returns:
            Array ``(n, d)``, float32, not normalised. A row is NaN if the entry does not exist or has no vector: it was
            stored without one, is not embedded yet, or was split (its parts have vectors).

        Raises:
            EntryError: an id is not text.
            VectorError: the vault has no vectors, or none of this model.
            StoreError: the vault cannot be read.
        """
        wanted_ids, name = ids_of([ids] if isinstance(ids, str) else ids), asked_model(model)
        layout = fullest([self._layouts()], name, self._store.path)
        return rows_of(wanted_ids, layout, self._vectors_of(wanted_ids, layout))

    def _layouts(self) -> Mapping[Layout, int]:
        """Return the number of entries with a vector, by model and dimensions."""
        with self._store.reading() as read:
            rows = self._remembered(read, "spaces", lambda: read.tables.vectors.spaces(read))
        counts: dict[Layout, int] = {}
        for space in sorted(rows, key=lambda s: s.space):
            layout = (space.model, space.dimensions)
            counts[layout] = counts.get(layout, 0) + space.entries
        return counts

    def _vectors_of(self, ids: Sequence[str], layout: Layout) -> dict[str, bytes]:
        """Return the vectors by id, little-endian float32; stored ones take precedence over a provider's."""
        with self._store.reading() as read:
            return read.tables.vectors.of_ids(read, *layout, ids)


def asked_model(model: object) -> str | None:
    """Return the name of a model, or None.

    Raises:
        VectorError: it is no text.
    """
    return None if model is None else utf8(model, "model", VectorError)


def fullest(stores: Collection[Mapping[Layout, int]], model: str | None, place: str) -> Layout:
    """Return the layout with the most entries, summed over all stores.

    Raises:
        VectorError: there are no vectors, or none of the model.
    """
    counts: dict[Layout, int] = {}
    for store in stores:
        for layout, entries in store.items():
            counts[layout] = counts.get(layout, 0) + entries
    named = {layout: entries for layout, entries in counts.items() if model in (None, layout[0])}
    if named:
        return max(named, key=named.__getitem__)
    if not counts:
        raise VectorError(f"{place} has no vectors: add entries with vector=, or an embedder")
    known = ", ".join(f"{shown(name)} ({dimensions})" for name, dimensions in counts)
    raise VectorError(f"{place} has no vectors of model {shown(model)}; available: {known}")


def rows_of(ids: Sequence[str], layout: Layout, vectors: Mapping[str, bytes]) -> NDArray[np.float32]:
    """Return one row per id ``(n, d)``, NaN for missing vectors."""
    import numpy as np

    rows = np.full((len(ids), layout[1]), np.nan, dtype=np.float32)
    for place, entry_id in enumerate(ids):
        if entry_id in vectors:
            rows[place] = np.frombuffer(vectors[entry_id], dtype="<f4")
    return rows


#: ``a.md``, ``a.md#L3``, ``a.md#L3-L9``, ``a.pdf#p3``.
_PLACE = r"(?s)(.+?)(?:#[Lp](\d{1,9})(?:-[Lp]?(\d{1,9}))?)?"
#: Maximum candidate ids in an error.
MOST_CANDIDATES = 10


def is_like_place(text: str) -> bool:
    """Return True if a text looks like a place; other missing ids need no scan of the paths."""
    return "\n" not in text and any(sign in text for sign in "./#")


def entry_at(vault: Any, text: str) -> Entry | None:
    """Return the first chunk of the file with a path, or, with a suffix ``#L10``, the chunk with that line.

    Args:
        vault: has a method `entries` like `Vault`; paths are relative to the root, as in ``span``.

    Raises:
        EntryError: several files have the path; the message lists them.
        SeptetError: the entries cannot be read.
    """
    place = re.fullmatch(_PLACE, text)
    if place is None:
        return None
    # A file name may itself end in #L10.
    chunks, first_line = _chunks_at(vault, text), None
    if not chunks and place[2] is not None:
        chunks, first_line = _chunks_at(vault, place[1]), int(place[2])
    if not chunks:
        return None
    files = {(entry.source, entry.parent): entry for _, entry in reversed(chunks)}
    if len(files) > 1:
        several = ", ".join(f"{entry.id!r} of {entry.source}" for entry in list(files.values())[::-1][:MOST_CANDIDATES])
        raise EntryError(f"{text!r} is ambiguous: {several}; use the id of a chunk")
    if first_line is None:
        return chunks[0][1]
    lines = (first_line, int(place[3] or first_line))
    exact = [entry for span, entry in chunks if (span.first_line, span.last_line) == lines]
    # Chunks overlap: only the last one with a line also has the text after it.
    holding = exact[:1] or [entry for span, entry in chunks if span.first_line <= first_line <= span.last_line]
    return holding[-1] if holding else None


def _chunks_at(vault: Any, path: str) -> list[tuple[Span, Entry]]:
    """Return the entries of a path with their spans, in the order of their lines."""
    entries: Iterable[Entry] = vault.entries({"path": path}, limit=None)
    with_spans = [(entry.span, entry) for entry in entries if entry.span is not None]
    return sorted(with_spans, key=lambda pair: (pair[0].first_line, pair[0].last_line))


class ReadById(ABC):
    """A store whose entries can be read by id or by place."""

    @abstractmethod
    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids; unknown ids are skipped."""

    def get(self, id: str) -> Entry | None:
        """Return the entry with this id, or None.

        A path relative to its root works as an id: ``a.md`` is the first chunk of the file, ``a.md#L10`` the chunk with
        that line. An entry with this id takes precedence.

        Raises:
            EntryError: no entry has the id, and several files have the path; the message lists their chunks.
            StoreError: the vault cannot be read.
        """
        if entries := self.load([utf8(id, "id")]):
            return entries[0]
        return entry_at(self, id) if is_like_place(id) else None


class Readable(ReadById):
    """A store with methods that read entries; each call reads one state."""

    _store: Store

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids; unknown ids are skipped.

        Raises:
            StoreError: the vault cannot be read.
        """
        wanted_ids = ids_of([ids] if isinstance(ids, str) else ids)
        with self._store.reading() as read:
            rows = read.tables.entries.find(read, wanted_ids)
        return [rows[i].to_entry() for i in wanted_ids if i in rows]

    def _ids_beginning(self, text: str, *, limit: int = 20) -> list[str]:
        """Return the ids that begin with a text, in order: the completions of a shortened id.

        Args:
            text: the prefix; case-sensitive.
            limit: maximum number of ids, at least 1.

        Raises:
            EntryError: an argument is malformed.
            StoreError: the vault cannot be read.
        """
        prefix, most = utf8(text, "text"), whole(limit, "limit", EntryError, 1)
        with self._store.reading() as read:
            # No store supports larger limits.
            return read.tables.entries.ids_beginning(read, prefix, min(most, sys.maxsize))

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry.

        Raises:
            StoreError: the vault cannot be read.
        """
        return self._links_of([utf8(id, "id")])

    def _links_of(self, ids: Sequence[str]) -> list[Link]:
        """Return the links from and to a few entries, each once."""
        with self._store.reading() as read:
            return read.tables.links.links_of(read, ids)

    def stats(self) -> Stats:
        """Return counts of the vault's contents.

        Raises:
            StoreError: the vault cannot be read.
        """
        from septet.model.stats import Stats

        with self._store.reading() as read:
            return Stats(
                path=self._store.path,
                entries=read.tables.entries.count(read),
                kinds=read.tables.entries.kinds(read),
                links=read.tables.links.count(read),
                feedback=read.tables.feedback.counts(read),
                spaces=read.tables.vectors.spaces(read),
                generation=read.generation,
                size_bytes=self._store.size_bytes(),
                notes=() if self._store.place is None else (self._store.place,),
            )

    def __bool__(self) -> bool:
        # An empty vault must be true: `vault or Vault(...)` must not open another one.
        return True

    def __len__(self) -> int:
        with self._store.reading() as read:
            return read.tables.entries.count(read)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.load([id]))
