"""What a client can ask: the one definition of its methods, for threads and for loops."""

from __future__ import annotations

from septet.client.reading import Reads
from septet.client.writing import Writes

__all__ = ["Calls"]


class Calls(Reads, Writes):
    """The steps of all methods of a client."""
