"""Contracts of names: which name a retired one was replaced by, as a dict or a JSON file of a repository says."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from septet._core import proximities
from septet.errors import QueryError
from septet.files.steady import decoded, open_file
from septet.inputs.arguments import file_path, shown

__all__ = ["ContractLike", "Renamed", "Renames"]

#: Retired names with the canonical ones, or a file that has them.
ContractLike: TypeAlias = "Mapping[str, str] | str | os.PathLike[str]"
MOST_BYTES, MOST_NAMES, MOST_NAME_CHARS, MOST_DEPTH = 4 << 20, 10_000, 256, 8
#: As documented: what is less near is no hit.
LEAST = 0.65
_RETIRED = ("retired", "old", "from", "deprecated", "was")
_CANONICAL = ("canonical", "new", "to", "replacement", "now", "target")


class Renamed(NamedTuple):
    """A name that was replaced.

    Attributes:
        retired: the old one.
        canonical: the one to use.
        nearness: how near the query is to the old one, 0 to 1.
    """

    retired: str
    canonical: str
    nearness: float


class Renames:
    """Retired names and the canonical ones; a file is read again when it changes.

    A file holds an object of names, or objects with ``retired`` and ``canonical`` (also ``old`` and ``new``, ``from``
    and ``to``), in lists and objects as deep as eight levels. At most 10,000 names and 4 MiB.

    Args:
        contract: the names, or the file.
        root: where a path that is not absolute begins.

    Raises:
        QueryError: it is none of these.
    """

    def __init__(self, contract: ContractLike, root: str = "") -> None:
        self.path: str | None = None
        self.fault: str | None = None
        self._names: dict[str, str] = {}
        self._seen: tuple[int, int] | None = None
        if isinstance(contract, Mapping):
            self._names = dict(_pairs(contract, 0))
        elif isinstance(contract, (str, os.PathLike)):
            self.path = os.path.join(root, file_path(contract, "contract", QueryError))  # noqa: PTH118 - text
        else:
            raise QueryError(f"contract is {shown(contract)}: wanted a dict of names, or a JSON file")

    def near(self, query: str) -> list[Renamed]:
        """Return the names that a query is near to, as a whole, the nearest first: above 0.65.

        Nearness is 1 where either holds the other (three characters or more), else 1 - Levenshtein distance / length of
        the longer; letters count in any case.
        """
        if self.path is not None:
            self._look(self.path)
        names, sought = self._names, " ".join(query.lower().split())
        if not sought or not names:
            return []
        found = proximities(sought, [name.lower() for name in names])
        near = [Renamed(*pair, one) for pair, one in zip(names.items(), found) if one > LEAST]
        return sorted(near, key=lambda one: -one.nearness)

    def _look(self, path: str) -> None:
        try:
            about = os.stat(path)  # noqa: PTH116 - text
            seen = (about.st_size, about.st_mtime_ns)
            if seen == self._seen:
                return
            if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
                raise ValueError(f"it is no file, or larger than {MOST_BYTES:,} bytes")
            with open_file(os.path.realpath(path)) as file:
                names = dict(_pairs(json.loads(decoded(file.read(MOST_BYTES))[0]), 0))
        except (OSError, ValueError, RecursionError) as fault:
            self.fault = f"{path} cannot be read as names: {fault}"
            return
        self._names, self._seen, self.fault = names, seen, None


def _pairs(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the names in a value, at most so many."""
    for number, pair in enumerate(_all_pairs(value, depth)):
        if number == MOST_NAMES:
            return
        if all(0 < len(name.strip()) <= MOST_NAME_CHARS for name in pair):
            yield pair


def _all_pairs(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        retired = next((value[name] for name in _RETIRED if isinstance(value.get(name), (str, list))), None)
        canonical = next((value[name] for name in _CANONICAL if isinstance(value.get(name), str)), None)
        if retired is not None and canonical is not None:
            each = [retired] if isinstance(retired, str) else retired
            yield from ((name, canonical) for name in each if isinstance(name, str))
            return
        for name, inner in value.items():
            if isinstance(name, str) and isinstance(inner, str):
                yield name, inner
            else:
                yield from _all_pairs(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _all_pairs(inner, depth + 1)
