"""A folder as corpora see it: its files and what they define, looked at again whenever something is asked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from concurrent.futures import Future
from hashlib import sha256
from typing import NamedTuple

from septet._core import Lock, Repository, stop_words
from septet.errors import QueryError
from septet.inputs.arguments import file_path, listed, utf8, whole
from septet.model.entry import MAX_ID_CHARS
from septet.model.results import Note
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

__all__ = ["IGNORE_FILES", "MOST_FILES", "SKIPPED", "Folder", "Listed", "entry_id", "natural_words"]

#: Folders of these names are passed over, as documented.
SKIPPED = (".git", "target", "node_modules", ".next", ".vox", "dist", "build")
IGNORE_FILES = (".gitignore", ".septetignore")
MOST_FILES = 20_000
#: Of a larger file nothing is read.
MOST_FILE_BYTES = 1 << 20
#: So many words of a query count.
MOST_WORDS = 64
_WORD = re.compile(r"[\w\-/.:]+")
_ENDS = "-/.:"


class Listed(NamedTuple):
    """A folder at one moment.

    Attributes:
        repository: its paths, and what its files define, if that was asked.
        notes: what is missing, and why.
    """

    repository: Repository
    notes: tuple[Note, ...]


class Folder:
    """The files below a folder, at most so many, without those that rules of ``.gitignore`` leave out.

    It is walked when it is first asked about, and again when a folder in it has changed: asking looks at the times of
    the folders, and of the files in known languages where their definitions are asked for. What cannot be looked at in
    time is looked at in the background, and is there for a later question. No link is followed.

    Args:
        path: the folder; it need not be there yet.
        skip: names of folders that are passed over.
        most_files: at most so many files, 1 to 1,000,000; the first by name in each folder.
        ignore_files: names of files with rules, as of ``.gitignore``.
        most_bytes: of larger files no definitions are read, 1 to 2**30.

    Raises:
        QueryError: an argument is none of these.
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
        self._skip = _names(skip, "skip")
        self._ignore_files = _names(ignore_files, "ignore_files")
        self._most = whole(most_files, "most_files", QueryError, 1, 1_000_000)
        self._most_bytes = whole(most_bytes, "most_bytes", QueryError, 1, 1 << 30)
        self._repository = Repository(self.path, self._skip, self._ignore_files, self._most)
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Begin anew in a forked child: the thread that looked is not there."""
        self._lock = Lock()
        self._looking: Future[None] | None = None

    def __repr__(self) -> str:
        return f"Folder({self.path!r})"

    def listed(self, timeout_s: float | None = None, *, symbols: bool = False) -> Listed:
        """Return what is there now; what was there before, or a part, where the time does not suffice for more.

        Args:
            timeout_s: how long to look, in seconds; None for as long as it takes.
            symbols: also what the files define.
        """
        held = self._lock.hold(timeout_s)
        if held is None:
            # Another thread looks already.
            return Listed(self._repository, self._notes(self._repository, late=True))
        with held:
            known = self._repository = self._repository.looked(timeout_s, self._most_bytes if symbols else 0)
            if known.cut == "time":
                self._look_on(symbols)
        return Listed(known, self._notes(known, late=known.cut == "time"))

    def _look_on(self, symbols: bool) -> None:
        """Look at the rest without a time limit, on a thread; one at a time."""
        if self._looking is not None and not self._looking.done():
            return

        def look() -> None:
            # Each is a value: whichever thread comes last has looked last, but for what nobody asked of it.
            known = self._repository.looked(None, self._most_bytes if symbols else 0)
            self._repository = known

        try:
            self._looking = call_on_thread(look, "septet-folder")
        except RuntimeError:
            # No thread can be started: the next question looks again.
            self._looking = None

    def _notes(self, known: Repository, late: bool) -> tuple[Note, ...]:
        notes = []
        if known.cut == "files":
            cause = f"{self.path} has more than {self._most:,} files; the others were left out"
            notes.append(Note("folder_cut", cause, "leave folders out by .gitignore or skip, or raise most_files"))
        if late:
            cause = f"there was no time to look at all of {self.path}"
            notes.append(Note("folder_cut", cause, "a later question finds the rest"))
        # A rule that is none hides nothing: its file has others.
        if problems := [one for one in known.problems if one[1] != "bad_rule"]:
            path, reason, detail = problems[0]
            cause = f"{len(problems)} of {self.path} could not be read, such as {path or '.'}: {reason} {detail}"
            notes.append(Note("folder_cut", cause, "make it readable, or leave it out"))
        return tuple(notes)


def entry_id(kind: str, place: str) -> str:
    """Return an id of what stands at a place: readable, unless it would be too long."""
    made = f"{kind}:{place}"
    if len(made) <= MAX_ID_CHARS:
        return made
    digest = sha256(made.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{made[: MAX_ID_CHARS - 17]}~{digest}"


def natural_words(query: str, without: frozenset[str] = frozenset()) -> list[str]:
    """Return the words of a query in lower case that tell something, each once; all of them, if none does.

    Words of one letter, stop words and those of ``without`` tell nothing. What looks like a name of a module counts as
    a path too: ``app.web`` is also ``app/web``.
    """
    words = [word.strip(_ENDS) for word in _WORD.findall(query.lower())]
    words = [word for word in dict.fromkeys(words) if word][:MOST_WORDS]
    idle = stop_words() | without
    telling = [word for word in words if len(word) > 1 and word not in idle] or words
    paths = [re.sub(r"::|\.", "/", word) for word in telling]
    return list(dict.fromkeys([*telling, *paths]))


def _names(values: Iterable[str], name: str) -> list[str]:
    given = [values] if isinstance(values, str) else values
    return [utf8(value, name, QueryError, 255) for value in listed(given, name, QueryError, "a list of names", 1000)]
