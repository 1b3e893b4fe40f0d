"""Which files of a folder count, by their names, and what the others are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from septet.files.roots import CURATED, MEMORIES

__all__ = ["ENDINGS", "IGNORE_FILES", "TOPS", "TREES", "ends", "is_session", "kinds_said", "merged"]

#: Endings of texts, whatever their case, and of those in the layout ``memory``, as they are.
ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".rst")
MEMORY_ENDINGS = (".md",)
IGNORE_FILES = (".gitignore", ".septetignore")
_SESSION = re.compile(r"\.jsonl(\.reset\..+)?\Z", re.DOTALL)
_TEXTS: Mapping[str, Any] = {"endings": ENDINGS, "any_case": True, "hidden": False}
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
    """Return how many files there are of each kind, as it is said: ``12 pdf, 3 canvas, 1 other``."""
    return ", ".join(f"{number:,} {kind}" for kind, number in merged([kinds], SHOWN_KINDS).items())
