"""Which files of a folder count, by their names, and what the others are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from septet.files.roots import CURATED, MEMORIES

__all__ = [
    "ENDINGS",
    "EXTRACTED",
    "FILES_EXTRA",
    "IGNORE_FILES",
    "LEFT_OUT",
    "TOPS",
    "TREES",
    "UNKNOWN",
    "ends",
    "extracted_ending",
]
__all__ += ["is_session", "kinds_said", "merged", "unread_endings"]

#: Endings of texts, whatever their case, and of those in the layout ``memory``, as they are.
ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".rst")
MEMORY_ENDINGS = (".md",)
#: Endings of files of which the extra ``files`` reads the text, by the package that it needs for that.
EXTRACTED: Mapping[str, str] = {".pdf": "pypdf", ".html": "lxml", ".htm": "lxml", ".xhtml": "lxml"}
IGNORE_FILES = (".gitignore", ".septetignore")
_SESSION = re.compile(r"\.jsonl(\.reset\..+)?\Z", re.DOTALL)
_TEXTS: Mapping[str, Any] = {"endings": (*ENDINGS, *EXTRACTED), "any_case": True, "hidden": False}
_MEMORIES: Mapping[str, Any] = {"endings": MEMORY_ENDINGS, "any_case": False, "hidden": True}
#: What counts in a tree, as keywords of the walk: the folder of a root, by layout; a folder that a link in ``memory/``
#: leads to; one that ``paths`` names.
TREES: Mapping[str, Mapping[str, Any]] = {
    "folder": {**_TEXTS, "sessions": True, "ignore_files": IGNORE_FILES},
    "memory": {**_MEMORIES, "sessions": False, "ignore_files": IGNORE_FILES[1:]},
    "memories": {**_MEMORIES, "sessions": False, "ignore_files": IGNORE_FILES[1:]},
    "extra": {**_MEMORIES, "sessions": True, "ignore_files": IGNORE_FILES},
}
#: What is read of a root in the layout ``memory``, in this order.
TOPS = (*CURATED, MEMORIES)
#: Why a file may be there although it is not found: what the vault has of it stays.
UNKNOWN = ("unreadable", "vanished", "unread")
#: What installs the packages for `EXTRACTED`.
FILES_EXTRA = "pip install 'septet[files]'"
#: Why nothing of a file is in the vault, which need not be read again until it changes.
LEFT_OUT = ("binary", "encrypted", "damaged", "too_large")
#: So many endings of files that do not count are told apart, and so many named in a line.
MOST_KINDS, SHOWN_KINDS = 20, 5
#: What the rest of them are.
OTHER = "other"


def is_session(path: str) -> bool:
    """Say whether a path is that of a session transcript: ``*.jsonl``, or one set aside as ``*.jsonl.reset.*``."""
    return _SESSION.search(path) is not None


def ends(name: str, endings: Sequence[str], *, any_case: bool) -> bool:
    """Say whether a name has one of some endings, or there are none."""
    return not endings or (name.lower() if any_case else name).endswith(tuple(endings))


def merged(counts: Iterable[Mapping[str, int]], most: int = MOST_KINDS) -> dict[str, int]:
    """Return how many files there are by ending, the most first; those of rare endings, and of none, are `OTHER`."""
    sums: Counter[str] = Counter()
    for one in counts:
        sums.update(one)
    rest = sums.pop("", 0) + sums.pop(OTHER, 0)
    first = sorted(sums.items(), key=lambda kind: (-kind[1], kind[0]))
    rest += sum(number for _, number in first[most:])
    return {**dict(first[:most]), **({OTHER: rest} if rest else {})}


def kinds_said(kinds: Mapping[str, int]) -> str:
    """Return how many files there are of each kind, as it is said, and how to have them read that can be."""
    said = ", ".join(f"{number:,} {kind}" for kind, number in merged([kinds], SHOWN_KINDS).items())
    could = [ending[1:] for ending in unread_endings() if ending[1:] in kinds]
    return f"{said} ({FILES_EXTRA} reads {', '.join(could)})" if could else said


def extracted_ending(path: str) -> str | None:
    """Return the ending of a file of `EXTRACTED`; None for any other."""
    ending = "." + path.rpartition(".")[2].lower()
    return ending if ending in EXTRACTED else None


def unread_endings() -> tuple[str, ...]:
    """Return those of `EXTRACTED` whose files cannot be read, as a package is missing."""
    lacking = {package for package in set(EXTRACTED.values()) if find_spec(package) is None}
    return tuple(ending for ending, package in EXTRACTED.items() if package in lacking)
