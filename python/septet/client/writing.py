"""Writing methods of a client: the arguments and results of those of `Vault`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet.client import shapes
from septet.client.answers import entry_of
from septet.client.faults import error_of
from septet.client.steps import Steps
from septet.client.transport import ConnectionSettings, ServerCall
from septet.client.wire import encoded, present
from septet.errors import BatchError, EntryError, SeptetError
from septet.inputs.arguments import listed, shown, utf8
from septet.model.entry import Entry
from septet.model.links import checked
from septet.vault.alike import KEEP, SIMILARITY
from septet.vault.batch import MOST_IDS, fields_of, ids_to_delete, item_fields, items_of, stopped
from septet.watch.progress import Progress, shown_progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.model.fields import (
        Action,
        BulkChanges,
        EntryChanges,
        EntryItem,
        EntryOverrides,
        FrameLike,
        MemoryFields,
        OnSimilar,
        Split,
        Strings,
        VectorLike,
    )
    from septet.model.links import Link

#: Maximum number of entries, and of bytes of them, per call.
MOST_LINES, MOST_BYTES = 1_000, 4_000_000
#: Maximum number of ids per call.
MOST_AT_ONCE = 1_000


class Writes:
    """The steps of the writing methods, for a server with these settings."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings

    def add(
        self,
        entry: Entry | None = None,
        *,
        vector: VectorLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
        **fields: Unpack[EntryOverrides],
    ) -> Steps[str]:
        """Store an entry and return its id; see `Vault.add`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer: the entry may be stored.
        """
        optional: dict[str, Any] = {"vector": vector, "model": model, "split": split}
        named = {**_entry(entry), **fields, **present(optional), **_similar_options(on_similar, similarity)}
        return str((yield ServerCall("add", self._named(named)))["id"])

    def add_many(
        self,
        items: Iterable[Entry | EntryItem | Mapping[str, object]] | FrameLike,
        *,
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
    ) -> Steps[list[str]]:
        """Store many entries and return their ids, 1,000 entries or 4 MB a call; see `Vault.add_many`.

        Items after an invalid one are stored if they are in the same call, else not.

        Raises:
            BatchError: an item could not be stored, or ``items`` raised; ``written`` is the number of stored entries.
            Unreachable: the server did not answer; entries of earlier calls are stored.
        """
        with shown_progress(progress, "add_many", "entries", EntryError) as report:
            rows, total = _items_and_count(items, vectors, model)
            more = self._named({**present({"split": split}), **_similar_options(on_similar, similarity)})
            ids: list[str] = []
            lines: list[bytes] = []
            size = 0
            source = iter(rows)
            while True:
                try:
                    fields = next(source, None)
                    line = b"" if fields is None else encoded({**more, **fields}, reads=False) + b"\n"
                except Exception as fault:
                    # The source may raise anything; the error reports how many entries are stored.
                    raise stopped(len(ids), len(ids) + len(lines), fault) from fault
                if lines and (fields is None or len(lines) >= MOST_LINES or size + len(line) > MOST_BYTES):
                    answers = yield ServerCall("bulk", b"".join(lines))
                    ids += _stored(answers, len(ids), len(lines), self._settings)
                    lines, size = [], 0
                    if report is not None:
                        report(len(ids), total)
                if fields is None:
                    return ids
                lines.append(line)
                size += len(line)

    def update(
        self,
        id: str,
        *,
        vector: VectorLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        merge_attrs: Mapping[str, object] | None = None,
        **changes: Unpack[EntryChanges],
    ) -> Steps[Entry]:
        """Change some fields of an entry and return the changed entry; see `Vault.update`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        optional = present({"vector": vector, "model": model, "split": split, "merge_attrs": merge_attrs})
        return entry_of((yield ServerCall("update", self._named({"id": id, **changes, **optional}))))

    def update_many(
        self,
        where: Mapping[str, object],
        *,
        merge_attrs: Mapping[str, object] | None = None,
        dry_run: bool = False,
        **changes: Unpack[BulkChanges],
    ) -> Steps[int]:
        """Change every entry that passes a filter; return the number that passed; see `Vault.update_many`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        named = {"where": where, "dry_run": dry_run, **changes, **present({"merge_attrs": merge_attrs})}
        return int((yield ServerCall("update_many", self._named(named)))["count"])

    def delete(
        self, *ids: str | Iterable[str], where: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> Steps[int]:
        """Delete entries by id or by filter; return the number that existed; see `Vault.delete`. A call has 1,000 ids.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        return (yield from self._delete("delete", ids, where, dry_run))

    def forget(
        self, *ids: str | Iterable[str], where: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> Steps[int]:
        """Delete memories by id or by filter; return the number that existed; see `Vault.forget`. A call has 1,000 ids.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        return (yield from self._delete("forget", ids, where, dry_run))

    def remember(
        self,
        text: str | None = None,
        details: str = "",
        topics: Strings = (),
        *,
        context: str | None = None,
        summary: str | None = None,
        id: str | None = None,
        vector: VectorLike | None = None,
        model: str | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
        **fields: Unpack[MemoryFields],
    ) -> Steps[str]:
        """Store a memory and return its id; see `Vault.remember`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        texts = [part for part in (details, summary) if part is not None and not (isinstance(part, str) and part == "")]
        if (text is None) == (context is None) or len(texts) > 1:
            raise EntryError("remember() takes text (or context, its other name) and details (or summary), each once")
        body = texts[0] if texts else ""
        required = {"text": context if text is None else text, "details": body, "topics": topics}
        more = present({"id": id, "vector": vector, "model": model})
        named = {**required, **fields, **more, **_similar_options(on_similar, similarity)}
        return str((yield ServerCall("remember", self._named(named)))["id"])

    def supersede(self, old: str, new: str | Entry | EntryItem | Mapping[str, object], reason: str = "") -> Steps[str]:
        """Replace an entry by another; see `Vault.supersede`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        replacement = new if isinstance(new, str) else item_fields(new)
        return str(
            (yield ServerCall("supersede", self._named({"old": old, "new": replacement, "reason": reason})))["id"]
        )

    def reinstate(self, id: str) -> Steps[bool]:
        """Undo `supersede`; return whether the entry was superseded; see `Vault.reinstate`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        return bool((yield ServerCall("reinstate", {"id": id}))["changed"])

    def link(self, source: str, target: str, type: str = "related", *, note: str = "") -> Steps[None]:
        """Link two entries; see `Vault.link`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        yield ServerCall("link", self._named({"source": source, "target": target, "type": type, "note": note}))

    def link_many(
        self, items: Iterable[Link | tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, str]]
    ) -> Steps[int]:
        """Store many links; return the number of links; see `Vault.link_many`. 1,000 are one call and transaction.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        pairs = listed(items, "items", EntryError, "a list of links (source, target[, type[, note]])", MOST_IDS)
        links = [checked(item)._asdict() for item in pairs]
        for start in range(0, len(links), MOST_AT_ONCE):
            yield ServerCall("link_many", self._named({"links": links[start : start + MOST_AT_ONCE]}))
        return len(links)

    def unlink(self, source: str, target: str) -> Steps[bool]:
        """Remove a link; return whether it existed; see `Vault.unlink`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        ends = {"source": utf8(source, "source"), "target": utf8(target, "target")}
        return bool((yield ServerCall("unlink", self._named(ends)))["changed"])

    def feedback(self, query: str, id: str, action: Action) -> Steps[None]:
        """Record feedback on a result; see `Vault.feedback`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        yield ServerCall("feedback", self._named({"query": query, "id": id, "action": action}))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _named(self, request: dict[str, Any]) -> dict[str, Any]:
        return request if self._settings.tier is None else {**request, "tier": self._settings.tier}

    def _delete(
        self, method: str, ids: tuple[str | Iterable[str], ...], where: Mapping[str, object] | None, dry_run: bool
    ) -> Steps[int]:
        if where is not None:
            if ids:
                raise EntryError(f"{method}() takes ids or where=, not both")
            named = self._named({"where": where, "dry_run": dry_run})
            return int((yield ServerCall(method, named))["count"])
        entry_ids, count = ids_to_delete(ids), 0
        for start in range(0, len(entry_ids), MOST_AT_ONCE):
            named = self._named({"ids": entry_ids[start : start + MOST_AT_ONCE], "dry_run": dry_run})
            count += (yield ServerCall(method, named))["count"]
        return count


def _similar_options(on_similar: object, similarity: object) -> dict[str, Any]:
    named = {"on_similar": (on_similar, KEEP), "similarity": (similarity, SIMILARITY)}
    return {name: value for name, (value, default) in named.items() if value is not default}


def _entry(entry: Entry | None) -> dict[str, Any]:
    if entry is None:
        return {}
    if not isinstance(entry, Entry):
        raise EntryError(f"add takes an Entry or keyword arguments, got {shown(entry)}: use add(**fields) for a dict")
    return present(fields_of(entry))


def _items_and_count(items: Any, vectors: Any, model: object) -> tuple[Iterable[dict[str, Any]], int | None]:
    """Return the fields of each item, and the number of items, None if unknown."""
    rows: Any = items if type(items) in (list, tuple) else None
    if rows is None:
        from septet.exchange.tables import frame_rows

        rows = frame_rows(items)
    if model is not None and vectors is None:
        raise EntryError(f"model={shown(model)} requires vectors=: it names the model that produced them")
    if rows is None:
        if vectors is not None:
            raise EntryError("vectors= requires a list or a frame of items: make a list first")
        return map(_item, items_of(items)), None
    if vectors is None:
        return map(_item, rows), len(rows)
    from septet.vault.blocks import checked_matrix

    matrix = checked_matrix(vectors, len(rows))
    return _with_vectors(rows, matrix, present({"model": model})), len(rows)


def _item(item: Any) -> dict[str, Any]:
    return present(item_fields(item))


def _with_vectors(rows: Iterable[Any], matrix: Any, more: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for item, vector in zip(rows, matrix):
        yield {**_item(item), "vector": vector, **more}


def _stored(answers: Sequence[shapes.StoredAnswer], before: int, sent: int, settings: ConnectionSettings) -> list[str]:
    """Return the ids of the entries stored by a call.

    Raises:
        BatchError: an item could not be stored.
    """
    stored = [answer["id"] for answer in answers if "id" in answer]
    wrong = next((answer for answer in answers if "error" in answer), None)
    fault: SeptetError | None = None
    if wrong is not None:
        fault = error_of(422, wrong, settings.url, reads=False, masked=settings.masked)
        at = wrong.get("line", 1) - 1
    elif len(stored) != sent:
        fault, at = EntryError(f"{settings.url} answered for {len(answers)} of {sent} entries"), len(stored)
    if fault is not None:
        written, index = before + len(stored), before + at
        message = f"item {index} could not be stored: {fault}; {written} entries are stored"
        raise BatchError(message, written=written, index=index) from fault
    return stored
