"""Path helpers."""

from __future__ import annotations

import os
import re
from collections.abc import Set

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


def can_be(path: str) -> bool:
    """Return True if a text can be encoded as a file name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def unescaped(path: str) -> str:
    """Return the path of an escaped `Found.path`."""
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(path)))
