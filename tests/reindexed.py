"""Folders that are read in another way: what tests of that fill, stop and look at."""

import os
from itertools import count

import pytest

from campaigns.vaults import faults
from septet import Chunking, Vault

STRESS_S = float(os.environ.get("SEPTET_STRESS_S", "0"))
SMALL, LARGE, ENTRIES = Chunking(tokens=60, overlap=10), Chunking(), Chunking(variant="entries")
COUNT = count()


class Stopped(Exception):
    """What a sync is stopped by."""


def write(folder, path, text):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")
    # A file that changed just now is read again by the next sync, which the counts below leave out.
    os.utime(folder / path, (1_000_000_000, 1_000_000_000 + next(COUNT)))


def note(n, words="stands in shallow water"):
    said = "".join(f"The heron of note {n}, sentence {k}, {words}. It waits for fish and frogs.\n" for k in range(12))
    return f"# Note {n}\n\n{said}\n## Links\n\nSee [[note{n + 1}]] and [the next](note{n + 2}.md#links).\n"


def fill(folder, number):
    folder.mkdir(exist_ok=True)
    for n in range(number):
        write(folder, f"note{n}.md", note(n))


def picture(vault):
    """Chunks with their places and headings, and the links between them, by their texts and lines."""
    entries = {e.id: (e.span.path, e.span.first_line, e.span.last_line, e.title, e.description) for e in vault}
    links = {link for own in entries for link in vault.links(own)}
    return sorted(entries.values()), sorted((entries[one.source], entries[one.target], one.type) for one in links)


def fresh(folder, chunking):
    with Vault(":memory:") as made:
        made.sync(folder, chunking=chunking)
        return picture(made)


def leftovers(vault):
    with vault._store.reading() as read:
        rows = read.sql.execute("SELECT count(*) FROM staged").fetchone()[0]
        return rows, read.sql.execute("SELECT count(*) FROM meta WHERE key GLOB 'staged:*'").fetchone()[0]


def sound(vault):
    """Whether a vault's file passes SQLite's and FTS5's own checks, and no row of it is left over."""
    return not faults(vault.path)


def stop_after(files):
    def progress(done, total):
        if done >= files:
            raise Stopped

    return progress


def sync_until(vault, folder, files, **options):
    """Sync, and stop when so many files are staged."""
    with pytest.raises(Stopped):
        vault.sync(folder, progress=stop_after(files), **options)
