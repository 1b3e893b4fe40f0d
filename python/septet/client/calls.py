"""The calls of a client: one definition of its methods, for threads and event loops."""

from __future__ import annotations

from septet.client.reading import Reads
from septet.client.writing import Writes

__all__ = ["Calls"]


class Calls(Reads, Writes):
    """The steps of all methods of a client."""
