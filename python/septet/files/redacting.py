"""Redact a vault that already holds secrets: all of its files, in small transactions.

Each transaction leaves a consistent vault: a file with masked chunks is masked whenever it is read again. Every run
ends by scrubbing SQLite's free pages, so running again completes an interrupted run.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, NamedTuple

from septet.errors import StoreBusy
from septet.files.masking import Masker, checked_texts, cut_texts, refreshed
from septet.files.redaction import Redactor
from septet.files.report import RedactReport, SecretLeft
from septet.files.tracking import redact_from_now
from septet.files.turns import Lease, alone
from septet.model.entry import json_of
from septet.sqlite.store.store import SqliteStore, SqliteWriting
from septet.sqlite.tables import entries, files, history, masking
from septet.sqlite.tables.files import CHUNK, FileRow
from septet.sqlite.tables.masking import LiveEntry, Text
from septet.store.rows import EntryRow
from septet.store.rules import joined

#: Maximum parents per page, each with its chunks or parts.
PARENTS = 50
ROWS = 1_000
#: Maximum attempts for a page that other processes change.
TRIES = 1_000
#: Columns of a chunk that come from its file, and so return when it is read again.
_OF_FILE = frozenset({"path", "source", "kind"})
#: Runs of letters and digits of a secret that are searched in ids made from titles.
_RUN = re.compile(r"[^\W_]{8,}")
_CURES = {
    "id": "add the entry under another id, and delete this one",
    "parent": "give the entry another parent",
    "path": "rename the file, and sync",
    "root": "forget_root, and follow the folder under another name or path",
}


class Wanted(NamedTuple):
    """The arguments of a redaction.

    Attributes:
        rows: rows of the entries; None for everything in the vault.
        forget: removes the vectors of texts from caches outside the vault; returns their number.
        progress: called with the number of entries done and the total.
    """

    redactor: Redactor
    rows: frozenset[int] | None
    dry_run: bool
    clock: Callable[[], float]
    forget: Callable[[Sequence[str]], int]
    progress: Callable[[int, int | None], object] | None


class _Unit(NamedTuple):
    """Entries masked together, and the new rows of those with secrets."""

    entries: Sequence[LiveEntry]
    masked: list[tuple[LiveEntry, EntryRow]]
    counts: Counter[str]


def redact_store(store: SqliteStore, request: Wanted, erase_arrays: Callable[[], None]) -> RedactReport:
    """Mask all secrets in a store, and leave no byte of them in its files.

    Args:
        erase_arrays: removes the files of arrays.

    Raises:
        StoreBusy: other processes keep writing the same entries.
        StoreError: the vault cannot be read or written.
    """
    started = time.perf_counter()
    if request.dry_run:
        run = _Redaction(store, request, None)
        run.mask()
    else:
        with ExitStack() as stack:
            lease = Lease(store)
            stack.enter_context(alone(store))
            # A running sync would store texts that it read before the redaction.
            stack.callback(lease.release)
            lease.take(lambda: False)
            # Read the roots and files only under the lease.
            run = _Redaction(store, request, lease)
            run.mask()
        run.finish(erase_arrays)
    return run.report(time.perf_counter() - started)


class _Redaction:
    def __init__(self, store: SqliteStore, request: Wanted, lease: Lease | None) -> None:
        self._store, self._request, self._lease = store, request, lease
        self._masker = Masker(request.redactor)
        self._counts = Counter[str]()
        self._numbers = dict.fromkeys(("entries", "versions", "links", "feedback", "vectors"), 0)
        self._left: dict[tuple[str, str], SecretLeft] = {}
        self._problems: list[str] = []
        self._files: set[int] = set()
        self._roots: dict[str, None] = {}
        self._cached = 0
        self._done = self._total = 0
        with store.reading() as read:
            has_files = masking.has_files(read)
            self._of_root = {row.root: row for row in files.roots(read)} if has_files else {}
            known = chain.from_iterable(files.of_root(read, number) for number in self._of_root)
            self._of_file: dict[str, FileRow] = {row.id: row for row in known}
            self._total = entries.count(read) if request.rows is None else len(request.rows)

    def report(self, took_s: float) -> RedactReport:
        # A parent that is the id of a reported entry is not reported again.
        ids = {name for place, name in self._left if place == "id"}
        left = [secret for secret in self._left.values() if secret.place != "parent" or secret.name not in ids]
        return RedactReport(
            **self._numbers, cached=self._cached, files=len(self._files), roots=tuple(self._roots),
            redacted=dict(self._counts), left=tuple(left), problems=tuple(self._problems),
            took_s=took_s, dry_run=self._request.dry_run,
        )  # fmt: skip

    def mask(self) -> None:
        """Mask every text."""
        if self._request.rows is None:
            names = [("path", row.path) for row in self._of_file.values()]
            names += [("root", text) for row in self._of_root.values() for text in (row.name, row.path, row.options)]
            self._masker.learn(name for _, name in names)
            for place, name in names:
                self._check_name(place, name)
        self._texts("history", "versions", self._masker.columns)
        if self._request.rows is None:
            self._all_entries()
        else:
            self._these_entries(sorted(self._request.rows))
        self._texts("link_notes", "links", self._masker.text)
        self._texts("link_types", "", self._masker.text)
        self._texts("feedback", "feedback", self._masker.text)
        if self._request.rows is None:
            self._texts("lost_feedback", "", self._masker.text)
            for place in ("file_problems", "root_problems"):
                self._texts(place, "", self._masker.text)
            self._states()
            self._staged()

    def finish(self, erase_arrays: Callable[[], None]) -> None:
        """Scrub all bytes of masked secrets, of this and earlier runs, from the files of the vault."""
        with self._store.writing() as write:
            self._numbers["vectors"] += masking.erase_traces(write)
        self._request.forget(())
        if self._store.in_memory:
            return
        from septet.sqlite.store.mending import scrub

        try:
            erase_arrays()
        except OSError as fault:
            self._problems.append(f"the folder of arrays could not be emptied ({fault}): delete it")
        self._problems += scrub(self._store)

    # -- entries -------------------------------------------------------------------------------------------------------

    def _all_entries(self) -> None:
        parent: str | None = ""
        while parent is not None:
            with self._store.reading() as read:
                page_parents = masking.parents(read, parent)
            self._families(page_parents)
            parent = page_parents[-1] if page_parents else None
        row: int | None = 0
        while row is not None:
            units = self._mask_page(lambda read, after: [[entry] for entry in masking.singles(read, after)], row)
            row = units[-1][0].at if units else None

    def _these_entries(self, rows: Sequence[int]) -> None:
        parents: set[str] = set()
        for start in range(0, len(rows), ROWS):
            page_rows = rows[start : start + ROWS]
            with self._store.reading() as read:
                rows_of_page = [entry.row for entry in masking.held_at(read, page_rows)]
            parents.update(row.parent for row in rows_of_page if row.parent is not None)
            self._mask_page(
                lambda read, rows: [[e] for e in masking.held_at(read, rows) if e.row.parent is None], page_rows
            )
        self._families(sorted(parents))

    def _families(self, parents: Sequence[str]) -> None:
        for start in range(0, len(parents), PARENTS):
            page = parents[start : start + PARENTS]
            self._mask_page(lambda read, page: [masking.family(read, parent) for parent in page], page)

    def _mask_page(self, page: Callable[[Any, Any], list[list[LiveEntry]]], at: Any) -> list[list[LiveEntry]]:
        """Mask the entries of the page at a place; retry while other processes change them."""
        for _ in range(TRIES):
            with self._store.reading() as read:
                units = page(read, at)
            self._masker.learn(chain.from_iterable(checked_texts(entry.row) for unit in units for entry in unit))
            masked = [self._unit(unit) for unit in units]
            changed = [unit for unit in masked if unit.masked]
            written = changed if self._request.dry_run else self._store_units(changed) if changed else []
            for unit in written:
                self._numbers["entries"] += len(unit.masked)
                self._counts.update(unit.counts)
            if len(written) == len(changed):
                self._done += sum(map(len, units))
                if self._lease is not None:
                    self._lease.keep()
                if self._request.progress is not None:
                    self._request.progress(min(self._done, self._total), self._total)
                return units
        raise StoreBusy(
            f"{self._store.path} kept changing during the redaction: try again when fewer processes write to it"
        )

    def _unit(self, family: Sequence[LiveEntry]) -> _Unit:
        counts, masked_rows = Counter[str](), []
        # The masked descriptions of the entries split from one text, by number.
        wholes: dict[int, str] = {}
        if (split := cut_texts([entry.row for entry in family])) is not None:
            laid, numbers = split
            wholes = {numbers[piece]: text for piece, text in self._masker.document(laid, counts).items()}
        for number, entry in enumerate(family):
            if self._request.rows is not None and entry.at not in self._request.rows:
                continue
            keep = _OF_FILE if entry.row.parent in self._of_file else frozenset()
            row = entry.row if number not in wholes else entry.row._replace(description=wholes[number])
            masked = self._masker.row(row, counts, keep=keep)
            if masked is row and row is not entry.row:
                masked = refreshed(row)
            if masked != entry.row:
                masked_rows.append((entry, masked))
            self._check_ids(entry.row, masked)
        return _Unit(family, masked_rows, counts)

    def _store_units(self, units: Sequence[_Unit]) -> list[_Unit]:
        """Store masked entries, and return the units that are unchanged since they were read."""
        olds = [entry.row for unit in units for entry, _ in unit.masked]
        self._forget(joined((row.title, row.description, row.context)) for row in olds)
        with self._store.writing() as write:
            same = [unit for unit in units if masking.unchanged(write, unit.entries)]
            masked = [pair for unit in same for pair in unit.masked]
            if masked:
                before = [entry.row for entry, _ in masked]
                masking.put(write, [row for _, row in masked], self._request.clock())
                self._numbers["vectors"] += masking.drop_vectors(write, before)
                self._drop_mentions(write, masked)
                self._read_again(write, [file for row in before if (file := self._of_file.get(row.parent or ""))])
            if self._lease is not None:
                self._lease.renew(write)
        return same

    def _read_again(self, write: SqliteWriting, rows: Iterable[FileRow]) -> None:
        kinds: dict[int, set[str]] = {}
        numbers = set()
        for row in rows:
            kinds.setdefault(row.root, set()).add(row.kind)
            numbers.add(row.file)
        if numbers:
            masking.read_again(write, numbers)
            self._files |= numbers
            self._roots.update(dict.fromkeys(redact_from_now(write, kinds, self._request.redactor)))

    def _drop_mentions(self, write: SqliteWriting, masked: Sequence[tuple[LiveEntry, EntryRow]]) -> None:
        """Remove masked mentions of masked chunks; the next sync restores the others."""
        texts = {row.id: f"{row.description}\n{row.attrs}".casefold() for _, row in masked if row.kind == CHUNK}
        if not texts or not self._of_file:
            return
        rows = masking.mentions(write, list(texts))
        holds = [target.rpartition("/")[2] in texts[chunk] and anchor in texts[chunk] for chunk, target, anchor in rows]
        masking.drop_mentions(write, [row for row, unchanged in zip(rows, holds) if not unchanged])

    # -- names ---------------------------------------------------------------------------------------------------------

    def _check_ids(self, row: EntryRow, masked: EntryRow) -> None:
        """Report ids with secrets, or made from a title with one."""
        self._check_name("id", row.id)
        self._check_name("parent", row.parent or "")
        if row.title != masked.title:
            spans, _ = self._request.redactor.spans(row.title)
            runs = chain.from_iterable(_RUN.findall(row.title[start:end]) for start, end in spans)
            if any(run.casefold() in row.id.casefold() for run in runs):
                self._report_left("id", row.id)

    def _check_name(self, place: str, name: str) -> None:
        """Report a name with a secret."""
        if name and self._masker.text(name, Counter[str]()) != name:
            self._report_left(place, name)

    def _holds_within(self, text: str) -> bool:
        """Return True if a JSON text contains a secret, checking decoded values (``\\n`` as a line break)."""
        value = json_of(text, dict)
        return bool(self._masker.value(value, Counter[str]()) != value)

    def _report_left(self, place: str, name: str) -> None:
        self._left.setdefault((place, name), SecretLeft(place, name, _CURES[place]))

    # -- other texts ---------------------------------------------------------------------------------------------------

    def _texts(self, place: str, number: str, mask: Callable[[str, Counter[str]], str]) -> None:
        for page in self._pages(place):
            changed: list[tuple[Text, str]] = []
            more = Counter[str]()
            for row in page:
                masked = mask(row.text, more)
                if masked != row.text:
                    changed.append((row, masked))
            if not changed:
                continue
            self._counts.update(more)
            if not self._request.dry_run:
                if place == "history":
                    with self._store.reading() as read:
                        numbers = sorted({row.key[0] for row, _ in changed})
                        ids = [id for (id,) in entries.facts_at(read, ("e.id",), numbers)]
                        versions = [version.entry for id in ids for version in history.of_entry(read, id)]
                    self._forget(joined((entry.title, entry.description, entry.context)) for entry in versions)
                with self._store.bookkeeping() as write:
                    masking.set_texts(write, place, changed)
            if number:
                self._numbers[number] += len(changed)

    def _pages(self, place: str) -> Iterator[list[Text]]:
        after: tuple[Any, ...] = ()
        while True:
            with self._store.reading() as read:
                page = masking.texts_of(read, place, after)
                selected = masking.among_rows(read, place, page, self._request.rows)
            if not page:
                return
            self._masker.learn(row.text for row in selected)
            yield selected
            after = page[-1].key

    def _states(self) -> None:
        """Mark files for reading again if their state contains a message with a secret."""
        by_number = {row.file: row for row in self._of_file.values()}
        for page in self._pages("states"):
            rows = [by_number[row.key[0]] for row in page if row.key[0] in by_number and self._holds_within(row.text)]
            rows = [row for row in rows if row.file not in self._files]
            if rows and self._request.dry_run:
                self._files |= {row.file for row in rows}
            elif rows:
                with self._store.bookkeeping() as write:
                    self._read_again(write, rows)

    def _staged(self) -> None:
        """Remove staged chunks of files with secrets in one of them."""
        after: int | None = 0
        while after is not None:
            with self._store.reading() as read:
                page = masking.staged(read, after)
            numbers = {row.key[1] for row in page if self._holds_within(row.text)}
            rows = [row for row in self._of_file.values() if row.file in numbers]
            if numbers and not self._request.dry_run:
                with self._store.bookkeeping() as write:
                    masking.drop_staged(write, numbers)
                    # Otherwise the file would be staged unmasked again.
                    self._read_again(write, rows)
            after = page[-1].key[0] if page else None

    # -- vectors elsewhere ---------------------------------------------------------------------------------------------

    def _forget(self, texts: Iterable[str]) -> None:
        if not self._request.dry_run:
            self._cached += self._request.forget(list(dict.fromkeys(texts)))
