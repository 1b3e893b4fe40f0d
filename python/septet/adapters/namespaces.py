"""Namespaces of LangGraph as kinds of entries, and back: ``("users", "ada")`` is the kind ``item/users/ada``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from urllib.parse import unquote

from septet.model.entry import MAX_ID_CHARS

__all__ = ["ROOT", "id_of", "kind_of", "listed_namespaces", "matches", "namespace_of"]

ROOT = "item"
#: What separates labels, what stands for others, and what an id may not hold.
_WRITTEN_OUT = re.compile(r"[%/\x00-\x1f\x7f-\x9f]")


def kind_of(namespace: Sequence[str]) -> str:
    """Return the kind of a namespace: no two have the same."""
    return "/".join([ROOT, *map(_written, namespace)])


def namespace_of(kind: str) -> tuple[str, ...] | None:
    """Return the namespace of a kind; None for other kinds."""
    root, *labels = kind.split("/")
    return tuple(map(unquote, labels)) if root == ROOT and labels else None


def id_of(namespace: Sequence[str], key: str) -> str:
    """Return the id of an item: no two have the same; one that would be too long is a digest."""
    whole = f"{kind_of(namespace)}/{_written(key)}"
    # A whole one has a slash.
    return whole if len(whole) <= MAX_ID_CHARS else f"{ROOT}-{sha256(whole.encode()).hexdigest()}"


def matches(namespace: Sequence[str], how: str, path: Sequence[str]) -> bool:
    """Say whether a namespace begins (``prefix``) or ends (``suffix``) with a path, in which ``*`` is any label."""
    part = namespace[: len(path)] if how == "prefix" else namespace[max(0, len(namespace) - len(path)) :]
    return len(part) == len(path) and all(wanted in ("*", label) for wanted, label in zip(path, part))


def listed_namespaces(found: Iterable[tuple[str, ...]], depth: int | None) -> list[tuple[str, ...]]:
    """Return namespaces in order, each once, cut to a depth."""
    return sorted({one if depth is None else one[:depth] for one in found})


def _written(label: str) -> str:
    return _WRITTEN_OUT.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), label)
