"""Root: a folder, or one file, that a vault keeps in step with, and which of its files count."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, cast

from septet._core import check_globs
from septet.errors import EntryError
from septet.inputs.arguments import absolute, as_text, cut, file_path, flag, listed, shown, utf8

__all__ = ["CURATED", "LAYOUTS", "MOST_GLOBS", "Layout", "Root", "is_memory_path", "root_at"]

Layout = Literal["folder", "memory"]
LAYOUTS: tuple[Layout, ...] = ("folder", "memory")
#: Files in the layout ``memory`` that stand in the root itself, in the order they are read.
CURATED = ("MEMORY.md", "memory.md", "USER.md")
#: The folder of that layout.
MEMORIES = "memory"
#: A root takes so many globs of a sort, and extra paths.
MOST_GLOBS = 1_000
#: Characters of a glob, a path or a name.
MOST_CHARS = 4_096
#: What a name of a root says where its path has no last part.
NAMELESS = "root"


class Root(NamedTuple):
    """A folder, or one file, that a vault keeps in step with; `root_at` checks what callers give.

    Attributes:
        path: absolute, links resolved.
        name: what its chunks have as ``source``.
        layout: ``folder``, all texts below it, or ``memory``, the documented files of an agent's workspace.
        paths: more files, folders and globs, seen from the root or absolute; they may lie outside.
        include: globs as in .gitignore; files that match none of them are left out, unless there are none.
        exclude: globs of files and folders to leave out.
        follow_symlinks: look at what links below it lead to.
    """

    path: str
    name: str
    layout: Layout = "folder"
    paths: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    follow_symlinks: bool = False

    def to_json(self) -> str:
        """Return all but the path and the name as the text of a JSON object, keys in order."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        return json.dumps(options, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, path: str, name: str, text: str) -> Root:
        """Return the root whose options `to_json` wrote; what it does not know is left out.

        Raises:
            EntryError: the text is none of a root's.
        """
        try:
            options = json.loads(text)
        except ValueError as fault:
            raise EntryError(
                f"the options of root {shown(path)} are no JSON ({cut(str(fault))}): sync it anew"
            ) from None
        if not isinstance(options, dict):
            raise EntryError(f"the options of root {shown(path)} are {shown(options)}: wanted a JSON object")
        return _checked(path, name, {key: options[key] for key in _OPTIONS if key in options})

    def changed(self, **options: Any) -> Root:
        """Return this root with other options, checked; those that are None stay.

        Raises:
            EntryError: an option does not fit; the message names it.
        """
        given = {key: value for key, value in options.items() if value is not None}
        if unknown := given.keys() - {"name", *_OPTIONS}:
            raise EntryError(f"a root has no option {min(unknown)}: it has name, {', '.join(_OPTIONS)}")
        return _checked(self.path, given.pop("name", self.name), {**self._options(), **given})

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
        path: the folder or file; ``~`` is the user's own folder. It is made absolute, and links in it are resolved.
        name: None takes the last part of the path.
        layout: see `Root`, as for the others.
        paths: blanks around them do not count, and neither do empty or repeated ones.
        include: a text stands for a list of one, here and for the other lists.
        exclude: as above.
        follow_symlinks: as above.

    Raises:
        EntryError: an argument does not fit; the message names it.
        StoreError: the path is relative, and the working directory was deleted.
    """
    given = os.path.expanduser(file_path(path, "root", EntryError))
    real = utf8(os.path.realpath(absolute(given)), "root", EntryError)
    options = {
        "layout": layout,
        "paths": paths,
        "include": include,
        "exclude": exclude,
        "follow_symlinks": follow_symlinks,
    }
    return _checked(real, os.path.basename(real) or NAMELESS if name is None else name, options)


def is_memory_path(path: str) -> bool:
    """Say whether a path below a root is one of the layout ``memory``: a curated file, or below ``memory/``.

    Args:
        path: with forward slashes; one that begins with ``./`` is taken without it.
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
        raise EntryError(f"name is {shown(name)}: wanted what its chunks have as source, such as 'notes'")
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
    found = listed(values, name, EntryError, "a list of texts", MOST_GLOBS)
    return [utf8(as_text(value), f"a text in {name}", EntryError, MOST_CHARS) for value in found]


def _globs(values: object, name: str) -> tuple[str, ...]:
    globs = _texts(values, name)
    try:
        check_globs(globs)
    except ValueError as fault:
        raise EntryError(f"{name} has one that cannot be read: {cut(str(fault))}") from None
    return tuple(globs)
