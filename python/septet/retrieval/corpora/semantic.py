"""Files for an intent: paths of a repository and their chunks in a vault, as one ranking of files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.files.redaction import Redactor
from septet.files.steady import open_file
from septet.inputs.arguments import real, utf8, whole
from septet.model.results import Hit
from septet.profiles import ProfileLike
from septet.query.refine import deadline_of
from septet.retrieval.corpora.chunks import CHUNK_WEIGHT, ChunkCorpus
from septet.retrieval.corpora.folders import MOST_FILES, SKIPPED, Folder, FolderCorpus, natural_words, path_hits
from septet.retrieval.corpora.legs import MOST_ITEMS, limit_of, time_left
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.fusion import Evidence, changed_hit, merged_evidence
from septet.retrieval.knowledge import Knowledge
from septet.system.host import host

#: Documented default and maximum number of files.
FILES, MOST_FOUND = 16, 256
#: Chunks searched per file: several may belong to one.
CHUNKS_A_FILE = 4
#: Limits of a file's head, the snippet of a file without a chunk hit.
HEAD_BYTES, HEAD_CHARS, HEAD_LINES = 4096, 400, 8


class FoundFile(NamedTuple):
    """A file for an intent.

    Attributes:
        path: below the folder.
        score: the sum of the scores of its path and its best chunk.
        snippet: its best passage, with secrets masked; its beginning if only its path matched.
        evidence_source: the legs that matched: ``full_text``, ``vector`` or ``hybrid``. A path counts as full text.
    """

    path: str
    score: float
    snippet: str
    evidence_source: Evidence

    def to_dict(self) -> dict[str, Any]:
        """Return the four fields as a JSON-ready dict."""
        return self._asdict()


class SemanticFilesCorpus(FolderCorpus):
    """Files of a repository for an intent, by their paths and by their chunks in a vault.

    The score is the sum of the scores of the path (`InventoryCorpus`) and the best chunk (`ChunkCorpus`, 0 to 2).
    Chunks of deleted files are ignored.

    Args:
        folder: the folder, or a `Folder` shared by several corpora.
        knowledge: a vault that the folder is synced into, under its own paths; None for paths alone.
        name: the name in lists and hits.
        source: the name of the synced folder; None for chunks of any.
        weight: weight of the vectors of chunks beside their words, 0 to 1.
        together: as for `ChunkCorpus`.
        skip: names of skipped folders, if ``folder`` is a path.
        most_files: maximum files, if ``folder`` is a path.

    Raises:
        QueryError: an argument is invalid.
    """

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
        super().__init__(name, folder, skip, most_files)
        where = None if source is None else {"source": utf8(source, "source", QueryError, 4096)}
        self._chunks = (
            None if knowledge is None else ChunkCorpus(knowledge, where=where, weight=weight, together=together)
        )
        self._redactor = Redactor()

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the list ``files``."""
        files, notes, backends = self._ranked(request)
        texts = {file.path: file.snippet for file in files}
        hits = path_hits({file.path: file.score for file in files}, self._folder.path, self.name, texts)
        with_snippets = [changed_hit(hit, snippet=file.snippet) for hit, file in zip(hits, files)]
        return CorpusAnswer([self._list("files", request, with_snippets)], backends, notes)

    def files(self, request: CorpusRequest) -> list[FoundFile]:
        """Return the files, best first."""
        return self._ranked(request)[0]

    def _ranked(self, request: CorpusRequest) -> tuple[list[FoundFile], list[Any], list[str]]:
        limit = limit_of(request)
        scan = self._folder.listed(time_left(request))
        notes, backends = list(scan.notes), ["repo_path"]
        scores: dict[str, float] = {}
        evidence: dict[str, Evidence] = {}
        if request.mode != "vector":
            # A file may rank high by its chunk alone.
            for path, score in scan.repository.paths(natural_words(request.query), CHUNKS_A_FILE * limit):
                scores[path], evidence[path] = score, "full_text"
        passages: dict[str, Hit] = {}
        if self._chunks is not None:
            answered = self._chunks.search(request._replace(limit=min(MOST_ITEMS, CHUNKS_A_FILE * limit)))
            notes += answered.notes
            backends += answered.backends
            for item in (item for ranked in answered.lists for item in ranked.items):
                entry = item.hit.entry
                place = None if entry is None or entry.span is None else entry.span.path
                if place is not None and place not in passages and self._is_there(place):
                    passages[place] = item.hit
        for path, hit in passages.items():
            scores[path] = scores.get(path, 0.0) + hit.score
            by_words, by_vectors = hit.raw.get("bm25") is not None, hit.raw.get("cosine") is not None
            legs: Evidence = "full_text" if not by_vectors else "hybrid" if by_words else "vector"
            evidence[path] = merged_evidence(evidence.get(path, "unknown"), legs)
        best = sorted(scores, key=lambda path: (-scores[path], path))[:limit]
        snippets = [self._snippet(path, passages.get(path)) for path in best]
        files = [FoundFile(path, scores[path], text, evidence[path]) for path, text in zip(best, snippets)]
        return files, notes, backends

    def _is_there(self, path: str) -> bool:
        real = os.path.join(self._folder.path, host.native(path))  # noqa: PTH118 - text
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
    """Return the files of a folder for an intent, best first.

    Args:
        intent: the task, in words.
        limit: maximum files, 1 to 256.
        folder: the folder; a `Folder` is scanned once for many calls.
        knowledge: a vault that the folder is synced into.
        source: the name of the synced folder in it.
        timeout_s: maximum seconds, 0.01 to 86,400; None for no limit.

    Raises:
        QueryError: an argument is invalid.
        StoreError: the vault cannot be read.
    """
    most = whole(limit, "limit", QueryError, 1, MOST_FOUND)
    deadline = None if timeout_s is None else deadline_of(real(timeout_s, "timeout_s", QueryError, 0.01, 86_400.0))
    corpus = SemanticFilesCorpus(folder, knowledge, source=source)
    return corpus.files(CorpusRequest(utf8(intent, "intent", QueryError, 100_000), most, deadline=deadline))


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

    Arguments and errors are those of `discover_files_for_intent`.
    """
    files = discover_files_for_intent(
        intent, limit, folder=folder, knowledge=knowledge, source=source, timeout_s=timeout_s
    )
    return {"intent": intent, "limit": limit, "hits": [file.to_dict() for file in files]}


def beginning(path: str) -> str:
    """Return the first lines of a file; empty if it is binary or unreadable."""
    try:
        with open_file(path) as file:
            data = file.read(HEAD_BYTES)
    except OSError:
        return ""
    if b"\0" in data:
        return ""
    lines = [line.rstrip() for line in data.decode("utf-8", "replace").splitlines()]
    return "\n".join([line for line in lines if line][:HEAD_LINES])[:HEAD_CHARS]
