"""Export of a vault as JSON lines."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any

from septet.errors import StoreError
from septet.sqlite.store.mending import set_aside
from septet.sqlite.store.store import SqliteStore as LocalStore
from septet.store.protocol import Reading, Store
from septet.system.target import complete_file
from septet.watch import log


def export(store: Store, target: str | os.PathLike[str] | IO[str]) -> int:
    """Write one JSON object per line: entries (with their vectors), links, feedback; return the number of lines.

    Rows damaged by another program are skipped.
    """
    lines = 0
    try:
        with _open_target(target, store) as out, _reading(store) as read:
            for record in _records(read):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
                lines += 1
    except OSError as fault:
        raise StoreError(f"the export stopped after {lines} lines: {fault.strerror or fault}") from fault
    return lines


def _reading(store: Store) -> AbstractContextManager[Reading]:
    """Begin to read, setting damaged rows aside and logging them."""
    if not isinstance(store, LocalStore):
        return store.reading()
    # A stream cannot be rewound, so all rows are checked before the first is written.
    set_aside(store, store.left_out)
    for row in store.left_out:
        log.say("export", log.WARNING, "%s: skipped in the export: %s", store.path, row)
    return store.begin_reading()


def _records(read: Reading) -> Iterator[dict[str, Any]]:
    vectors = _vectors(read)
    for candidate in read.tables.entries.live(read):
        entry = candidate.to_entry()
        record = {"record": "entry", **entry.to_dict()}
        if entry.id in vectors:
            record["vector"] = vectors[entry.id]
        yield record
    for link in read.tables.links.all_links(read):
        yield {"record": "link", **link._asdict()}
    for row in read.tables.feedback.all_rows(read):
        yield {"record": "feedback", **row._asdict()}


def _vectors(read: Reading) -> dict[str, dict[str, str]]:
    """Return each entry's vectors given by the caller, by model, as base64 of little-endian float32."""
    vectors: dict[str, dict[str, str]] = {}
    for entry_id, model, blob in read.tables.vectors.given(read):
        vectors.setdefault(entry_id, {})[model] = base64.b64encode(blob).decode("ascii")
    # Sorted, so that equal vaults have equal exports.
    return {entry_id: dict(sorted(by_model.items())) for entry_id, by_model in vectors.items()}


@contextmanager
def _open_target(target: str | os.PathLike[str] | IO[str], store: Store) -> Iterator[IO[str]]:
    """Open a target for writing; a file gets its name only when it is complete."""
    if not isinstance(target, (str, os.PathLike)):
        yield target
        return
    cure = "name a file, or give an open stream such as sys.stdout"
    with (
        complete_file(target, of="" if store.in_memory else store.file, cure=cure) as part,
        open(part.descriptor, "w", encoding="utf-8", closefd=False) as out,
    ):
        yield out
