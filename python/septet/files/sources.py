"""List the files of a root on the disk: `scan` returns all of them, `file_at` one."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

from septet._core import shown_path, walk_folder
from septet.files import roots
from septet.files.roots import MEMORIES, Root, below, is_memory_path, resolved, unescaped
from septet.files.steady import mtime_ns_of
from septet.system.host import host

Kind = Literal["text", "session"]

#: Reasons for which a path is skipped.
REASONS = {
    "symlink": "a link, which is not followed unless follow_symlinks is on",
    "symlink_cycle": "a link to a folder that it is in",
    "broken_symlink": "a link to nothing",
    "duplicate": "the same file as an earlier one",
    "missing": "a path in paths that does not exist, or a glob without matches",
    "ending": "a path in paths whose suffix the layout does not read",
    "not_a_file": "a pipe, a socket or a device",
    "unreadable": "it cannot be read: files below it are unknown, not deleted",
    "unread": "a PDF or HTML file, without the extra `files` that reads it",
    "vanished": "it disappeared during the scan",
    "bad_rule": "a line of an ignore file that is not a glob; its other lines apply",
}
_MAGIC = re.compile(r"[*?\[]")
#: Every path for which `extracted_ending` returns a suffix ends with one of these.
_EXTRACTED = tuple(ending[1:] for ending in roots.EXTRACTED)
_KINDS: tuple[Kind, Kind] = ("text", "session")


class RootFile(NamedTuple):
    """A file of a root.

    Attributes:
        path: relative to the root, with forward slashes; may begin with ``../``. Invalid UTF-8 bytes are ``\\xHH``.
        real: path to open, links resolved.
        size: size in bytes.
        mtime_ns: modification time, nanoseconds since 1970.
        kind: ``text``, or ``session`` for a transcript.
    """

    path: str
    real: str
    size: int
    mtime_ns: int
    kind: Kind


#: Makes a file of its values, without a Python call.
_AS_FILE: Callable[[tuple[str, str, int, int, Kind]], RootFile] = partial(tuple.__new__, RootFile)


class Skipped(NamedTuple):
    """A path that a scan skipped or could not read.

    Attributes:
        path: as in `RootFile`; empty for the root itself. For a missing item of ``paths``, that item.
        reason: a key of `REASONS`. Chunks of files below an ``unreadable`` path must stay.
        detail: error of the system, or the path of the file that a duplicate equals.
    """

    path: str
    reason: str
    detail: str = ""

    @property
    def text(self) -> str:
        """The reason as shown in reports."""
        return self.detail if self.reason == "unread" else self.reason


class Scan(NamedTuple):
    """The files of a root in reading order, and the skipped paths.

    Attributes:
        missing: True if the root does not exist.
        others: number of files skipped for their suffix alone, by suffix.
    """

    files: list[RootFile]
    skipped: list[Skipped]
    missing: bool = False
    others: Mapping[str, int] = {}


class Place(NamedTuple):
    """A folder or file to scan.

    Attributes:
        shown: its path relative to the root; empty for the root itself.
        real: absolute path, links in its parents resolved.
        tree: rules for its files, a key of `TREES`.
        pattern: glob that its files must match, or None.
    """

    shown: str
    real: str
    tree: str
    pattern: str | None = None


def scan(root: Root) -> Scan:
    """List the files of a root with size and time; only ignore files are opened, and errors do not end the scan.

    Layout ``folder``: texts (`ENDINGS`) and transcripts in path order, without hidden ones and those excluded by
    .gitignore and .septetignore. Layout ``memory``: MEMORY.md, memory.md, USER.md, then ``memory/**/*.md``, including
    hidden ones and node_modules, without those excluded by .septetignore. Then ``paths`` in order, with transcripts in
    their folders. A file with several paths is listed once, by the first.
    """
    try:
        about = os.stat(root.path)
    except (FileNotFoundError, NotADirectoryError):
        return Scan([], [], missing=True)
    except OSError as fault:
        return Scan([], [Skipped("", "unreadable", _cause(fault))])
    search = _Search(root)
    if stat.S_ISDIR(about.st_mode):
        search.look(Place("", root.path, root.layout))
    else:
        search.file(Place(os.path.basename(root.path), root.path, "folder"))
    for extra in root.paths:
        search.extra(extra)
    return Scan(search.files, search.skipped, others=search.others())


def file_at(root: Root, path: str) -> RootFile | None:
    """Return a file of a root as listed by `scan`; None if it is not listed or does not exist.

    Only the folders on its path are read, but with ``follow_symlinks`` the whole root.

    Args:
        path: relative to the root with forward slashes, as in `RootFile`, or absolute.
    """
    return _look_at(root, path)[0]


def unknown_at(root: Root, path: str) -> Skipped | None:
    """Return why a file not returned by `file_at` may still exist; None if it is deleted or excluded.

    Args:
        path: as for `file_at`.
    """
    file, skipped = _look_at(root, path)
    unknown = (entry for entry in skipped if entry.reason in roots.UNKNOWN and file is None)
    return next((entry for entry in unknown if below(path, entry.path) or not entry.path), None)


def _look_at(root: Root, path: str) -> tuple[RootFile | None, list[Skipped]]:
    """Return a file of a root, and the paths skipped on the way to it."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return None, []
    if "\0" in path:
        return None, []
    is_folder = os.path.isdir(root.path)
    base = root.path if is_folder else os.path.dirname(root.path)
    # ``\xHH`` may be an escape or part of the name.
    reals = dict.fromkeys(resolved(os.path.join(base, host.native(text))) for text in (path, unescaped(path)))
    if root.follow_symlinks:
        seen = scan(root)
        return next((file for file in seen.files if file.path == path or file.real in reals), None), seen.skipped
    skipped: list[Skipped] = []
    for real in reals:
        search = _Search(root, real)
        if is_folder and below(real, root.path):
            search.look(Place("", root.path, root.layout))
        elif real == root.path:
            search.file(Place(os.path.basename(real), real, "folder"))
        for extra in root.paths:
            if not search.files:
                search.extra(extra)
        skipped += search.skipped
        if search.files:
            return search.files[0], skipped
    return None, skipped


def places(root: Root) -> list[str]:
    """Return the absolute paths of the folders and files of a root, without the targets of links."""
    return list(dict.fromkeys((root.path, *(_place_of(root, extra).real for extra in root.paths))))


def path_in(root: Root, path: str) -> str | None:
    """Return an absolute path, links in its parents resolved, relative to a root; None if it is outside."""
    if path == root.path:
        return os.path.basename(path)
    if below(path, root.path):
        return host.slashed(path[len(root.path.rstrip(os.sep)) + 1 :])
    for extra in root.paths:
        place = _place_of(root, extra)
        if below(path, place.real):
            inside = host.slashed(path[len(place.real) :].strip(os.sep))
            return _naming(root, place)(inside)
    return None


class _Search:
    """A running scan; with ``only``, it lists only this real path."""

    def __init__(self, root: Root, only: str | None = None) -> None:
        self._root, self._only = root, only
        self.files: list[RootFile] = []
        self.skipped: list[Skipped] = []
        #: Paths of listed files by real path, and the set of them.
        self._seen: dict[str, str] = {}
        self._shown: set[str] = set()
        #: Real paths of scanned folders, to detect links to them.
        self._read: set[str] = set()
        #: Number of files skipped for their suffix, by place and pattern.
        self._others: dict[tuple[str, str | None], Mapping[str, int]] = {}
        #: Number of files that need a missing package, by suffix; the suffixes of such files.
        self._without_reader: Counter[str] = Counter()
        self._unread: tuple[str, ...] | None = None

    def look(self, place: Place) -> int:
        """Scan a folder and the links below it; return the number of files and links."""
        within: Sequence[str] = roots.TOPS if place.tree == "memory" else ()
        if self._only is not None:
            inside = host.relative(self._only, place.real)
            if within and not is_memory_path(inside):
                return 0
            within = [inside]
        root, native = self._root, host.native
        files, links, folders, problems, others = walk_folder(
            place.real,
            prefix=place.shown,
            within=within,
            include=root.include,
            exclude=root.exclude,
            pattern=place.pattern,
            **roots.TREES[place.tree],
        )
        # In the layout ``memory`` only this folder of the root is walked.
        walked = os.path.join(place.real, MEMORIES) if place.tree == "memory" else place.real
        self._others[walked, place.pattern] = others
        if place.tree == "memory":
            # Curated files come first.
            files.sort(key=lambda file: roots.TOPS.index(file[0].partition("/")[0]))
        shown, ahead = _naming(root, place), place.real.rstrip(os.sep) + os.sep
        apart = self._seen or self._only is not None or root.paths or root.follow_symlinks
        special = [file for file in files if file[1] or file[0].lower().endswith(_EXTRACTED)]
        if apart or special:
            for path, raw, size, mtime_ns, session in files:
                real = ahead + (raw or native(path))
                self._take(RootFile(shown(path), real, size, mtime_ns, _KINDS[session]))
        else:
            # Fast path: no file can be listed twice.
            self.files += [
                # `native`, inlined: a call for each file.
                _AS_FILE((path, ahead + path.replace("/", os.sep), size, mtime_ns, _KINDS[session]))
                for path, _, size, mtime_ns, session in files
            ]
        self.skipped += [Skipped(shown(path), *why) for path, *why in problems]
        if root.follow_symlinks:
            self._read.update(ahead + (raw or native(path)) if path else place.real for path, raw in folders)
        for path, raw in links:
            self._link(shown(path), ahead + (raw or native(path)), "memories" if place.tree == "memory" else place.tree)
        return len(files) + len(links)

    def others(self) -> dict[str, int]:
        """Return the number of files skipped for their suffix, by suffix; nested places are counted once."""
        if not self._without_reader and not any(self._others.values()):
            return {}
        whole = [place for place, pattern in self._others if pattern is None]
        outermost = (
            counts
            for (place, pattern), counts in self._others.items()
            if not any(below(place, other) and (pattern is not None or place != other) for other in whole)
        )
        return roots.kinds_merged([self._without_reader, *outermost])

    def extra(self, item: str) -> None:
        """Scan an item of ``paths``: a file, a folder or a glob."""
        place = _place_of(self._root, item)
        if self._only is not None and not below(self._only, place.real):
            return
        try:
            mode = os.lstat(place.real).st_mode
        except (FileNotFoundError, NotADirectoryError):
            self.skipped.append(Skipped(item, "missing"))
        except OSError as fault:
            self.skipped.append(Skipped(place.shown, "unreadable", _cause(fault)))
        else:
            if stat.S_ISLNK(mode):
                self._link(place.shown, place.real, place.tree)
            elif not stat.S_ISDIR(mode):
                self.file(place)
            elif not self.look(place) and place.pattern is not None:
                self.skipped.append(Skipped(item, "missing"))

    def file(self, place: Place) -> None:
        """Add a file named explicitly, regardless of ignore files; a root may have any suffix."""
        folder, name = os.path.split(place.real)
        rules = {**roots.TREES[place.tree], "ignore_files": (), "hidden": True}
        if place.real == self._root.path:
            rules["endings"] = ()
        elif not (roots.is_session(name) or roots.ends(name, rules["endings"], any_case=rules["any_case"])):
            self.skipped.append(Skipped(place.shown, "ending"))
            return
        shown, root = place.shown, self._root
        ahead = os.path.dirname(shown)
        files, _, _, problems, _ = walk_folder(
            folder, prefix=ahead, within=[name], include=root.include, exclude=root.exclude, **rules
        )
        for _, _, size, mtime_ns, session in files:
            self._take(RootFile(shown, place.real, size, mtime_ns, _KINDS[session]))
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
            why = ("broken_symlink",) if broken else ("unreadable", _cause(fault))
            self.skipped.append(Skipped(shown, *why))
            return
        if stat.S_ISREG(about.st_mode):
            rules = roots.TREES[tree]
            is_session = roots.is_session(shown) and rules["sessions"]
            if is_session or roots.ends(shown, rules["endings"], any_case=rules["any_case"]):
                self._take(RootFile(shown, real, about.st_size, mtime_ns_of(about), _KINDS[is_session]))
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

    def _take(self, file: RootFile) -> None:
        first = self._seen.get(file.real)
        if first is None and file.path not in self._shown:
            self._seen[file.real] = file.path
            self._shown.add(file.path)
            if self._only is not None and file.real != self._only:
                return
            ending = roots.extracted_ending(file.path)
            if ending is not None and self._unread is None:
                self._unread = roots.unread_endings()
            if ending is None or ending not in (self._unread or ()):
                self.files.append(file)
                return
            self.skipped.append(Skipped(file.path, "unread", f"needs {roots.EXTRACTED[ending]}: {roots.FILES_EXTRA}"))
            self._without_reader[ending[1:]] += 1
        elif first != file.path:
            # The same file by another path, or a path equal to another one after escaping.
            self.skipped.append(Skipped(file.path, "duplicate", first or file.path))


def _place_of(root: Root, item: str) -> Place:
    """Return the place of an item of ``paths``."""
    base = root.path if os.path.isdir(root.path) else os.path.dirname(root.path)
    path = os.path.normpath(os.path.join(base, os.path.expanduser(item)))
    pattern = None
    if _MAGIC.search(path) and not os.path.lexists(path):
        parts = path.split(os.sep)
        fixed = next(i for i, part in enumerate(parts) if _MAGIC.search(part))
        path, pattern = os.sep.join(parts[:fixed]) or os.sep, "/" + "/".join(parts[fixed:])
    shown = host.relative(path, base)
    tree = "folder" if root.layout == "folder" else "extra"
    return Place("" if shown == "." else shown, resolved(path), tree, pattern)


def _naming(root: Root, place: Place) -> Callable[[str], str]:
    """Return a function from paths relative to a folder to paths relative to the root."""
    if place.real != root.path and below(root.path, place.real):
        # The folder contains the root: paths in the root stay relative to it.
        inside = host.relative(root.path, place.real) + "/"
        ahead = place.shown + "/"
        return lambda path: path[len(inside) :] if f"{path}/".startswith(inside) else f"{ahead}{path}".rstrip("/")
    if place.shown:
        return lambda path: f"{place.shown}/{path}" if path else place.shown
    return lambda path: path


def _cause(fault: OSError) -> str:
    return fault.strerror or str(fault)
