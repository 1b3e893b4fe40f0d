"""Paths as the system has them."""

from __future__ import annotations

import os
import re
from collections.abc import Set

__all__ = ["below", "can_be", "resolved", "unescaped", "within"]

_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")


def resolved(path: str) -> str:
    """Return a path with the links above it resolved, but not itself."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name) if name else folder


def below(path: str, folder: str) -> bool:
    """Say whether an absolute path is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def within(path: str, places: Set[str]) -> bool:
    """Say whether a path below a root is one of others, or below one; the empty one is the root itself."""
    while path and path not in places:
        path = path.rpartition("/")[0]
    return path in places


def can_be(path: str) -> bool:
    """Say whether the system's names can hold a text."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def unescaped(path: str) -> str:
    """Return the path that `Found.path` shows with escapes."""
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(path)))
