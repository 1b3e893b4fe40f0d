"""Files for an intent: the inventory of a repository, and what its chunks in a vault say, as one ranking of files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.files.redaction import Redactor
from septet.files.steady import open_file
from septet.inputs.arguments import real, utf8, whole
from septet.model.entry import Entry
from septet.model.results import Hit
from septet.profiles import ProfileLike
from septet.query.deadline import deadline_of
from septet.retrieval.corpora.chunks import CHUNK_WEIGHT, ChunkCorpus
from septet.retrieval.corpora.folders import MOST_FILES, SKIPPED, Folder, natural_words
from septet.retrieval.corpora.inventory import path_hits
from septet.retrieval.corpora.kept import Kept
from septet.retrieval.corpora.legs import MOST_ITEMS, time_left
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.fusion import Evidence, changed_hit, merged_evidence
from septet.retrieval.knowledge import Knowledge, items_of

__all__ = ["FoundFile", "SemanticFilesCorpus", "discover_files_for_intent", "retrieve_evidence_for_intent"]

#: The documented number of files, and how many may be asked for.
FILES, MOST_FOUND = 16, 256
#: So many chunks are looked at for each file that is wanted: several may be of one.
CHUNKS_A_FILE = 4
#: The beginning of a file that is shown where no chunk of it was found.
HEAD_BYTES, HEAD_CHARS, HEAD_LINES = 4096, 400, 8


class FoundFile(NamedTuple):
    """A file for an intent.

    Attributes:
        path: below the folder.
        score: what its path and its best chunk score together.
        snippet: what of it answers, with secrets masked; its beginning where only its path was found.
        evidence_source: what found it: ``full_text``, ``vector`` or ``hybrid``. A path counts as full text.
    """

    path: str
    score: float
    snippet: str
    evidence_source: Evidence

    def to_dict(self) -> dict[str, Any]:
        """Return the four fields as a JSON-ready dict."""
        return self._asdict()


class SemanticFilesCorpus:
    """Files of a repository that an intent is about, by their paths and by their chunks in a vault.

    A file scores what its path scores (`InventoryCorpus`) and what its best chunk does (`ChunkCorpus`, 0 to 2). A
    file that is not there any more is not found by its chunks either.

    Args:
        folder: the folder, or a `Folder` that several corpora share.
        knowledge: a vault that the folder is synced into, under its own paths; None for paths alone.
        name: what lists and hits call it.
        source: the name of the synced folder; None for chunks of any.
        weight: that of the vectors of chunks beside their words, 0 to 1.
        together: as for `ChunkCorpus`.
        skip: names of folders that are passed over, if ``folder`` is a path.
        most_files: at most so many files, if ``folder`` is a path.

    Raises:
        QueryError: an argument is none of these.
    """

    #: It waits for no other machine.
    local = True

    def __init__(
        self,
        folder: Folder | str | os.PathLike[str],
        knowledge: Knowledge | None = None,
        *,
        name: str = "semantic_files",
        source: str | None = None,
        weight: float = CHUNK_WEIGHT,
        together: ProfileLike | None = None,
        skip: Iterable[str] = SKIPPED,
        most_files: int = MOST_FILES,
    ) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._folder = folder if isinstance(folder, Folder) else Folder(folder, skip=skip, most_files=most_files)
        where = None if source is None else {"source": utf8(source, "source", QueryError, 4096)}
        self._chunks = (
            None if knowledge is None else ChunkCorpus(knowledge, where=where, weight=weight, together=together)
        )
        self._redactor = Redactor()
        self._kept = Kept()

    def search(self, asked: Asked) -> Answered:
        """Return the list ``files``.

        Raises:
            QueryError: the query cannot be understood.
            StoreError: the vault cannot be read.
        """
        found, notes, backends = self._found(asked)
        texts = {one.path: one.snippet for one in found}
        hits = path_hits({one.path: one.score for one in found}, self._folder.path, self.name, texts)
        whole_hits = [changed_hit(hit, snippet=one.snippet) for hit, one in zip(hits, found)]
        self._kept.keep(whole_hits)
        ranked = RankedList("files", self.name, items_of(self._folder.path, whole_hits), variant=asked.variant)
        return Answered([ranked], backends, notes)

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry that was found lately; None for any other."""
        return self._kept.get(entry_id)

    def files(self, asked: Asked) -> list[FoundFile]:
        """Return the files themselves, the best first.

        Raises:
            QueryError: the query cannot be understood.
            StoreError: the vault cannot be read.
        """
        return self._found(asked)[0]

    def _found(self, asked: Asked) -> tuple[list[FoundFile], list[Any], list[str]]:
        limit = max(1, min(asked.limit, MOST_ITEMS))
        there = self._folder.listed(time_left(asked))
        notes, backends = list(there.notes), ["repo_path"]
        scores: dict[str, float] = {}
        evidence: dict[str, Evidence] = {}
        if asked.mode != "vector":
            # A file may win by its chunk, whatever its place by its path.
            for path, score in there.repository.paths(natural_words(asked.query), CHUNKS_A_FILE * limit):
                scores[path], evidence[path] = score, "full_text"
        passages: dict[str, Hit] = {}
        if self._chunks is not None:
            answered = self._chunks.search(asked._replace(limit=min(MOST_ITEMS, CHUNKS_A_FILE * limit)))
            notes += answered.notes
            backends += answered.backends
            for item in (item for ranked in answered.lists for item in ranked.items):
                place = _path_of(item.hit)
                if place is not None and place not in passages and self._is_there(place):
                    passages[place] = item.hit
        for path, hit in passages.items():
            scores[path] = scores.get(path, 0.0) + hit.score
            evidence[path] = merged_evidence(evidence.get(path, "unknown"), _evidence_of(hit))
        best = sorted(scores, key=lambda path: (-scores[path], path))[:limit]
        snippets = [self._snippet(path, passages.get(path)) for path in best]
        found = [FoundFile(path, scores[path], text, evidence[path]) for path, text in zip(best, snippets)]
        return found, notes, backends

    def _is_there(self, path: str) -> bool:
        real = os.path.join(self._folder.path, path)  # noqa: PTH118 - text
        return os.path.realpath(real) == real and os.path.isfile(real)  # noqa: PTH113

    def _snippet(self, path: str, passage: Hit | None) -> str:
        text = passage.snippet if passage is not None else beginning(os.path.join(self._folder.path, path))  # noqa: PTH118
        return self._redactor.redact(text).text if text else ""


def discover_files_for_intent(
    intent: str,
    limit: int = FILES,
    *,
    folder: Folder | str | os.PathLike[str],
    knowledge: Knowledge | None = None,
    source: str | None = None,
    timeout_s: float | None = None,
) -> list[FoundFile]:
    """Return the files of a folder that an intent is about, the best first.

    Args:
        intent: what is to be done, in words.
        limit: at most so many, 1 to 256.
        folder: the folder; a `Folder` is walked once for many calls.
        knowledge: a vault that the folder is synced into.
        source: the name of the synced folder in it.
        timeout_s: how long to look, 0.01 to 86,400 seconds; None for as long as it takes.

    Raises:
        QueryError: an argument is none of these.
        StoreError: the vault cannot be read.
    """
    most = whole(limit, "limit", QueryError, 1, MOST_FOUND)
    deadline = None if timeout_s is None else deadline_of(real(timeout_s, "timeout_s", QueryError, 0.01, 86_400.0))
    corpus = SemanticFilesCorpus(folder, knowledge, source=source)
    return corpus.files(Asked(utf8(intent, "intent", QueryError, 100_000), most, deadline=deadline))


def retrieve_evidence_for_intent(
    intent: str,
    limit: int = FILES,
    *,
    folder: Folder | str | os.PathLike[str],
    knowledge: Knowledge | None = None,
    source: str | None = None,
    timeout_s: float | None = None,
) -> dict[str, Any]:
    """Return the files for an intent as a JSON-ready dict: ``intent``, ``limit``, ``hits``.

    Args:
        intent: as for `discover_files_for_intent`, like the others.
        limit: at most so many.
        folder: the folder.
        knowledge: a vault that the folder is synced into.
        source: the name of the synced folder in it.
        timeout_s: how long to look, in seconds.

    Raises:
        QueryError: an argument cannot be understood.
        StoreError: the vault cannot be read.
    """
    found = discover_files_for_intent(
        intent, limit, folder=folder, knowledge=knowledge, source=source, timeout_s=timeout_s
    )
    return {"intent": intent, "limit": limit, "hits": [one.to_dict() for one in found]}


def beginning(path: str) -> str:
    """Return the first lines of a file; nothing of one that is no text, or cannot be read."""
    try:
        with open_file(path) as file:
            data = file.read(HEAD_BYTES)
    except OSError:
        return ""
    if b"\0" in data:
        return ""
    lines = [line.rstrip() for line in data.decode("utf-8", "replace").splitlines()]
    return "\n".join([line for line in lines if line][:HEAD_LINES])[:HEAD_CHARS]


def _path_of(hit: Hit) -> str | None:
    return None if hit.entry is None or hit.entry.span is None else hit.entry.span.path


def _evidence_of(hit: Hit) -> Evidence:
    by_words, by_vectors = hit.raw.get("bm25") is not None, hit.raw.get("cosine") is not None
    if by_words and by_vectors:
        return "hybrid"
    return "vector" if by_vectors else "full_text"
