"""Everything a vault holds as JSON lines, and back."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from septet.arguments import shown
from septet.documents import Unreadable, open_regular
from septet.errors import BatchError, EntryError, SeptetError, StoreError
from septet.storage.identity import is_open_here
from septet.storage.store import Reading, Store
from septet.storage.tables import entries, feedback, links
from septet.storage.tables import vectors as stored_vectors
from septet.storage.tables.links import Link
from septet.target import complete_file
from septet.vault.writing import Progress, Writable

__all__ = ["Imported", "export", "import_lines"]


#: The text, the attrs and the vectors of an entry take less in any vault of sense.
MAX_LINE_CHARS = 64 * 2**20

MAX_COMPONENTS = 65_536


@dataclass(frozen=True, slots=True)
class Imported:
    """How many records an import stored."""

    entries: int
    links: int
    feedback: int


def export(store: Store, target: str | os.PathLike[str] | IO[str]) -> int:
    """Write one JSON object a line: entries (with their vectors), then links, then feedback; return the lines."""
    lines = 0
    try:
        with _made(target, store) as out, store.reading() as read:
            for record in _records(read):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
                lines += 1
    except OSError as fault:
        raise StoreError(f"the export stopped after {lines} lines: {fault.strerror or fault}") from fault
    return lines


def import_lines(
    vault: Writable, source: str | os.PathLike[str] | Iterable[str], progress: Progress | None
) -> Imported:
    """Store the lines of `export`, or plain entries (objects with a title); see `Vault.import_`."""
    rest: list[tuple[str, Mapping[str, Any]]] = []
    with _opened(source) as opened:
        lines = _Lines(opened)
        try:
            # What was split comes with its parts.
            ids = vault._add_many(_entries(lines, rest, _origin(source)), None, progress, again=False)
        except BatchError as fault:
            if isinstance(fault.__cause__, (_LineError, StoreError)):
                raise
            said = f"line {lines.number}: {fault}"
            raise BatchError(said, written=fault.written, index=fault.index) from fault.__cause__
    linked = [
        Link(r["source"], r["target"], r.get("type", "related"), r.get("note", "")) for k, r in rest if k == "link"
    ]
    given = [r for k, r in rest if k == "feedback"]
    try:
        if linked:
            vault.link_many(linked)
        if given:
            vault._restore_feedback(given)
    except SeptetError as fault:
        raise BatchError(
            f"the {len(ids)} entries are stored, but not their links and feedback: {fault}",
            written=len(ids),
            index=len(ids),
        ) from fault
    return Imported(len(ids), len(linked), len(given))


def _records(read: Reading) -> Iterator[dict[str, Any]]:
    vectors = _vectors(read)
    for candidate in entries.live(read):
        entry = candidate.to_entry()
        record = {"record": "entry", **entry.to_dict()}
        if entry.id in vectors:
            record["vector"] = vectors[entry.id]
        yield record
    for link in links.all_links(read):
        yield {"record": "link", **link._asdict()}
    for row in feedback.all_rows(read):
        yield {"record": "feedback", **row._asdict()}


def _vectors(read: Reading) -> dict[str, dict[str, str]]:
    """Return the given vectors of each entry as base64 of little-endian float32, by model."""
    found: dict[str, dict[str, str]] = {}
    for entry_id, model, blob in stored_vectors.given(read):
        found.setdefault(entry_id, {})[model] = base64.b64encode(blob).decode("ascii")
    return found


class _LineError(EntryError):
    """A line is no record. The message says which."""


class _Lines:
    """The lines of a source, each of a bounded length. `number` is that of the last one, from 1."""

    def __init__(self, source: Iterable[str]) -> None:
        self.number = 0
        self._lines = source if getattr(source, "readline", None) is None else _bounded(source)

    def __iter__(self) -> Iterator[str]:
        try:
            for line in self._lines:
                self.number += 1
                if not isinstance(line, (str, bytes, bytearray)):
                    raise self.fault(f"is {shown(line)}: wanted a line of JSON, as text; `add_many` stores dicts")
                if len(line) > MAX_LINE_CHARS:
                    raise self.fault(f"has more than {MAX_LINE_CHARS:,} characters: is the source JSON lines?")
                yield line
        except UnicodeDecodeError as fault:
            self.number += 1
            raise self.fault(f"or one of the next is not UTF-8 ({fault.reason}): convert the source first") from None

    def fault(self, said: str) -> _LineError:
        return _LineError(f"line {self.number} {said}")


def _bounded(stream: Any) -> Iterator[str]:
    """Yield the lines of a stream; iterating over it would read a line whole, however long it is."""
    while line := stream.readline(MAX_LINE_CHARS + 1):
        yield line


def _origin(source: object) -> str:
    """Return the `Entry.source` of what an import brings: the name of the file, without its folder."""
    name = os.path.basename(os.fspath(source)) if _is_path(source) else ""  # noqa: PTH119
    return "import:" + "".join(c for c in name if c.isprintable()) if name else "import"


def _entries(lines: _Lines, rest: list[tuple[str, Mapping[str, Any]]], origin: str) -> Iterator[dict[str, Any]]:
    """Yield the entries among the lines, and put every other record aside.

    What an export says of itself stays. Who says nothing of trust is not vouched for by being in a file.
    """
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as fault:
            # The parser counts lines of its own within the line.
            raise lines.fault(f"is not JSON: {fault.msg} at character {fault.pos + 1}") from None
        except ValueError as fault:
            raise lines.fault(f"is not JSON: {fault}") from None
        except RecursionError:
            raise lines.fault("is nested too deeply: write it flatter") from None
        if not isinstance(record, dict):
            raise lines.fault("is not a JSON object")
        exported = "record" in record and "trust" in record
        kind = record.pop("record", "entry")
        if kind == "entry":
            if not exported:
                record.setdefault("source", origin)
                record.setdefault("trust", "unverified")
            if isinstance(record.get("vector"), dict):
                record["vector"] = {m: _vector(v, lines) for m, v in record["vector"].items()}
            yield record
        elif isinstance(kind, str) and kind in _NEEDED and all(isinstance(record.get(f), str) for f in _NEEDED[kind]):
            rest.append((kind, record))
        else:
            raise lines.fault("is not an entry, a link or feedback")


_NEEDED = {"link": ("source", "target"), "feedback": ("query", "entry_id", "action")}


def _vector(value: Any, lines: _Lines) -> NDArray[np.float32] | Any:
    if not isinstance(value, str):
        return value
    try:
        found: NDArray[np.float32] = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    except ValueError:
        raise lines.fault("has a vector that is not base64 of float32") from None
    if len(found) > MAX_COMPONENTS:
        raise lines.fault(f"has a vector of {len(found):,} components: the most is {MAX_COMPONENTS:,}")
    return found


@contextmanager
def _made(target: str | os.PathLike[str] | IO[str], store: Store) -> Iterator[IO[str]]:
    """Open a target for writing; a file appears under its name only when it is complete."""
    if not _is_path(target):
        yield target  # type: ignore[misc]
        return
    cure = "name a file, or give an open stream such as sys.stdout"
    with (
        complete_file(target, of="" if store.in_memory else store.file, cure=cure) as part,
        open(part.descriptor, "w", encoding="utf-8", closefd=False) as out,
    ):
        yield out


def _is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(value, (str, os.PathLike))


def _opened(source: str | os.PathLike[str] | Iterable[str]) -> Any:
    if not _is_path(source):
        return nullcontext(source)
    if is_open_here(os.fspath(source)):
        # Closing a descriptor of the file would give back SQLite's locks on it, for the whole process.
        raise EntryError(f"{source} is a vault that is open, not JSON lines: name a file that export wrote")
    try:
        return io.TextIOWrapper(open_regular(Path(source)), encoding="utf-8")
    except Unreadable as fault:
        raise EntryError(f"{source} {fault}; give an open stream (`-` on the command line) for a pipe") from None
