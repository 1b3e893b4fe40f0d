"""A folder of a repository: its files and definitions, rescanned on each request; and its paths as a corpus."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from hashlib import sha256
from typing import Literal, NamedTuple

from septet._core import Lock, Repository, stop_words
from septet.errors import QueryError, SeptetError
from septet.inputs.arguments import file_path, shown, whole
from septet.model.entry import MAX_ID_CHARS, Entry
from septet.model.fields import Span
from septet.model.results import Hit, hits_of
from septet.notes import Note
from septet.retrieval.corpora.legs import Miss, RecentEntries, checked_names, limit_of, time_left
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

#: Names of skipped folders, as documented.
SKIPPED = (".git", "target", "node_modules", ".next", ".vox", "dist", "build")
IGNORE_FILES = (".gitignore", ".septetignore")
MOST_FILES = 20_000
#: Maximum bytes of a file that is read.
MOST_FILE_BYTES = 1 << 20
#: Maximum words of a query.
MOST_WORDS = 64
#: More than any folder has.
MOST_PATHS = 1_000_000
PATH = "path:"
_WORD = re.compile(r"[\w\-/.:]+")
_PATH_WORD = re.compile(r"[A-Za-z0-9_\-/.]+")
_ENDS = "-/.:"


class FolderScan(NamedTuple):
    """A scan of a folder.

    Attributes:
        repository: its paths, and the definitions of its files if requested.
        notes: what is missing, with the reason.
    """

    repository: Repository
    notes: tuple[Note, ...]


class Folder:
    """The files below a folder, up to a maximum, without those excluded by rules of ``.gitignore``.

    It is scanned on the first request, and again when a folder in it has changed: each request reads the times of the
    folders, and for definitions those of the files in known languages. A scan that exceeds its time limit goes on in
    the background for later requests. Links are not followed.

    Args:
        path: the folder; it may not exist yet.
        skip: names of skipped folders.
        most_files: maximum files, 1 to 1,000,000; the first by name in each folder.
        ignore_files: names of files with rules as in ``.gitignore``.
        most_bytes: maximum bytes of a file whose definitions are read, 1 to 2**30.

    Raises:
        QueryError: an argument is invalid.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        skip: Iterable[str] = SKIPPED,
        most_files: int = MOST_FILES,
        ignore_files: Iterable[str] = IGNORE_FILES,
        most_bytes: int = MOST_FILE_BYTES,
    ) -> None:
        self.path = os.path.realpath(file_path(path, "path", QueryError))
        self._skip = checked_names(skip, "skip", 255)
        self._ignore_files = checked_names(ignore_files, "ignore_files", 255)
        self._most = whole(most_files, "most_files", QueryError, 1, 1_000_000)
        self._most_bytes = whole(most_bytes, "most_bytes", QueryError, 1, 1 << 30)
        self._repository = Repository(self.path, self._skip, self._ignore_files, self._most)
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset in a forked child: the scanning thread does not exist there."""
        self._lock = Lock()
        self._looking: Future[None] | None = None

    def __repr__(self) -> str:
        return f"Folder({self.path!r})"

    def listed(self, timeout_s: float | None = None, *, symbols: bool = False) -> FolderScan:
        """Return the current scan; after the time limit an older or partial one.

        Args:
            timeout_s: maximum seconds of the scan; None for no limit.
            symbols: include the definitions of the files.
        """
        lock = self._lock.hold(timeout_s)
        if lock is None:
            # Another thread is scanning.
            return FolderScan(self._repository, self._notes(self._repository, late=True))
        with lock:
            known = self._repository = self._repository.looked(timeout_s, self._most_bytes if symbols else 0)
            if known.cut == "time":
                self._look_on(symbols)
        return FolderScan(known, self._notes(known, late=known.cut == "time"))

    def _look_on(self, symbols: bool) -> None:
        """Finish the scan on a thread, without a time limit; one at a time."""
        if self._looking is not None and not self._looking.done():
            return

        def look() -> None:
            # A scan is a value: the last thread to finish has the latest, except for definitions that were not
            # requested.
            known = self._repository.looked(None, self._most_bytes if symbols else 0)
            self._repository = known

        try:
            self._looking = call_on_thread(look, "septet-folder")
        except RuntimeError:
            # No thread can be started: the next request scans again.
            self._looking = None

    def _notes(self, known: Repository, late: bool) -> tuple[Note, ...]:
        notes = []
        if known.cut == "files":
            cause = f"{self.path} has more than {self._most:,} files; the others were skipped"
            notes.append(Note("folder_cut", cause, "exclude folders by .gitignore or skip, or raise most_files"))
        if late:
            cause = f"{self.path} was not scanned completely in time"
            notes.append(Note("folder_cut", cause, "a later search finds the rest"))
        # An invalid rule excludes nothing: the other rules of its file apply.
        if problems := [problem for problem in known.problems if problem[1] != "bad_rule"]:
            path, reason, detail = problems[0]
            cause = f"{len(problems)} of {self.path} could not be read, such as {path or '.'}: {reason} {detail}"
            notes.append(Note("folder_cut", cause, "make it readable, or exclude it"))
        return tuple(notes)


def entry_id(kind: str, place: str) -> str:
    """Return an id for a place; its end is a digest if it would be too long."""
    full_id = f"{kind}:{place}"
    if len(full_id) <= MAX_ID_CHARS:
        return full_id
    digest = sha256(full_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{full_id[: MAX_ID_CHARS - 17]}~{digest}"


def natural_words(query: str, without: frozenset[str] = frozenset()) -> list[str]:
    """Return the significant words of a query in lower case without duplicates; all words if none is significant.

    Words of one letter, stop words and those of ``without`` are not significant. A module name counts as a path too:
    ``app.web`` is also ``app/web``.
    """
    words = [word.strip(_ENDS) for word in _WORD.findall(query.lower())]
    words = [word for word in dict.fromkeys(words) if word][:MOST_WORDS]
    ignored = stop_words() | without
    significant = [word for word in words if len(word) > 1 and word not in ignored] or words
    paths = [re.sub(r"::|\.", "/", word) for word in significant]
    return list(dict.fromkeys([*significant, *paths]))


def path_words(query: str) -> list[str]:
    """Return the words of a query for paths: runs of ASCII letters, digits and ``_ - / .``."""
    return [word.lower() for word in _PATH_WORD.findall(query)]


class FolderCorpus(RecentEntries):
    """Base of corpora of a folder, which wait for no other machine."""

    local = True

    def __init__(
        self, name: str, folder: Folder | str | os.PathLike[str], skip: Iterable[str], most_files: int
    ) -> None:
        self._folder = folder if isinstance(folder, Folder) else Folder(folder, skip=skip, most_files=most_files)
        super().__init__(name, self._folder.path)


class InventoryCorpus(FolderCorpus):
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

    def __init__(
        self,
        folder: Folder | str | os.PathLike[str],
        *,
        name: str = "repo_inventory",
        skip: Iterable[str] = SKIPPED,
        most_files: int = MOST_FILES,
        words: Literal["natural", "all"] = "natural",
    ) -> None:
        super().__init__(name, folder, skip, most_files)
        if words not in ("natural", "all"):
            raise QueryError(f"words is {shown(words)}: wanted 'natural' or 'all'")
        self._words = natural_words if words == "natural" else path_words

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the list ``paths``; nothing in mode ``vector``."""
        if request.mode == "vector":
            return CorpusAnswer(())
        scan = self._folder.listed(time_left(request))
        scores = dict(scan.repository.paths(self._words(request.query), limit_of(request)))
        ranked = self._list("paths", request, path_hits(scores, self._folder.path, self.name))
        return CorpusAnswer([ranked], ["repo_path"], scan.notes)

    def explain(self, request: CorpusRequest, entry_id: str) -> Miss | None:
        """Return why the list lacks a file, by its id, ``path:`` and the path; None for other ids."""
        if request.mode == "vector" or not entry_id.startswith(PATH) or "\0" in entry_id:
            return None
        known, folder, path = self._folder.listed().repository, self._folder.path, entry_id.removeprefix(PATH)
        scores = dict(known.paths(self._words(request.query), MOST_PATHS))
        try:
            listed = path in dict(known.paths([path.lower()], MOST_PATHS))
            real = os.path.realpath(os.path.join(folder, path))  # noqa: PTH118 - text
            inside = real.startswith(os.path.join(folder, ""))  # noqa: PTH118
            there = inside and os.path.isfile(real)  # noqa: PTH113
        except (OSError, ValueError, SeptetError):
            return None
        if not inside:
            return Miss("it is not below the folder", {"folder": False}, holds=False)
        if not listed and there:
            more = "; the folder has more files than the maximum" if known.cut == "files" else ""
            late = "; the folder was not scanned completely in time" if known.cut == "time" else ""
            cause = f"rules of .gitignore or names to skip exclude it, or it is a link{more}{late}"
            return Miss(cause, {"rules": False})
        if not listed:
            return Miss("there is no such file", {}, holds=False)
        if path not in scores:
            return Miss("its path holds no word of the query")
        rank = [*scores].index(path) + 1
        return Miss(f"rank {rank} of {len(scores)} by its path, and {limit_of(request)} are listed")


def path_hits(
    scores: Mapping[str, float], root: str, name: str, texts: Mapping[str, str] | None = None
) -> tuple[Hit, ...]:
    """Return files as hits in their order: scores and shown texts by path below the folder ``root``."""
    entries = []
    for path in scores:
        text = (texts or {}).get(path, "")
        span = Span(path, 1, text.count("\n") + 1)
        entries.append(
            Entry(id=entry_id("path", path), title=path, description=text, kind="path", span=span, source=root)
        )
    return hits_of(entries, [(score, name, {}, {}, 0.0, {"path": score}) for score in scores.values()], full=True)
