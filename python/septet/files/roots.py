"""Root: a folder or file followed by a vault; the selection of its files by name, and their paths."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, cast

from septet._core import check_globs
from septet.errors import EntryError
from septet.inputs.arguments import absolute, as_text, cut, file_path, flag, listed, shown, utf8

Layout = Literal["folder", "memory"]
LAYOUTS: tuple[Layout, ...] = ("folder", "memory")
#: Files of the layout ``memory`` in the root itself, in reading order.
CURATED = ("MEMORY.md", "memory.md", "USER.md")
#: The folder of that layout.
MEMORIES = "memory"
#: Maximum globs of a kind, and extra paths, of a root.
MOST_GLOBS = 1_000
#: Maximum characters of a glob, a path or a name.
MOST_CHARS = 4_096
#: Default name of a root whose path has no last part.
NAMELESS = "root"


class Root(NamedTuple):
    """A folder or file followed by a vault; `root_at` makes a checked one.

    Attributes:
        path: absolute path, links resolved.
        name: the ``source`` of its chunks.
        layout: ``folder`` for all texts below it, or ``memory`` for the documented files of an agent's workspace.
        paths: extra files, folders and globs, relative to the root or absolute; they may be outside.
        include: globs as in .gitignore; if there are any, only matching files are read.
        exclude: globs of files and folders to skip.
        follow_symlinks: True to follow symbolic links.
    """

    path: str
    name: str
    layout: Layout = "folder"
    paths: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    follow_symlinks: bool = False

    def to_json(self) -> str:
        """Return the options (all but path and name) as a JSON object with sorted keys."""
        return json.dumps(self._options(), ensure_ascii=False, sort_keys=True)

    @staticmethod
    @lru_cache(64)
    def from_json(path: str, name: str, text: str) -> Root:
        """Return a root from the options written by `to_json`; unknown ones are ignored.

        Raises:
            EntryError: invalid options.
        """
        try:
            options = json.loads(text)
        except ValueError as fault:
            problem = f"are not JSON ({cut(str(fault))}): sync it again"
            raise EntryError(f"the options of root {shown(path)} {problem}") from None
        if not isinstance(options, dict):
            raise EntryError(f"the options of root {shown(path)} are {shown(options)}: wanted a JSON object")
        return _checked(path, name, {key: options[key] for key in _OPTIONS if key in options})

    def changed(self, **options: Any) -> Root:
        """Return this root with other options, checked; options that are None stay.

        Raises:
            EntryError: an invalid option; the message names it.
        """
        changes = {key: value for key, value in options.items() if value is not None}
        if unknown := changes.keys() - {"name", *_OPTIONS}:
            raise EntryError(f"a root has no option {min(unknown)}: it has name, {', '.join(_OPTIONS)}")
        return _checked(self.path, changes.pop("name", self.name), {**self._options(), **changes})

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OPTIONS}


_OPTIONS = Root._fields[2:]


def root_at(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    layout: Layout = "folder",
    paths: Iterable[str] = (),
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    follow_symlinks: bool = False,
) -> Root:
    """Return a checked root; it need not exist.

    Args:
        path: the folder or file; ``~`` is the home folder. It is made absolute, with links resolved.
        name: None for the last part of the path.
        layout: see `Root`, as for the others.
        paths: surrounding blanks are stripped; empty and repeated ones are dropped.
        include: a single text is a list of one, here and in the other lists.
        exclude: see `Root`.
        follow_symlinks: see `Root`.

    Raises:
        EntryError: an invalid argument; the message names it.
        StoreError: the path is relative, and the working directory was deleted.
    """
    real = real_path(path)
    options = dict(zip(_OPTIONS, (layout, paths, include, exclude, follow_symlinks)))
    return _checked(real, os.path.basename(real) or NAMELESS if name is None else name, options)


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a root, absolute with links resolved; ``~`` is the home folder.

    Raises:
        EntryError: it is not a path.
        StoreError: it is relative, and the working directory was deleted.
    """
    expanded = os.path.expanduser(file_path(path, "root", EntryError))
    return utf8(os.path.realpath(absolute(expanded)), "root", EntryError)


def is_memory_path(path: str) -> bool:
    """Return True if a relative path belongs to the layout ``memory``: a curated file, or one below ``memory/``.

    Args:
        path: with forward slashes; a leading ``./`` is ignored.
    """
    while path.startswith("./"):
        path = path[2:]
    first, slash, rest = path.partition("/")
    if not slash:
        return path in CURATED
    return first == MEMORIES and bool(rest) and ".." not in rest.split("/")


def _checked(path: str, name: Any, options: dict[str, Any]) -> Root:
    layout = options.get("layout", LAYOUTS[0])
    if not isinstance(layout, str) or str.__str__(layout) not in LAYOUTS:
        raise EntryError(f"layout is {shown(layout)}: wanted {' or '.join(map(repr, LAYOUTS))}")
    flag(follow := options.get("follow_symlinks", False), "follow_symlinks", EntryError)
    if not utf8(name, "name", EntryError, MOST_CHARS).strip():
        raise EntryError(f"name is {shown(name)}: wanted the source of its chunks, such as 'notes'")
    paths = dict.fromkeys(text.strip() for text in _texts(options.get("paths", ()), "paths"))
    paths.pop("", None)
    for text in paths:
        file_path(text, "a path in paths", EntryError)
    return Root(
        path,
        str.__str__(name).strip(),
        cast("Layout", str.__str__(layout)),
        tuple(paths),
        _globs(options.get("include", ()), "include"),
        _globs(options.get("exclude", ()), "exclude"),
        follow,
    )


def _texts(values: object, name: str) -> list[str]:
    values = [values] if isinstance(values, (str, os.PathLike)) else values
    texts = listed(values, name, EntryError, "a list of texts", MOST_GLOBS)
    return [utf8(as_text(value), f"a text in {name}", EntryError, MOST_CHARS) for value in texts]


def _globs(values: object, name: str) -> tuple[str, ...]:
    globs = _texts(values, name)
    try:
        check_globs(globs)
    except ValueError as fault:
        raise EntryError(f"{name} has an invalid glob: {cut(str(fault))}") from None
    return tuple(globs)


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


def kinds_merged(counts: Iterable[Mapping[str, int]], most: int = MOST_KINDS) -> dict[str, int]:
    """Return the number of files by suffix, most frequent first; rare suffixes, and none, are `OTHER`."""
    sums = sum(map(Counter, counts), Counter[str]())
    rest = sums.pop("", 0) + sums.pop(OTHER, 0)
    first = sorted(sums.items(), key=lambda kind: (-kind[1], kind[0]))
    rest += sum(number for _, number in first[most:])
    return {**dict(first[:most]), **({OTHER: rest} if rest else {})}


def kinds_text(kinds: Mapping[str, int]) -> str:
    """Return the numbers of files by kind as text, and the command that lets more be read."""
    listed = ", ".join(f"{number:,} {kind}" for kind, number in kinds_merged([kinds], SHOWN_KINDS).items())
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


_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")


def resolved(path: str) -> str:
    """Return a path with symbolic links resolved in its parents only."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name) if name else folder


def below(path: str, folder: str) -> bool:
    """Return True if an absolute path is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def within(path: str, places: Set[str]) -> bool:
    """Return True if a relative path equals or is below one of others; the empty path is the root."""
    while path and path not in places:
        path = path.rpartition("/")[0]
    return path in places


def unescaped(path: str) -> str:
    """Return the path of an escaped `Found.path`; the path itself where names are not bytes, as on Windows."""
    try:
        return os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(path)))
    except UnicodeDecodeError:
        return path
