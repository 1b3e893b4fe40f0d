"""Batch: what one transaction stores. Here a long text becomes linked parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from septet._core import windows
from septet.errors import BatchError, EntryError, Unreachable
from septet.inputs.arguments import cut, exact, listed, shown, utf8, whole
from septet.model.entry import FIELDS, Entry, Span
from septet.sqlite.tables.entries import EntryRow, checked_row, plain_rows
from septet.sqlite.tables.history import Keeping
from septet.sqlite.tables.links import NEXT, Link
from septet.sqlite.tables.vectors import GivenVectors, checked
from septet.store.protocol import Writing
from septet.vault.own_ids import with_clean_id, with_clean_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "MOST_IDS",
    "Batch",
    "fields_of",
    "ids_of",
    "ids_to_delete",
    "item_fields",
    "items_of",
    "stopped",
    "words_a_part",
]

#: A transaction of `Vault.add_many` ends after this many entries, or bytes of text and vectors: large enough that FTS5
#: has little to merge, small enough that other writers wait only briefly.
BATCH_ROWS = 5_000
BATCH_BYTES = 32 << 20
#: So many ids, or links, one call takes: they are one text to SQLite, which takes a billion bytes.
MOST_IDS = 2_000_000
#: Words of a part with ``split="auto"``; a text of as many stays whole.
PART_WORDS = 150


class Batch:
    """What one transaction stores: rows of entries, the parts of those that are split, and vectors given with them.

    Attributes:
        rows: of the entries, in the order in which they came.
        parts: those that a split entry becomes, by its id.
    """

    def __init__(self) -> None:
        self.rows: list[EntryRow] = []
        self.parts: dict[str, list[EntryRow]] = {}
        self.vectors: list[GivenVectors] = []
        self.size_bytes = 0
        self._prepared: object = None

    @property
    def full(self) -> bool:
        """Whether the transaction should end."""
        return len(self.rows) >= BATCH_ROWS or self.size_bytes >= BATCH_BYTES

    def gather(
        self, fields: Mapping[str, Any], vector: Any, model: Any, *, now: float, words: int | None, again: bool = True
    ) -> None:
        """Check an entry and take it in.

        Args:
            now: epoch seconds.
            words: split a text of more words into parts of at most so many; None to leave it whole.
            again: split also an entry that says it was split before, having its own id for parent.

        Raises:
            EntryError: a field cannot be stored.
            VectorError: the vector cannot be stored.
        """
        parent, given_id = exact(fields.get("parent")), exact(fields.get("id"))
        if again and isinstance(parent, str) and isinstance(given_id, str) and parent == given_id:
            fields = {**fields, "parent": None}
            words = words or PART_WORDS
        fields = with_clean_id(fields)
        row = checked_row(fields, now=now)
        found = None if words is None else windows(row.description, words)
        if found is None or len(found) < 2:
            plain = vector is None and model is None
            self.take(row, {} if plain else checked(vector, model, row.id))
            return
        if row.parent is not None:
            raise EntryError(f"{row.id!r} has the parent {row.parent!r}: what is split cannot be a part itself")
        if vector is not None:
            raise EntryError(f"vector of {row.id!r} is of the whole text, which is split: leave it out, or split=None")
        self.take(row._replace(parent=row.id), {}, _parts(row, fields, found, now))

    def take(self, row: EntryRow, vectors: Mapping[str, NDArray[np.float32]], parts: Sequence[EntryRow] = ()) -> None:
        """Take in a checked row, the vectors given with it, and the parts that it is split into."""
        self.rows.append(row)
        self.size_bytes += sum(one.size for one in (row, *parts))
        # If an id comes twice, its last text wins.
        self.parts.pop(row.id, None)
        if parts:
            self.parts[row.id] = [*parts]
        if vectors:
            self.vectors.append(GivenVectors(row.id, row.text_hash, vectors))
            self.size_bytes += sum(v.nbytes for v in vectors.values())

    def take_block(
        self, items: Sequence[object], vectors: NDArray[np.float32] | None, model: str | None, *, now: float
    ) -> bool:
        """Take in dicts of plain fields, with rows of a checked matrix beside them; False if one wants other checks."""
        rows = plain_rows(with_clean_ids(items), now=now)
        if not rows or any(row.parent == row.id for row in rows if row.parent is not None):
            return False
        size = sum(len(r[5]) + len(r[6]) + len(r[7]) + len(r[10]) for r in rows)
        if size > BATCH_BYTES:
            return False
        if vectors is not None:
            try:
                (named,) = checked(vectors[0], model, rows[0].id)
            except EntryError:
                return False
            self.vectors += [GivenVectors(row.id, row.text_hash, {named: one}) for row, one in zip(rows, vectors)]
            size += vectors.nbytes
        for row in rows if self.parts else ():
            self.parts.pop(row.id, None)
        self.rows += rows
        self.size_bytes += size
        return True

    def prepare(self, prepare: Callable[[Sequence[EntryRow]], object]) -> None:
        """Have a store do what it can before the transaction; nothing may be taken in any more."""
        self._prepared = prepare(self._all())

    def store(self, write: Writing, keeping: Keeping, *, one_per_entry: bool) -> None:
        """Store everything; parts that an entry had before, and has no more, are deleted.

        Args:
            keeping: how earlier versions of the entries are kept; those of parts are not.
            one_per_entry: vectors of the last write replace all others of an entry.

        Raises:
            EntryError: the id of a part belongs to another entry.
        """
        rows = self._all()
        hashes = {row.id: row.text_hash for row in rows}
        if self.parts:
            self._check_ids(write)
        stale = [part for part in write.tables.parts.of(write, [row.id for row in self.rows]) if part not in hashes]
        if stale:
            write.tables.changing.erase(write, write.tables.indexing.rows_of(write, stale))
        write.tables.vectors.drop_stale(write, hashes)
        if self._prepared is not None:
            write.tables.indexing.take(write, self._prepared)
        write.tables.entries.upsert(write, rows, self.rows, keeping)
        for own in self.parts.values():
            write.tables.links.put(write, (Link(one.id, other.id, NEXT, "") for one, other in pairwise(own)))
        # Only vectors given with the last text of an id are kept.
        given = [one for one in self.vectors if hashes[one.entry_id] == one.text_hash]
        if given:
            write.tables.vectors.put(write, given, one_per_entry=one_per_entry, now=keeping.at)

    def _all(self) -> list[EntryRow]:
        """Return the rows, and behind them those of parts."""
        return [*self.rows, *chain.from_iterable(self.parts.values())]

    def _check_ids(self, write: Writing) -> None:
        """Raise if the id of a part is that of an entry which is none."""
        parents = {part.id: parent for parent, own in self.parts.items() for part in own}
        taken = [row.id for row in self.rows if row.id in parents and row.parent != parents[row.id]]
        taken = taken or write.tables.parts.taken(write, parents)
        if taken:
            raise EntryError(
                f"{parents[taken[0]]!r} cannot be split: its part {taken[0]!r} would overwrite another entry; "
                "choose another id"
            )


def words_a_part(split: object) -> int | None:
    """Return of how many words a part has at most; None if nothing is split.

    Raises:
        EntryError: neither None, ``auto`` nor a whole number of at least 1.
    """
    if split is None:
        return None
    given = exact(split)
    if isinstance(given, str) and given == "auto":
        return PART_WORDS
    if isinstance(given, str):
        raise EntryError(f"split is {shown(split)}: wanted None, 'auto', or the words of a part, at least 1")
    return min(whole(split, "split, the words of a part,", EntryError, 1), 2**31 - 1)


def fields_of(entry: Entry) -> dict[str, Any]:
    """Return an entry as the fields that store it."""
    fields = {name: getattr(entry, name) for name in FIELDS}
    for name in ("created_at", "updated_at"):
        # 0 means not set: the clock decides.
        if type(fields[name]) in (int, float) and not fields[name]:
            del fields[name]
    return fields


def ids_of(values: object) -> list[str]:
    """Return a collection of ids as a list, each of them text.

    Raises:
        EntryError: no collection, too many, or one of them is not text.
    """
    # A dict by id gives its ids, as it gives them to a loop.
    values = values.keys() if isinstance(values, Mapping) else values
    given = listed(values, "ids", EntryError, "ids, as text", MOST_IDS, of=str)
    return [one if type(one) is str and one.isascii() else utf8(one, "an id") for one in given]


def ids_to_delete(given: tuple[object, ...]) -> list[str]:
    """Return ids, and those in collections of ids, as one list.

    Raises:
        EntryError: one of them is no id; a filter above all, whose keys are fields and not what is to be deleted.
    """
    for one in given:
        if isinstance(one, Mapping):
            raise EntryError(f"{shown(one)} is a dict: ids are text, and a filter goes by its name, where={{...}}")
    return ids_of([i for one in given for i in ([one] if isinstance(one, str) else ids_of(one))])


def items_of(items: object) -> Iterator[Any]:
    """Return what is to be stored, one after the other, whatever length the collection says that it has.

    Raises:
        EntryError: the items cannot be listed.
    """
    wanted = "wanted a list of entries, or of dicts with a title"
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise EntryError(f"items is {shown(items)}: {wanted}")
    try:
        return iter(items)
    except TypeError:
        raise EntryError(f"items is {shown(items)}: {wanted}") from None


def item_fields(item: object) -> dict[str, Any]:
    """Return an item of `septet.Vault.add_many` as fields.

    Raises:
        EntryError: neither an entry nor a dict.
    """
    if isinstance(item, Entry):
        return fields_of(item)
    if isinstance(item, Mapping):
        return dict(item)
    raise EntryError(f"it is {shown(item)}: wanted an Entry, or a dict with a title")


def stopped(written: int, index: int, fault: Exception) -> BatchError:
    """Return the error about an item that could not be stored, with those before it."""
    said = cut(str(fault)) or type(fault).__name__
    # Of a server that was lost nobody knows what it did last; the fault says so.
    others = "" if isinstance(fault, Unreachable) else ", the others are not"
    return BatchError(
        f"item {index} could not be stored: {said}; the {written} entries before it are stored{others}",
        written=written,
        index=index,
    )


def _parts(
    row: EntryRow, fields: Mapping[str, Any], found: Sequence[tuple[int, int, int, int]], now: float
) -> list[EntryRow]:
    """Return an entry's parts: each has its fields, a window of its description, and the lines that come from it."""
    path, before = (row.id, 0) if row.path is None else (row.path, (row.first_line or 1) - 1)
    made = []
    for number, (start, end, first_line, last_line) in enumerate(found, start=1):
        own = {
            "id": f"{row.id}#{number}",
            # The indentation of a first line stays.
            "description": row.description[start:end].strip("\r\n").rstrip(),
            "span": Span(path, before + first_line, before + last_line),
            "parent": row.id,
        }
        made.append(checked_row({**fields, **own}, now=now))
    return made
