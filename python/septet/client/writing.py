"""Writing methods of a client: the arguments and results of those of `Vault`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet.client import shapes
from septet.client.faults import error_of
from septet.client.steps import Steps, with_tier
from septet.client.transport import ConnectionSettings, ServerCall
from septet.client.wire import encoded, present
from septet.errors import BatchError, EntryError, SeptetError
from septet.inputs.arguments import listed, shown
from septet.model.entry import Entry
from septet.model.links import checked
from septet.vault.alike import KEEP, SIMILARITY
from septet.vault.batch import MOST_IDS, ids_to_delete, item_fields, items_of, stopped
from septet.watch.progress import Progress, shown_progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.model.fields import (
        EntryItem,
        FrameLike,
        OnSimilar,
        Split,
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
            near = {"on_similar": (on_similar, KEEP), "similarity": (similarity, SIMILARITY)}
            changed = {name: value for name, (value, default) in near.items() if value is not default}
            more = with_tier(self._settings, "bulk", {**present({"split": split}), **changed})
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
            yield ServerCall(
                "link_many", with_tier(self._settings, "link_many", {"links": links[start : start + MOST_AT_ONCE]})
            )
        return len(links)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _delete(
        self, method: str, ids: tuple[str | Iterable[str], ...], where: Mapping[str, object] | None, dry_run: bool
    ) -> Steps[int]:
        if where is not None:
            if ids:
                raise EntryError(f"{method}() takes ids or where=, not both")
            named = with_tier(self._settings, method, {"where": where, "dry_run": dry_run})
            return int((yield ServerCall(method, named))["count"])
        entry_ids, count = ids_to_delete(ids), 0
        for start in range(0, len(entry_ids), MOST_AT_ONCE):
            named = with_tier(
                self._settings, method, {"ids": entry_ids[start : start + MOST_AT_ONCE], "dry_run": dry_run}
            )
            count += (yield ServerCall(method, named))["count"]
        return count


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
