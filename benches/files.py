"""Keeping a vault in step with a folder: the first sync, one of nothing new, an edited file, other chunks; text only.

python benches/files.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from unittest import mock

import corpus
from race import Run, timed
from septet import Chunking, Vault
from septet.files.reindexing import Rebuild
from table import Row, at_least, at_most, plain

TITLE = "Folders"
ABOUT = (
    "Markdown files of 4 KB with headings, made of the words of the other sections, in 100 folders; no embedder. An "
    "edited file counts from `sync(paths=[file])` to the results of the search that finds it. Read in another way, the "
    "files are cut anew beside the chunks that answer, which one transaction replaces; other writers wait for that."
)
FILES = 10_000
FILE_BYTES = 4_096
#: Entries of 60 words that a file is made of.
PARTS = 16
ROUNDS = 20
#: Of a chunk, when the files are cut anew: about ten chunks each.
TOKENS = 100


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(FILES)
    folder = run.folder / "notes"
    size = _write(folder, n)
    with Vault(run.folder / "files.db") as vault:
        took, report = timed(lambda: vault.sync(folder))
        assert report.files_added == n
        assert report.complete
        yield at_least(
            f"first sync, {n:,} files of 4 KB, {report.chunks_added:,} chunks", size / took / 1e3, 10, "MB/s"
        )
        unchanged = [timed(vault.sync) for _ in range(5)]
        assert all(again.files_unchanged == n and not again.bytes for _, again in unchanged)
        yield at_most(f"sync of {n:,} unchanged files", median(took for took, _ in unchanged), 300 * n / FILES)
        vault.search("a query that makes the snapshot")
        times = []
        for number in range(ROUNDS):
            path = folder / f"{number % 100:02}" / f"n{number}.md"
            path.write_text(f"{path.read_text(encoding='utf-8')}\nAn edit with edited{number}.\n", encoding="utf-8")

            def found(path: Path = path, word: str = f"edited{number}") -> int:
                vault.sync(paths=[path])
                return len(vault.search(word).hits)

            ms, hits = timed(found)
            assert hits
            times.append(ms)
        yield at_most(f"an edited file found, {n:,} files", median(times), 50)
        yield from _read_otherwise(vault, folder)


def _read_otherwise(vault: Vault, folder: Path) -> Iterator[Row]:
    switch, switches = Rebuild._switch, []

    def timed_switch(rebuild: Rebuild) -> bool:
        ms, done = timed(lambda: switch(rebuild))
        switches.append(ms)
        return done

    with mock.patch.object(Rebuild, "_switch", timed_switch):
        took, report = timed(lambda: vault.sync(folder, chunking=Chunking(tokens=TOKENS, overlap=TOKENS // 5)))
    assert report.reindexed
    chunks = f"{report.chunks_added:,} chunks for {report.chunks_removed:,}"
    yield plain(f"read in another way, {chunks}", took)
    yield plain("… of that, the switch", sum(switches))


def _write(folder: Path, n: int) -> int:
    """Write files and return their bytes."""
    size = 0
    texts: list[str] = []
    number = 0
    for block in corpus.stream(n * PARTS):
        for entry in block.entries:
            texts.append(f"## {entry['title']}\n\n{entry['description']}\n")
            if len(texts) == PARTS:
                text = f"# Note {number}\n\n" + "\n".join(texts)
                data = text.encode()[:FILE_BYTES].decode("utf-8", "ignore")
                path = folder / f"{number % 100:02}" / f"n{number}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(data, encoding="utf-8")
                # As files that were there before: one that has just changed is compared by its bytes.
                os.utime(path, (1.6e9, 1.6e9))
                size, number, texts = size + len(data), number + 1, []
    return size


if __name__ == "__main__":
    from run import main

    main(["--only", "files"])
