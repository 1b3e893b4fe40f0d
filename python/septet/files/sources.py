"""The files of a root as they are on the disk now: `scan` lists all of them, `found_at` looks at one."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from septet._core import shown_path, walk_folder
from septet.files import trees
from septet.files.paths import below, can_be, resolved, unescaped
from septet.files.roots import MEMORIES, Root, is_memory_path
from septet.files.steady import mtime_ns_of

Kind = Literal["text", "session"]

__all__ = ["REASONS", "Found", "Scan", "Skipped", "found_at", "path_in", "places", "scan", "unknown_at"]

#: Why a path is not among what was found.
REASONS = {
    "symlink": "a link, which is not followed unless follow_symlinks is on",
    "symlink_cycle": "a link to a folder that it is in",
    "broken_symlink": "a link to nothing",
    "duplicate": "the same file as one before it",
    "missing": "a path in paths that is not there, or a glob that matches nothing",
    "ending": "a path in paths whose ending is none of the layout's",
    "not_a_file": "a pipe, a socket or a device",
    "unreadable": "it cannot be read: what is below it is unknown, not gone",
    "unread": "a PDF or HTML file, and the extra `files` that reads it is not installed",
    "vanished": "it went away while it was looked at",
    "bad_rule": "a line of an ignore file that is no glob; its other lines hold",
}
_MAGIC = re.compile(r"[*?\[]")
_KINDS: tuple[Kind, Kind] = ("text", "session")


class Found(NamedTuple):
    """A file of a root.

    Attributes:
        path: below the root, with forward slashes; ``../`` leads to one outside. Bytes that are no UTF-8 are ``\\xHH``.
        real: what to open; links are resolved.
        size: bytes.
        mtime_ns: when it was last changed, nanoseconds since 1970.
        kind: ``text``, or ``session`` for a transcript.
    """

    path: str
    real: str
    size: int
    mtime_ns: int
    kind: Kind


class Skipped(NamedTuple):
    """What a scan left out, or could not read.

    Attributes:
        path: as in `Found`; empty for the root itself. Of an entry of ``paths`` that is missing, the entry.
        reason: one of `REASONS`. What was indexed below an ``unreadable`` path should stay.
        detail: what the system says, or the path of the file that a duplicate equals.
    """

    path: str
    reason: str
    detail: str = ""

    @property
    def said(self) -> str:
        """The reason as a report has it."""
        return self.detail if self.reason == "unread" else self.reason


class Scan(NamedTuple):
    """The files of a root, in the order they are read, and what was left out.

    Attributes:
        missing: the root is not there.
        others: how many files do not count because of their ending alone, by ending.
    """

    found: list[Found]
    skipped: list[Skipped]
    missing: bool = False
    others: Mapping[str, int] = {}


class Place(NamedTuple):
    """A folder or file to look at.

    Attributes:
        shown: its path below the root; empty for the root itself.
        real: absolute, links above it resolved.
        tree: which of its files count, a key of `TREES`.
        pattern: only what matches this glob below it.
    """

    shown: str
    real: str
    tree: str
    pattern: str | None = None


def scan(root: Root) -> Scan:
    """List the files of a root, by size and time; nothing is opened but ignore files, and no error ends it.

    Layout ``folder``: texts (`ENDINGS`) and transcripts below it in the order of their paths; hidden files and folders,
    and what .gitignore and .septetignore leave out, do not count. Layout ``memory``: MEMORY.md, memory.md, USER.md,
    then ``memory/**/*.md``, hidden ones and node_modules too, less what a .septetignore leaves out. Then ``paths``, in
    their order: in a folder named there, transcripts too. Of files that are the same by real path the first one counts.
    """
    try:
        about = os.stat(root.path)
    except (FileNotFoundError, NotADirectoryError):
        return Scan([], [], missing=True)
    except OSError as fault:
        return Scan([], [Skipped("", "unreadable", _said(fault))])
    search = _Search(root)
    if stat.S_ISDIR(about.st_mode):
        search.look(_whole(root))
    else:
        search.file(Place(os.path.basename(root.path), root.path, "folder"))
    for given in root.paths:
        search.extra(given)
    return Scan(search.found, search.skipped, others=search.others())


def found_at(root: Root, path: str) -> Found | None:
    """Return a file of a root as `scan` lists it; None if it does not, or if the file is not there now.

    Only folders on the way to it are read. With ``follow_symlinks`` it takes a whole scan.

    Args:
        path: below the root with forward slashes, as in `Found`, or absolute.
    """
    return _look_at(root, path)[0]


def unknown_at(root: Root, path: str) -> Skipped | None:
    """Return why nothing can be said of a file that `found_at` does not find; None if it is not there, or left out.

    Args:
        path: as `found_at` takes it.
    """
    found, skipped = _look_at(root, path)
    unknown = (one for one in skipped if one.reason in trees.UNKNOWN)
    return None if found is not None else next((one for one in unknown if below(path, one.path) or not one.path), None)


def _look_at(root: Root, path: str) -> tuple[Found | None, list[Skipped]]:
    """Return a file of a root, and what was left out on the way to it."""
    if "\0" in path or not can_be(path):
        return None, []
    is_folder = os.path.isdir(root.path)
    base = root.path if is_folder else os.path.dirname(root.path)
    # An escape may be one, or part of the name.
    reals = dict.fromkeys(resolved(os.path.join(base, given)) for given in (path, unescaped(path)))
    if root.follow_symlinks:
        seen = scan(root)
        return next((one for one in seen.found if one.path == path or one.real in reals), None), seen.skipped
    skipped: list[Skipped] = []
    for real in reals:
        search = _Search(root, real)
        if is_folder and below(real, root.path):
            search.look(_whole(root))
        elif real == root.path:
            search.file(Place(os.path.basename(real), real, "folder"))
        for given in root.paths:
            if not search.found:
                search.extra(given)
        skipped += search.skipped
        if search.found:
            return search.found[0], skipped
    return None, skipped


def places(root: Root) -> list[str]:
    """Return the folders and files, absolute, that all files of a root are in, but for what links lead to."""
    return list(dict.fromkeys((root.path, *(_place_of(root, given).real for given in root.paths))))


def path_in(root: Root, path: str) -> str | None:
    """Return an absolute path, links above it resolved, as files of a root have theirs; None if it is in no place."""
    if path == root.path:
        return os.path.basename(path)
    if below(path, root.path):
        return path[len(root.path.rstrip(os.sep)) + 1 :]
    for given in root.paths:
        place = _place_of(root, given)
        if below(path, place.real):
            inside = path[len(place.real) :].strip(os.sep)
            return _naming(root, place)(inside)
    return None


class _Search:
    """What was found so far; with ``only``, all but this real path is passed over."""

    def __init__(self, root: Root, only: str | None = None) -> None:
        self._root, self._only = root, only
        self.found: list[Found] = []
        self.skipped: list[Skipped] = []
        #: Paths of files by real path, and all of them.
        self._seen: dict[str, str] = {}
        self._shown: set[str] = set()
        #: Folders that were read, by real path, where a link may lead to one of them.
        self._read: set[str] = set()
        #: By place and pattern, how many files have another ending there.
        self._others: dict[tuple[str, str | None], Mapping[str, int]] = {}
        #: How many files need a package that is missing, by ending; the endings of such files.
        self._left: Counter[str] = Counter()
        self._unread: tuple[str, ...] | None = None

    def look(self, place: Place) -> int:
        """Take what is below a folder, and what links below it lead to; return how many files there were."""
        within: Sequence[str] = trees.TOPS if place.tree == "memory" else ()
        if self._only is not None:
            inside = os.path.relpath(self._only, place.real)
            if within and not is_memory_path(inside):
                return 0
            within = [inside]
        root = self._root
        files, links, folders, problems, others = walk_folder(
            place.real,
            prefix=place.shown,
            within=within,
            include=root.include,
            exclude=root.exclude,
            pattern=place.pattern,
            **trees.TREES[place.tree],
        )
        # Of the root of a memory this one folder is walked.
        walked = os.path.join(place.real, MEMORIES) if place.tree == "memory" else place.real
        self._others[walked, place.pattern] = others
        if place.tree == "memory":
            # Curated files come first.
            files.sort(key=lambda file: trees.TOPS.index(file[0].partition("/")[0]))
        shown, ahead = _naming(root, place), place.real.rstrip(os.sep) + os.sep
        apart = self._seen or self._only is not None or root.paths or root.follow_symlinks
        if apart or any(file[1] or trees.extracted_ending(file[0]) for file in files):
            for path, raw, size, mtime_ns, session in files:
                self._take(Found(shown(path), ahead + (raw or path), size, mtime_ns, _KINDS[session]))
        else:
            # Nothing can be the same file by another path.
            self.found += [
                Found(path, ahead + path, size, mtime_ns, _KINDS[session]) for path, _, size, mtime_ns, session in files
            ]
        self.skipped += [Skipped(shown(path), *why) for path, *why in problems]
        if root.follow_symlinks:
            self._read.update(ahead + (raw or path) if path else place.real for path, raw in folders)
        for path, raw in links:
            self._link(shown(path), ahead + (raw or path), "memories" if place.tree == "memory" else place.tree)
        return len(files) + len(links)

    def others(self) -> dict[str, int]:
        """Return how many files do not count because of their ending, by ending; in a place inside another, once."""
        whole = [place for place, pattern in self._others if pattern is None]
        own = (
            counts
            for (place, pattern), counts in self._others.items()
            if not any(below(place, other) and (pattern is not None or place != other) for other in whole)
        )
        return trees.merged([self._left, *own])

    def extra(self, given: str) -> None:
        """Take what one of ``paths`` names: a file, a folder or a glob."""
        place = _place_of(self._root, given)
        if self._only is not None and not below(self._only, place.real):
            return
        try:
            about = os.lstat(place.real)
        except (FileNotFoundError, NotADirectoryError):
            self.skipped.append(Skipped(given, "missing"))
            return
        except OSError as fault:
            self.skipped.append(Skipped(place.shown, "unreadable", _said(fault)))
            return
        if stat.S_ISLNK(about.st_mode):
            self._link(place.shown, place.real, place.tree)
        elif not stat.S_ISDIR(about.st_mode):
            self.file(place)
        elif not self.look(place) and place.pattern is not None:
            self.skipped.append(Skipped(given, "missing"))

    def file(self, place: Place) -> None:
        """Take a file that is named itself, whatever ignore files say; the root with any ending."""
        folder, name = os.path.split(place.real)
        rules = {**trees.TREES[place.tree], "ignore_files": (), "hidden": True}
        if place.real == self._root.path:
            rules["endings"] = ()
        elif not (trees.is_session(name) or trees.ends(name, rules["endings"], any_case=rules["any_case"])):
            self.skipped.append(Skipped(place.shown, "ending"))
            return
        shown, root = place.shown, self._root
        ahead = os.path.dirname(shown)
        files, _, _, problems, _ = walk_folder(
            folder, prefix=ahead, within=[name], include=root.include, exclude=root.exclude, **rules
        )
        for _, _, size, mtime_ns, session in files:
            self._take(Found(shown, place.real, size, mtime_ns, _KINDS[session]))
        self.skipped += [Skipped(shown, *why) for _, *why in problems]

    def _link(self, shown: str, path: str, tree: str) -> None:
        if not self._root.follow_symlinks:
            self.skipped.append(Skipped(shown, "symlink"))
            return
        real = os.path.realpath(path)
        try:
            about = os.stat(real)
        except OSError as fault:
            broken = isinstance(fault, (FileNotFoundError, NotADirectoryError)) or fault.errno == errno.ELOOP
            why = ("broken_symlink",) if broken else ("unreadable", _said(fault))
            self.skipped.append(Skipped(shown, *why))
            return
        if stat.S_ISREG(about.st_mode):
            rules = trees.TREES[tree]
            if trees.is_session(shown) and rules["sessions"]:
                self._take(Found(shown, real, about.st_size, mtime_ns_of(about), "session"))
            elif trees.ends(shown, rules["endings"], any_case=rules["any_case"]):
                self._take(Found(shown, real, about.st_size, mtime_ns_of(about), "text"))
            else:
                self.skipped.append(Skipped(shown, "ending"))
        elif not stat.S_ISDIR(about.st_mode):
            self.skipped.append(Skipped(shown, "not_a_file"))
        elif below(os.path.realpath(os.path.dirname(path)), real):
            self.skipped.append(Skipped(shown, "symlink_cycle", shown_path(real)[0]))
        elif real in self._read:
            self.skipped.append(Skipped(shown, "duplicate", shown_path(real)[0]))
        else:
            self.look(Place(shown, real, tree))

    def _take(self, file: Found) -> None:
        first = self._seen.get(file.real)
        if first is None and file.path not in self._shown:
            self._seen[file.real] = file.path
            self._shown.add(file.path)
            if self._only is not None and file.real != self._only:
                return
            if not self._leave(file):
                self.found.append(file)
        elif first != file.path:
            # Another name of a file, or the name of another one: one of the two is escaped.
            self.skipped.append(Skipped(file.path, "duplicate", first or file.path))

    def _leave(self, file: Found) -> bool:
        """Leave a file out, and count it, if the package that reads it is missing."""
        ending = trees.extracted_ending(file.path)
        if ending is None:
            return False
        if self._unread is None:
            self._unread = trees.unread_endings()
        if ending in self._unread:
            self.skipped.append(Skipped(file.path, "unread", f"needs {trees.EXTRACTED[ending]}: {trees.FILES_EXTRA}"))
            self._left[ending[1:]] += 1
        return ending in self._unread


def _whole(root: Root) -> Place:
    return Place("", root.path, root.layout)


def _place_of(root: Root, given: str) -> Place:
    """Return what one of ``paths`` names."""
    base = root.path if os.path.isdir(root.path) else os.path.dirname(root.path)
    path = os.path.normpath(os.path.join(base, os.path.expanduser(given)))
    pattern = None
    if _MAGIC.search(path) and not os.path.lexists(path):
        parts = path.split(os.sep)
        fixed = next(i for i, part in enumerate(parts) if _MAGIC.search(part))
        path, pattern = os.sep.join(parts[:fixed]) or os.sep, "/" + "/".join(parts[fixed:])
    shown = os.path.relpath(path, base)
    tree = "folder" if root.layout == "folder" else "extra"
    return Place("" if shown == "." else shown, resolved(path), tree, pattern)


def _naming(root: Root, place: Place) -> Callable[[str], str]:
    """Return what makes paths below the root of those below a folder."""
    if place.real != root.path and below(root.path, place.real):
        # The folder holds the root: what is in the root has its own path.
        inside = os.path.relpath(root.path, place.real) + "/"
        ahead = place.shown + "/"
        return lambda path: path[len(inside) :] if f"{path}/".startswith(inside) else f"{ahead}{path}".rstrip("/")
    if place.shown:
        return lambda path: f"{place.shown}/{path}" if path else place.shown
    return lambda path: path


def _said(fault: OSError) -> str:
    return fault.strerror or str(fault)
