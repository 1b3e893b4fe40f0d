"""Batch: the entries of one transaction. Long texts are split into linked parts here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from septet._core import made_id, text_hash, windows
from septet.errors import BatchError, EntryError, Unreachable
from septet.inputs.arguments import cut, exact, listed, shown, utf8, whole
from septet.model.entry import FIELDS, Entry
from septet.model.fields import Span
from septet.model.links import NEXT, Link
from septet.sqlite.tables.entries import checked_row, plain_rows
from septet.sqlite.tables.vectors import checked
from septet.store.rows import EntryRow, GivenVectors, Keeping
from septet.vault.alike import row_entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.files.redaction import Redactor
    from septet.store.protocol import Writing

#: A necessary condition of a title with a secret: a separator before the value, digits among letters, a very long word,
#: or the keyword before a password in a `.netrc` file.
_SUSPECT = r"(?i)[=:：@]|(?:^|\s)-|[^\W\d_]\d|\d[^\W\d_]|[\w/+.-]{16,}|\bpassword\b"


#: Maximum characters of a title that are scanned; an id uses far fewer.
LOOKED_AT = 4_096


def id_of_text(kind: str, title: str, digest: str) -> str:
    """Return the id of an entry without one, derived from the title with secrets masked.

    Args:
        digest: hash of title, description and context, 32 hexadecimal digits; its start ends the id.
    """
    title = title[:LOOKED_AT]
    return made_id(kind, _rules().redact(title).text if re.search(_SUSPECT, title) else title, digest)


def with_clean_id(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an entry, with an id if it has none and its title contains a secret."""
    title = fields.get("title")
    if fields.get("id") is not None or not isinstance(title, str) or not re.search(_SUSPECT, title[:LOOKED_AT]):
        return fields
    return _cleaned(fields) if _rules().redact(title[:LOOKED_AT]).counts else fields


def with_clean_ids(items: Sequence[object]) -> Sequence[object]:
    """Apply `with_clean_id` to every dict of a block."""
    # No Python call per item, for speed.
    is_suspect = re.compile(_SUSPECT).search
    titles = {
        at: title[:LOOKED_AT]
        for at, item in enumerate(items)
        if type(item) is dict
        and item.get("id") is None
        and type(title := item.get("title")) is str
        and is_suspect(title[:LOOKED_AT])
    }
    if not titles:
        return items
    places = list(titles)
    cleaned: list[Any] = list(items)
    for number, _ in _rules().redact_all(list(titles.values())):
        cleaned[places[number]] = _cleaned(cleaned[places[number]])
    return cleaned


def _cleaned(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = ["" if (text := fields.get(name)) is None else text for name in ("title", "description", "context")]
    kind = "entry" if fields.get("kind") is None else fields["kind"]
    try:
        return {**fields, "id": id_of_text(kind, texts[0], text_hash(*texts))}
    except (TypeError, UnicodeEncodeError):
        # The checks of the entry report the malformed field.
        return fields


@lru_cache(1)
def _rules() -> Redactor:
    # Compiling the rules takes 70 ms, and most titles need none.
    from septet.files.redaction import Redactor

    return Redactor()


#: A transaction of `Vault.add_many` ends after this many entries, or bytes of text and vectors: large enough that FTS5
#: has little to merge, small enough that other writers wait only briefly.
BATCH_ROWS = 5_000
BATCH_BYTES = 32 << 20
#: Maximum ids or links per call: they are passed to SQLite as one text of at most a billion bytes.
MOST_IDS = 2_000_000
#: Words of a part with ``split="auto"``; a text of as many stays whole.
PART_WORDS = 150


class Batch:
    """Rows of one transaction: entries, parts of split entries, and the vectors passed with them.

    Attributes:
        rows: entries in input order.
        parts: the parts of each split entry by its id.
    """

    def __init__(self) -> None:
        self.rows: list[EntryRow] = []
        self.parts: dict[str, list[EntryRow]] = {}
        self.vectors: list[GivenVectors] = []
        self.size_bytes = 0
        self._prepared: object = None

    @property
    def full(self) -> bool:
        """True if the transaction should end."""
        return len(self.rows) >= BATCH_ROWS or self.size_bytes >= BATCH_BYTES

    def gather(
        self, fields: Mapping[str, Any], vector: Any, model: Any, *, now: float, words: int | None, again: bool = True
    ) -> None:
        """Check an entry and append it.

        Args:
            now: epoch seconds.
            words: maximum words per part; None to keep the text whole.
            again: also split an entry that was split before (its parent is its own id).

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
        cuts = None if words is None else windows(row.description, words)
        if cuts is None or len(cuts) < 2:
            plain = vector is None and model is None
            self.take(row, {} if plain else checked(vector, model, row.id))
            return
        if row.parent is not None:
            raise EntryError(f"{row.id!r} has the parent {row.parent!r}: a part cannot be split itself")
        if vector is not None:
            raise EntryError(f"vector of {row.id!r} describes the whole text, which is split: omit it, or split=None")
        self.take(row._replace(parent=row.id), {}, _parts(row, fields, cuts, now))

    def take(self, row: EntryRow, vectors: Mapping[str, NDArray[np.float32]], parts: Sequence[EntryRow] = ()) -> None:
        """Append a checked row, its vectors and its parts."""
        self.rows.append(row)
        self.size_bytes += row.size + sum(part.size for part in parts)
        # If an id comes twice, its last text wins.
        self.parts.pop(row.id, None)
        if parts:
            self.parts[row.id] = [*parts]
        if vectors:
            self.vectors.append(GivenVectors(row.id, row.text_hash, vectors))
            self.size_bytes += sum(v.nbytes for v in vectors.values())

    def changed(self, changes: Mapping[str, Any], now: float) -> Batch:
        """Return the batch of its only entry, which is not split, with other fields."""
        (row,), changed = self.rows, Batch()
        fields = {**fields_of(row_entry(row)), **changes}
        changed.gather(fields, self.vectors[0].by_model if self.vectors else None, None, now=now, words=None)
        changed.rows[0] = changed.rows[0]._replace(created_given=row.created_given)
        return changed

    def take_block(
        self, items: Sequence[object], vectors: NDArray[np.float32] | None, model: str | None, *, now: float
    ) -> bool:
        """Append dicts of plain fields with the rows of a checked matrix; False if any needs the full checks."""
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
            self.vectors += [GivenVectors(row.id, row.text_hash, {named: vector}) for row, vector in zip(rows, vectors)]
            size += vectors.nbytes
        for row in rows if self.parts else ():
            self.parts.pop(row.id, None)
        self.rows += rows
        self.size_bytes += size
        return True

    def prepare(self, prepare: Callable[[Sequence[EntryRow]], object]) -> None:
        """Precompute index rows outside the transaction; the batch must not change afterwards."""
        self._prepared = prepare(self._all())

    def store(self, write: Writing, keeping: Keeping, *, one_per_entry: bool) -> None:
        """Write the batch, and delete the previous parts of its entries.

        Args:
            keeping: options for earlier versions of the entries; parts have none.
            one_per_entry: True if vectors of the last write replace all others of an entry.

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
        for parts in self.parts.values():
            write.tables.links.put(write, (Link(first.id, other.id, NEXT, "") for first, other in pairwise(parts)))
        # If an id occurs twice, only vectors of its last text are stored.
        vectors = [v for v in self.vectors if hashes[v.entry_id] == v.text_hash]
        if vectors:
            write.tables.vectors.put(write, vectors, one_per_entry=one_per_entry, now=keeping.at)

    def _all(self) -> list[EntryRow]:
        """Return the rows followed by the parts."""
        return [*self.rows, *chain.from_iterable(self.parts.values())]

    def _check_ids(self, write: Writing) -> None:
        """Raise if a part would overwrite an entry that is not a part of the same parent."""
        parents = {part.id: parent for parent, parts in self.parts.items() for part in parts}
        taken = [row.id for row in self.rows if row.id in parents and row.parent != parents[row.id]]
        taken = taken or write.tables.parts.taken(write, parents)
        if taken:
            raise EntryError(
                f"{parents[taken[0]]!r} cannot be split: its part {taken[0]!r} would overwrite another entry; "
                "choose another id"
            )


def words_a_part(split: object) -> int | None:
    """Return the maximum words per part; None if texts are not split.

    Raises:
        EntryError: neither None, ``auto`` nor a whole number of at least 1.
    """
    if split is None:
        return None
    value = exact(split)
    if isinstance(value, str) and value == "auto":
        return PART_WORDS
    if isinstance(value, str):
        raise EntryError(f"split is {shown(split)}: wanted None, 'auto', or the words of a part, at least 1")
    # The native splitter takes an int32.
    return min(whole(split, "split, the words of a part,", EntryError, 1), 2**31 - 1)


def fields_of(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry as arguments of `add`."""
    fields = {name: getattr(entry, name) for name in FIELDS}
    for name in ("created_at", "updated_at"):
        # 0 means not set: the clock decides.
        if type(fields[name]) in (int, float) and not fields[name]:
            del fields[name]
    return fields


def ids_of(values: object) -> list[str]:
    """Return a collection of ids as a list of text.

    Raises:
        EntryError: not a collection, too many ids, or an id that is not text.
    """
    # Iterating a dict yields its keys.
    values = values.keys() if isinstance(values, Mapping) else values
    ids = listed(values, "ids", EntryError, "ids, as text", MOST_IDS, of=str)
    return [id if type(id) is str and id.isascii() else utf8(id, "an id") for id in ids]


def ids_to_delete(arguments: tuple[object, ...]) -> list[str]:
    """Flatten ids and collections of ids to one list.

    Raises:
        EntryError: a value is not an id; dicts are refused, since a filter's keys are fields, not ids.
    """
    for value in arguments:
        if isinstance(value, Mapping):
            raise EntryError(f"{shown(value)} is a dict: ids are text; pass a filter as where={{...}}")
    return ids_of([i for value in arguments for i in ([value] if isinstance(value, str) else ids_of(value))])


def items_of(items: object) -> Iterator[Any]:
    """Return an iterator over items to store; `len` of the collection is not trusted.

    Raises:
        EntryError: the items are not iterable.
    """
    expected = "wanted a list of entries, or of dicts with a title"
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise EntryError(f"items is {shown(items)}: {expected}")
    try:
        return iter(items)
    except TypeError:
        raise EntryError(f"items is {shown(items)}: {expected}") from None


def item_fields(item: object) -> dict[str, Any]:
    """Return an item of `septet.Vault.add_many` as fields.

    Raises:
        EntryError: the item is neither an entry nor a dict.
    """
    if isinstance(item, Entry):
        return fields_of(item)
    if isinstance(item, Mapping):
        return dict(item)
    raise EntryError(f"it is {shown(item)}: wanted an Entry, or a dict with a title")


def stopped(written: int, index: int, fault: Exception) -> BatchError:
    """Return the error for a failed item, with the number of entries stored before it."""
    cause = cut(str(fault)) or type(fault).__name__
    # A lost server may have committed the last transaction; its error says so.
    others = "" if isinstance(fault, Unreachable) else ", the others are not"
    return BatchError(
        f"item {index} could not be stored: {cause}; the {written} entries before it are stored{others}",
        written=written,
        index=index,
    )


def _parts(
    row: EntryRow, fields: Mapping[str, Any], cuts: Sequence[tuple[int, int, int, int]], now: float
) -> list[EntryRow]:
    """Return the parts of an entry: its fields with a window of the description and the lines of that window."""
    path, before = (row.id, 0) if row.path is None else (row.path, (row.first_line or 1) - 1)
    rows = []
    for number, (start, end, first_line, last_line) in enumerate(cuts, start=1):
        changes = {
            "id": f"{row.id}#{number}",
            # Keeps the indentation of the first line.
            "description": row.description[start:end].strip("\r\n").rstrip(),
            "span": Span(path, before + first_line, before + last_line),
            "parent": row.id,
        }
        rows.append(checked_row({**fields, **changes}, now=now))
    return rows
