"""Rules for the files of a folder, by name, and counts of the skipped ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from septet.files.roots import CURATED, MEMORIES

#: Suffixes of texts (any case), and of files in the layout ``memory`` (exact case).
ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".rst")
MEMORY_ENDINGS = (".md",)
#: Packages of the extra ``files`` that read the text of a file, by suffix.
EXTRACTED: Mapping[str, str] = {".pdf": "pypdf", ".html": "lxml", ".htm": "lxml", ".xhtml": "lxml"}
IGNORE_FILES = (".gitignore", ".septetignore")
_SESSION = re.compile(r"\.jsonl(\.reset\..+)?\Z", re.DOTALL)
_TEXTS: Mapping[str, Any] = {"endings": (*ENDINGS, *EXTRACTED), "any_case": True, "hidden": False}
_MEMORIES: Mapping[str, Any] = {"endings": MEMORY_ENDINGS, "any_case": False, "hidden": True}
#: Arguments of the walk, by kind of tree: the folder of a root, by layout; the target of a link in ``memory/``; a
#: folder in ``paths``.
TREES: Mapping[str, Mapping[str, Any]] = {
    "folder": {**_TEXTS, "sessions": True, "ignore_files": IGNORE_FILES},
    "memory": {**_MEMORIES, "sessions": False, "ignore_files": IGNORE_FILES[1:]},
    "memories": {**_MEMORIES, "sessions": False, "ignore_files": IGNORE_FILES[1:]},
    "extra": {**_MEMORIES, "sessions": True, "ignore_files": IGNORE_FILES},
}
#: Files and folder read in the layout ``memory``, in order.
TOPS = (*CURATED, MEMORIES)
#: Reasons for which a missing file may still exist: its chunks stay.
UNKNOWN = ("unreadable", "vanished", "unread")
#: Command that installs the packages for `EXTRACTED`.
FILES_EXTRA = "pip install 'septet[files]'"
#: Reasons for which a file has no chunks and is not read again until it changes.
LEFT_OUT = ("binary", "encrypted", "damaged", "too_large")
#: Maximum suffixes of skipped files in a report, and in its text.
MOST_KINDS, SHOWN_KINDS = 20, 5
#: Name of all other suffixes.
OTHER = "other"


def is_session(path: str) -> bool:
    """Return True for the path of a session transcript: ``*.jsonl``, or one set aside as ``*.jsonl.reset.*``."""
    return _SESSION.search(path) is not None


def ends(name: str, endings: Sequence[str], *, any_case: bool) -> bool:
    """Return True if a name has one of the suffixes, or if there are none."""
    return not endings or (name.lower() if any_case else name).endswith(tuple(endings))


def merged(counts: Iterable[Mapping[str, int]], most: int = MOST_KINDS) -> dict[str, int]:
    """Return the number of files by suffix, most frequent first; rare suffixes, and none, are `OTHER`."""
    sums: Counter[str] = Counter()
    for by_suffix in counts:
        sums.update(by_suffix)
    rest = sums.pop("", 0) + sums.pop(OTHER, 0)
    first = sorted(sums.items(), key=lambda kind: (-kind[1], kind[0]))
    rest += sum(number for _, number in first[most:])
    return {**dict(first[:most]), **({OTHER: rest} if rest else {})}


def kinds_said(kinds: Mapping[str, int]) -> str:
    """Return the numbers of files by kind as text, and the command that lets more be read."""
    listed = ", ".join(f"{number:,} {kind}" for kind, number in merged([kinds], SHOWN_KINDS).items())
    readable = [ending[1:] for ending in unread_endings() if ending[1:] in kinds]
    return f"{listed} ({FILES_EXTRA} reads {', '.join(readable)})" if readable else listed


def extracted_ending(path: str) -> str | None:
    """Return the suffix of a file in `EXTRACTED`; None for any other."""
    ending = "." + path.rpartition(".")[2].lower()
    return ending if ending in EXTRACTED else None


def unread_endings() -> tuple[str, ...]:
    """Return the suffixes of `EXTRACTED` whose package is not installed."""
    absent = {package for package in set(EXTRACTED.values()) if find_spec(package) is None}
    return tuple(ending for ending, package in EXTRACTED.items() if package in absent)
