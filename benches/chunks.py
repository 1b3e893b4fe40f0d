"""Texts cut into chunks, alone and with headings, links and front matter.

python benches/chunks.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, get_args

import numpy as np

import septet
from race import Run, timed
from septet import Chunking, chunk_markdown
from septet.files.chunking import Variant
from septet.files.documents import document_of
from table import Row, at_least, plain

TITLE = "Files cut into chunks"
ABOUT = (
    "One core, 400 tokens with an overlap of 80, megabytes of UTF-8 a second. `chunk_markdown` gives texts, lines and "
    "SHA-256; a document is the same file with headings, links, front matter and times, ready to be stored."
)
#: Of larger files only the first 8 MiB are read for headings.
MEGABYTES = 7
LINE_MEGABYTES = 50
ROUNDS = 7
#: Megabytes a second.
LIMIT = 50.0


def rows(run: Run) -> Iterator[Row]:
    size = run.entries(MEGABYTES * 1_000_000)
    rounds = run.rounds(ROUNDS)
    for name, text in _texts(size).items():
        for variant in get_args(Variant):
            yield _rate(f"{variant}, {name}", text, rounds, lambda t, v=variant: chunk_markdown(t, variant=v))
        chunking = Chunking()
        yield _rate(f"document, {name}", text, rounds, lambda t, c=chunking: document_of(t, "a.md", 0.0, c))
    line = "a line without an end " * (run.entries(LINE_MEGABYTES * 1_000_000) // 22)
    yield _rate(f"capped, one line of {len(line) // 1_000_000} MB", line, 3, chunk_markdown)
    small = _small()
    for name, head in {"no front matter": "", "YAML": _YAML, "TOML": _TOML}.items():
        took = median(
            timed(lambda h=head: document_of(h + small, "a.md", 0.0, Chunking()))[0] for _ in range(rounds * 20)
        )
        yield plain(f"document of {len(small) / 1e3:.0f} kB, {name}", took * 1_000, "us")


_YAML = "---\ntitle: A note\ntags: [work, notes]\ndate: 2024-05-31\n---\n"
_TOML = '+++\ntitle = "A note"\ntags = ["work", "notes"]\ndate = 2024-05-31\n+++\n'


def _rate(name: str, text: str, rounds: int, work: Callable[[str], Any]) -> Row:
    took = median(timed(lambda: work(text))[0] for _ in range(rounds))
    size = len(text.encode()) / 1e6
    return at_least(f"{name}, {size:.0f} MB", size / took * 1e3, LIMIT, "MB/s")


def _texts(size: int) -> dict[str, str]:
    """Texts of a kind each, repeated until they are large enough."""
    random = np.random.default_rng(4)
    words = np.array("the a of vault search finds notes that say how long chunks may be and why".split())
    prose = "\n".join(" ".join(words[random.integers(0, len(words), 14)]) + "." for _ in range(3_000))
    ideographs = "\n".join("".join(map(chr, random.integers(0x4E00, 0x9FA5, 40))) for _ in range(3_000))
    package = Path(septet.__file__).parent
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py")))
    root = Path(__file__).parents[1]
    pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    markdown = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    made = {"prose": prose, "Chinese": ideographs, "code": code, "Markdown": markdown}
    return {name: text * (size // len(text.encode()) + 1) for name, text in made.items()}


def _small() -> str:
    part = "A line of a note, of some sixty characters, as people write.\n" * 12 + "\n## Part\n\n"
    return "# Title\n\nSome text with [a link](b.md) and [[Note]].\n\n" + part * 5


if __name__ == "__main__":
    from run import main

    main(["--only", "chunks"])
