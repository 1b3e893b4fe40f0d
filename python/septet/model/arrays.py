"""Array types of snapshots, and numbered names. ``s`` counts slots, ``v`` vectors, ``d`` dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core

#: Slots, or rows of the store.
Slots: TypeAlias = NDArray[np.int64]
#: Position of each slot's vector ``(s,)``, -1 without one.
Positions: TypeAlias = NDArray[np.int32]
#: One flag per slot ``(s,)`` or per vector ``(v,)``.
Mask: TypeAlias = NDArray[np.bool_]
#: Rows ``(v, d)``: base rows, in memory or in a file, and rows added later.
Pieces: TypeAlias = tuple[NDArray[np.float32] | _core.FileRows, NDArray[np.float32]]


class NameTable:
    """Numbered texts, in order of first use. Append-only, so successive snapshots share it."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        #: The names in the form that native searches read.
        self.native = _core.NameTable()
        self.native.extend(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def numbers(self, names: Iterable[str]) -> list[int]:
        """Return the number of each text; add unknown texts."""
        known, names = self._numbers, list(names)
        for name in dict.fromkeys(names):
            if name not in known:
                known[name] = len(self.names)
                self.names.append(name)
                self.native.extend([name])
        return [known[name] for name in names]
