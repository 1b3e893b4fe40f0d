"""The inventory of a repository: paths that contain words of the query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal

from septet.errors import QueryError
from septet.inputs.arguments import shown, utf8
from septet.model.entry import Entry
from septet.model.fields import Span
from septet.model.results import Hit, hits_of
from septet.retrieval.corpora.entry_cache import EntryCache
from septet.retrieval.corpora.folders import MOST_FILES, SKIPPED, Folder, entry_id, natural_words
from septet.retrieval.corpora.legs import MOST_ITEMS, time_left
from septet.retrieval.corpora.misses import MOST_PATHS, Miss, missed_path
from septet.retrieval.corpora.rules import path_words
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.knowledge import items_of


class InventoryCorpus:
    """Files by the words in their path, as entries of kind ``path``, without contents.

    A word in the path scores 1.0, or 1.3 if the path ends with it or a part of the path begins with it; ties are in
    path order.

    Args:
        folder: the folder, or a `Folder` shared by several corpora.
        name: the name in lists and hits.
        skip: names of skipped folders, if ``folder`` is a path.
        most_files: maximum files, if ``folder`` is a path.
        words: ``natural`` for significant words only; ``all`` for every word, as documented.

    Raises:
        QueryError: an argument is invalid.
    """

    #: It waits for no other machine.
    local = True

    def __init__(
        self,
        folder: Folder | str | os.PathLike[str],
        *,
        name: str = "repo_inventory",
        skip: Iterable[str] = SKIPPED,
        most_files: int = MOST_FILES,
        words: Literal["natural", "all"] = "natural",
    ) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._folder = folder if isinstance(folder, Folder) else Folder(folder, skip=skip, most_files=most_files)
        if words not in ("natural", "all"):
            raise QueryError(f"words is {shown(words)}: wanted 'natural' or 'all'")
        self._natural = words == "natural"
        self._cache = EntryCache()

    def search(self, asked: Asked) -> Answered:
        """Return the list ``paths``; nothing in mode ``vector``."""
        if asked.mode == "vector":
            return Answered(())
        scan = self._folder.listed(time_left(asked))
        scores = scan.repository.paths(self._words(asked.query), max(1, min(asked.limit, MOST_ITEMS)))
        hits = path_hits(dict(scores), self._folder.path, self.name)
        self._cache.keep(hits)
        ranked = RankedList("paths", self.name, items_of(self._folder.path, hits), variant=asked.variant)
        return Answered([ranked], ["repo_path"], scan.notes)

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry of a recent hit; None for other ids."""
        return self._cache.get(entry_id)

    def explain(self, asked: Asked, entry_id: str) -> Miss | None:
        """Return why the list lacks a file, by its id, ``path:`` and the path; None for other ids."""
        if asked.mode == "vector":
            return None
        known = self._folder.listed().repository
        scores = dict(known.paths(self._words(asked.query), MOST_PATHS))
        return missed_path(entry_id, self._folder.path, known, scores, max(1, min(asked.limit, MOST_ITEMS)))

    def _words(self, query: str) -> list[str]:
        return natural_words(query) if self._natural else path_words(query)


def path_entry(path: str, root: str, text: str = "") -> Entry:
    """Return a file as an entry: its path below the folder, and its shown text."""
    lines = max(1, text.count("\n") + 1)
    return Entry(
        id=entry_id("path", path),
        title=path,
        description=text,
        kind="path",
        span=Span(path, 1, lines),
        source=root,
    )


def path_hits(
    scores: Mapping[str, float], root: str, name: str, texts: Mapping[str, str] | None = None
) -> tuple[Hit, ...]:
    """Return files with their scores as hits, in their order.

    Args:
        scores: by path below the folder.
        root: the folder.
        name: of the corpus.
        texts: shown texts, by path.
    """
    entries = [path_entry(path, root, (texts or {}).get(path, "")) for path in scores]
    return hits_of(entries, [(score, name, {}, {}, 0.0, {"path": score}) for score in scores.values()], full=True)
