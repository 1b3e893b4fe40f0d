"""Redaction of a vault that holds secrets already: everything that its files hold, in small transactions.

Each transaction leaves a whole vault, in which a file whose chunks were masked is one that is masked when it is read
again. Nothing is kept of how far it came: what is masked is not found again, and what SQLite may have left in its pages
is cleaned at the end of every run. So running again finishes what was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, NamedTuple

from septet.errors import StoreBusy
from septet.files.lease import Lease
from septet.files.masking import Counts, Masker, asked_of, cut_texts, refreshed, runs_of
from septet.files.redact_report import RedactReport, SecretLeft
from septet.files.redaction import Redactor
from septet.files.tracking import redact_from_now
from septet.files.turns import alone
from septet.model.entry import json_of
from septet.sqlite.store.store import Store, Writing
from septet.sqlite.tables import entries, files, history, masking
from septet.sqlite.tables.entries import EntryRow
from septet.sqlite.tables.files import CHUNK, FileRow
from septet.sqlite.tables.masking import Held, Text
from septet.sqlite.tables.texts import joined

__all__ = ["Wanted", "redact_store"]

#: So many parents are read at once, each with its chunks or parts.
PARENTS = 50
ROWS = 1_000
#: So often a page is read again because others wrote in it.
TRIES = 1_000
#: What a chunk has of its file, which comes back when that is read again.
_OF_FILE = frozenset({"path", "source", "kind"})
_CURES = {
    "id": "add the entry under another id, and delete this one",
    "parent": "give the entry another parent",
    "path": "rename the file, and sync",
    "root": "forget_root, and follow the folder under another name or path",
}


class Wanted(NamedTuple):
    """What is to be redacted, and how.

    Attributes:
        rows: of the entries; None for everything that the vault holds.
        forget: removes the vectors of texts from where the vault does not keep them; returns how many.
        progress: called with the entries done so far, and their number.
    """

    redactor: Redactor
    rows: frozenset[int] | None
    dry_run: bool
    clock: Callable[[], float]
    forget: Callable[[Sequence[str]], int]
    progress: Callable[[int, int | None], object] | None


class _Unit(NamedTuple):
    """Entries that are masked together, and what becomes of those that hold secrets."""

    held: Sequence[Held]
    made: list[tuple[Held, EntryRow]]
    counts: Counts


def redact_store(store: Store, wanted: Wanted, erase_arrays: Callable[[], None]) -> RedactReport:
    """Mask the secrets in everything that a store keeps, and leave no byte of them in its files.

    Args:
        erase_arrays: removes the files that arrays are kept in.

    Raises:
        StoreBusy: others write the same entries again and again.
        StoreError: the vault cannot be read or written.
    """
    started = time.perf_counter()
    if wanted.dry_run:
        run = _Run(store, wanted, None)
        run.mask()
    else:
        with ExitStack() as held:
            lease = Lease(store)
            held.enter_context(alone(store))
            # A sync would bring texts in as it read them before.
            held.callback(lease.release)
            lease.take(lambda: False)
            # What is followed is known when nobody brings in more.
            run = _Run(store, wanted, lease)
            run.mask()
        run.finish(erase_arrays)
    return run.report(time.perf_counter() - started)


class _Run:
    """One redaction."""

    def __init__(self, store: Store, wanted: Wanted, lease: Lease | None) -> None:
        self._store, self._wanted, self._lease = store, wanted, lease
        self._masker = Masker(wanted.redactor)
        self._counts = Counts()
        self._numbers = dict.fromkeys(("entries", "versions", "links", "feedback", "vectors"), 0)
        self._left: dict[tuple[str, str], SecretLeft] = {}
        self._problems: list[str] = []
        self._files: set[int] = set()
        self._roots: dict[str, None] = {}
        self._cached = 0
        self._done = self._total = 0
        with store.reading() as read:
            there = masking.has_files(read)
            self._of_root = {row.root: row for row in files.roots(read)} if there else {}
            known = chain.from_iterable(files.of_root(read, number) for number in self._of_root)
            self._of_file: dict[str, FileRow] = {row.id: row for row in known}
            self._total = entries.count(read) if wanted.rows is None else len(wanted.rows)

    def report(self, took_s: float) -> RedactReport:
        """Return what was done."""
        # An entry's own id says it all.
        left = [one for (place, name), one in self._left.items() if place != "parent" or ("id", name) not in self._left]
        return RedactReport(
            **self._numbers, cached=self._cached, files=len(self._files), roots=tuple(self._roots),
            redacted=dict(self._counts), left=tuple(left), problems=tuple(self._problems),
            took_s=took_s, dry_run=self._wanted.dry_run,
        )  # fmt: skip

    def mask(self) -> None:
        """Mask every text."""
        self._look_at_names()
        self._texts("history", "versions", self._masker.columns)
        if self._wanted.rows is None:
            self._all_entries()
        else:
            self._these_entries(sorted(self._wanted.rows))
        self._texts("link_notes", "links", self._masker.text)
        self._texts("link_types", "", self._masker.text)
        self._texts("feedback", "feedback", self._masker.text)
        if self._wanted.rows is None:
            self._texts("lost_feedback", "", self._masker.text)
            for place in ("file_problems", "root_problems"):
                self._texts(place, "", self._masker.text)
            self._states()
            self._staged()

    def finish(self, erase_arrays: Callable[[], None]) -> None:
        """Leave no byte of what was masked, now or before, in the files of the vault."""
        with self._store.writing() as write:
            self._numbers["vectors"] += masking.erase_traces(write)
        self._wanted.forget(())
        if self._store.in_memory:
            return
        from septet.sqlite.store.scrubbing import scrub

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
                found = masking.parents(read, parent)
            self._families(found)
            parent = found[-1] if found else None
        row: int | None = 0
        while row is not None:
            after = row

            def page(read: Any, after: int = after) -> list[list[Held]]:
                return [[one] for one in masking.singles(read, after)]

            units = self._masked(page)
            row = units[-1][0].at if units else None

    def _these_entries(self, rows: Sequence[int]) -> None:
        parents: set[str] = set()
        for start in range(0, len(rows), ROWS):
            these = rows[start : start + ROWS]

            def page(read: Any, these: Sequence[int] = these) -> list[list[Held]]:
                return [[one] for one in masking.held_at(read, these) if one.row.parent is None]

            with self._store.reading() as read:
                parents.update(one.row.parent for one in masking.held_at(read, these) if one.row.parent is not None)
            self._masked(page)
        self._families(sorted(parents))

    def _families(self, parents: Sequence[str]) -> None:
        for start in range(0, len(parents), PARENTS):
            these = parents[start : start + PARENTS]

            def page(read: Any, these: Sequence[str] = these) -> list[list[Held]]:
                return [masking.family(read, parent) for parent in these]

            self._masked(page)

    def _masked(self, page: Callable[[Any], list[list[Held]]]) -> list[list[Held]]:
        """Mask the entries of a page; read it again as long as others change what was read."""
        for _ in range(TRIES):
            with self._store.reading() as read:
                units = page(read)
            self._masker.learn(chain.from_iterable(asked_of(one.row) for unit in units for one in unit))
            made = [self._unit(unit) for unit in units]
            changed = [unit for unit in made if unit.made]
            stored = changed if self._wanted.dry_run else self._store_units(changed) if changed else []
            for unit in stored:
                self._numbers["entries"] += len(unit.made)
                self._counts.count(unit.counts)
            if len(stored) == len(changed):
                self._step(sum(map(len, units)))
                return units
        raise StoreBusy(f"{self._store.path} is being changed without a pause: redact it when fewer write")

    def _unit(self, held: Sequence[Held]) -> _Unit:
        counts = Counts()
        wholes = self._documents(held, counts)
        made = []
        for number, one in enumerate(held):
            if self._wanted.rows is not None and one.at not in self._wanted.rows:
                continue
            keep = _OF_FILE if one.row.parent in self._of_file else frozenset()
            row = one.row if number not in wholes else one.row._replace(description=wholes[number])
            masked = self._masker.row(row, counts, keep=keep)
            if masked is row and row is not one.row:
                masked = refreshed(row)
            if masked != one.row:
                made.append((one, masked))
            self._look_at_ids(one.row, masked)
        return _Unit(held, made, counts)

    def _documents(self, held: Sequence[Held], counts: Counts) -> dict[int, str]:
        """Return the descriptions of those entries that were cut from one text, masked as that, by their numbers."""
        cut = cut_texts([one.row for one in held])
        if cut is None:
            return {}
        laid, numbers = cut
        return {numbers[at]: text for at, text in self._masker.document(laid, counts).items()}

    def _store_units(self, units: Sequence[_Unit]) -> list[_Unit]:
        """Store what became of entries, and return those units that are still as they were read."""
        olds = [one.row for unit in units for one, _ in unit.made]
        self._forget(joined((row.title, row.description, row.context)) for row in olds)
        with self._store.writing() as write:
            same = [unit for unit in units if masking.unchanged(write, unit.held)]
            made = [both for unit in same for both in unit.made]
            if made:
                before = [one.row for one, _ in made]
                masking.put(write, [row for _, row in made], self._wanted.clock())
                self._numbers["vectors"] += masking.drop_vectors(write, before)
                self._drop_mentions(write, made)
                self._read_again(write, [found for row in before if (found := self._of_file.get(row.parent or ""))])
            if self._lease is not None:
                self._lease.renew(write)
        return same

    def _read_again(self, write: Writing, found: Iterable[FileRow]) -> None:
        kinds: dict[int, set[str]] = {}
        numbers = set()
        for row in found:
            kinds.setdefault(row.root, set()).add(row.kind)
            numbers.add(row.file)
        if numbers:
            masking.read_again(write, numbers)
            self._files |= numbers
            self._roots.update(dict.fromkeys(redact_from_now(write, kinds, self._wanted.redactor)))

    def _drop_mentions(self, write: Writing, made: Sequence[tuple[Held, EntryRow]]) -> None:
        """Remove what masked chunks mentioned where they hold a secret now; the next sync finds the others again."""
        texts = {row.id: f"{row.description}\n{row.attrs}".casefold() for _, row in made if row.kind == CHUNK}
        if not texts or not self._of_file:
            return
        found = masking.mentions(write, list(texts))
        gone = [one for one in found if one[1].rpartition("/")[2] not in texts[one[0]] or one[2] not in texts[one[0]]]
        masking.drop_mentions(write, gone)

    # -- names ---------------------------------------------------------------------------------------------------------

    def _look_at_ids(self, row: EntryRow, masked: EntryRow) -> None:
        """Note ids that hold secrets, or that were made of a title that does."""
        for place, name in (("id", row.id), ("parent", row.parent or "")):
            if self._holds(name):
                self._leave(place, name)
        if row.title != masked.title:
            spans, _ = self._wanted.redactor.spans(row.title)
            runs = chain.from_iterable(runs_of(row.title[start:end]) for start, end in spans)
            if any(run in row.id.casefold() for run in runs):
                self._leave("id", row.id)

    def _look_at_names(self) -> None:
        if self._wanted.rows is not None:
            return
        names = [("path", row.path) for row in self._of_file.values()]
        names += [("root", text) for row in self._of_root.values() for text in (row.name, row.path, row.options)]
        self._masker.learn(name for _, name in names)
        for place, name in names:
            if self._holds(name):
                self._leave(place, name)

    def _holds(self, name: str) -> bool:
        return bool(name) and self._masker.text(name, Counts()) != name

    def _holds_within(self, text: str) -> bool:
        """Say whether a text in JSON holds a secret, also where JSON writes a line break as two letters."""
        value = json_of(text, dict)
        return bool(self._masker.value(value, Counts()) != value)

    def _leave(self, place: str, name: str) -> None:
        self._left.setdefault((place, name), SecretLeft(place, name, _CURES[place]))

    # -- other texts ---------------------------------------------------------------------------------------------------

    def _texts(self, place: str, number: str, mask: Callable[[str, Counts], str]) -> None:
        """Mask the texts of a place."""
        for page in self._pages(place):
            changed: list[tuple[Text, str]] = []
            found = Counts()
            for one in page:
                made = mask(one.text, found)
                if made != one.text:
                    changed.append((one, made))
            if not changed:
                continue
            self._counts.count(found)
            if place == "history":
                self._forget_versions([one.key[0] for one, _ in changed])
            if not self._wanted.dry_run:
                with self._store.bookkeeping() as write:
                    masking.set_texts(write, place, changed)
            if number:
                self._numbers[number] += len(changed)

    def _pages(self, place: str) -> Iterator[list[Text]]:
        after: tuple[Any, ...] = ()
        while True:
            with self._store.reading() as read:
                page = masking.texts_of(read, place, after)
                own = masking.among_rows(read, place, page, self._wanted.rows)
            if not page:
                return
            self._masker.learn(one.text for one in own)
            yield own
            after = page[-1].key

    def _states(self) -> None:
        """Have files be read again whose state holds the text of a message with a secret."""
        by_number = {row.file: row for row in self._of_file.values()}
        for page in self._pages("states"):
            found = [by_number[one.key[0]] for one in page if one.key[0] in by_number and self._holds_within(one.text)]
            found = [row for row in found if row.file not in self._files]
            if found and self._wanted.dry_run:
                self._files |= {row.file for row in found}
            elif found:
                with self._store.bookkeeping() as write:
                    self._read_again(write, found)

    def _staged(self) -> None:
        """Remove chunks that are staged and hold secrets, with all others of their file."""
        after: int | None = 0
        while after is not None:
            with self._store.reading() as read:
                page = masking.staged(read, after)
            gone = {one.key[1] for one in page if self._holds_within(one.text)}
            found = [row for row in self._of_file.values() if row.file in gone]
            if gone and not self._wanted.dry_run:
                with self._store.bookkeeping() as write:
                    masking.drop_staged(write, gone)
                    # Or it would be staged as it was.
                    self._read_again(write, found)
            after = page[-1].key[0] if page else None

    # -- vectors elsewhere ---------------------------------------------------------------------------------------------

    def _forget(self, texts: Iterable[str]) -> None:
        if not self._wanted.dry_run:
            self._cached += self._wanted.forget(list(dict.fromkeys(texts)))

    def _forget_versions(self, rows: Sequence[int]) -> None:
        if self._wanted.dry_run:
            return
        with self._store.reading() as read:
            ids = [own for (own,) in entries.facts_at(read, ("e.id",), sorted(set(rows)))]
            was = [one.entry for own in ids for one in history.of_entry(read, own)]
        self._forget(joined((entry.title, entry.description, entry.context)) for entry in was)

    def _step(self, number: int) -> None:
        self._done += number
        if self._lease is not None:
            self._lease.keep()
        if self._wanted.progress is not None:
            self._wanted.progress(min(self._done, self._total), self._total)
