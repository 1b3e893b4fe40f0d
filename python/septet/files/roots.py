"""Root: a folder or file followed by a vault, and the selection of its files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
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
        options = {name: getattr(self, name) for name in _OPTIONS}
        return json.dumps(options, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, path: str, name: str, text: str) -> Root:
        """Return a root from the options written by `to_json`; unknown ones are ignored.

        Raises:
            EntryError: invalid options.
        """
        try:
            options = json.loads(text)
        except ValueError as fault:
            raise EntryError(
                f"the options of root {shown(path)} are not JSON ({cut(str(fault))}): sync it again"
            ) from None
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
    expanded = os.path.expanduser(file_path(path, "root", EntryError))
    real = utf8(os.path.realpath(absolute(expanded)), "root", EntryError)
    options = {
        "layout": layout,
        "paths": paths,
        "include": include,
        "exclude": exclude,
        "follow_symlinks": follow_symlinks,
    }
    return _checked(real, os.path.basename(real) or NAMELESS if name is None else name, options)


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
