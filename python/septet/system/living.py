"""Objects as long as they live, for several threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar
from weakref import ref

Item = TypeVar("Item")


class Living(Generic[Item]):
    """Objects by identity until they die. Threads may enlist, discard and iterate at the same time.

    An iteration over a `weakref.WeakSet` fails if another thread adds an object.
    """

    def __init__(self) -> None:
        # Each method is one operation of this dict, which no other thread interrupts.
        self._references: dict[int, ref[Item]] = {}

    def enlist(self, item: Item) -> None:
        """Add an object, without keeping it alive."""
        key, references = id(item), self._references
        # Python calls it before the memory, and so the key, may belong to another object.
        references[key] = ref(item, lambda _: references.pop(key, None))

    def discard(self, item: Item) -> bool:
        """Remove an object; return False if it was not there."""
        return self._references.pop(id(item), None) is not None

    def __iter__(self) -> Iterator[Item]:
        for reference in list(self._references.values()):
            if (item := reference()) is not None:
                yield item

    def __len__(self) -> int:
        return len(self._references)
