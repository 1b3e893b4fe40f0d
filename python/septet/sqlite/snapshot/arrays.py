"""The kinds of arrays that snapshots are made of. ``s`` counts slots, ``v`` vectors, ``d`` dimensions."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core

__all__ = ["Mask", "Pieces", "Positions", "Slots"]

#: Slots, or rows of the store: both are whole numbers.
Slots: TypeAlias = NDArray[np.int64]
#: The position of each slot's vector ``(s,)``, -1 where it has none.
Positions: TypeAlias = NDArray[np.int32]
#: One flag per slot ``(s,)`` or per vector ``(v,)``.
Mask: TypeAlias = NDArray[np.bool_]
#: Rows ``(v, d)``: the first ones, in memory or in a file, and those that were added since.
Pieces: TypeAlias = tuple[NDArray[np.float32] | _core.FileRows, NDArray[np.float32]]
