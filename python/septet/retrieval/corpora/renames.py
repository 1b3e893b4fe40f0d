"""Contracts of names: the replacements of retired names, from a dict or a JSON file of a repository."""

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

#: Retired names with the canonical ones, or a JSON file of these.
ContractLike: TypeAlias = "Mapping[str, str] | str | os.PathLike[str]"
MOST_BYTES, MOST_NAMES, MOST_NAME_CHARS, MOST_DEPTH = 4 << 20, 10_000, 256, 8
#: Minimum nearness of a hit, as documented.
LEAST = 0.65
_RETIRED = ("retired", "old", "from", "deprecated", "was")
_CANONICAL = ("canonical", "new", "to", "replacement", "now", "target")


class Renamed(NamedTuple):
    """A renamed name.

    Attributes:
        retired: the old name.
        canonical: the current name.
        nearness: similarity of the query to the old name, 0 to 1.
    """

    retired: str
    canonical: str
    nearness: float


class Renames:
    """Retired names and the canonical ones; a changed file is read again.

    A file contains an object of names, or objects with ``retired`` and ``canonical`` (also ``old`` and ``new``,
    ``from`` and ``to``), in lists and objects up to eight levels deep. At most 10,000 names and 4 MiB.

    Args:
        contract: the names, or the file.
        root: base of a relative path.

    Raises:
        QueryError: the contract is neither.
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
        """Return the names similar to the whole query, nearest first, above a nearness of 0.65.

        Nearness is 1 if either contains the other (three characters or more), else 1 - Levenshtein distance / length of
        the longer, ignoring case.
        """
        if self.path is not None:
            self._look(self.path)
        names, sought = self._names, " ".join(query.lower().split())
        if not sought or not names:
            return []
        scores = proximities(sought, [name.lower() for name in names])
        near = [Renamed(*pair, score) for pair, score in zip(names.items(), scores) if score > LEAST]
        return sorted(near, key=lambda renamed: -renamed.nearness)

    def _look(self, path: str) -> None:
        try:
            about = os.stat(path)  # noqa: PTH116 - text
            seen = (about.st_size, about.st_mtime_ns)
            if seen == self._seen:
                return
            if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
                raise ValueError(f"it is not a file, or larger than {MOST_BYTES:,} bytes")
            with open_file(os.path.realpath(path)) as file:
                names = dict(_pairs(json.loads(decoded(file.read(MOST_BYTES))[0]), 0))
        except (OSError, ValueError, RecursionError) as fault:
            self.fault = f"{path} cannot be read as names: {fault}"
            return
        self._names, self._seen, self.fault = names, seen, None


def _pairs(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield at most `MOST_NAMES` names of a value."""
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
