"""Array types of snapshots. ``s`` counts slots, ``v`` vectors, ``d`` dimensions."""

from __future__ import annotations

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
