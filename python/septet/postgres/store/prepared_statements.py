"""PreparedStatements: which statements a connection keeps planned on its server, as they are asked again and again."""

from __future__ import annotations

import secrets
from typing import NamedTuple, TypeAlias

#: A statement, and the types of its parameters.
Asked: TypeAlias = "tuple[bytes, tuple[int, ...]]"


class _Name(NamedTuple):
    """The name of a statement on the server.

    Attributes:
        name: None where it is not prepared.
        new: it is to be prepared first.
        gone: the one that has to make room for it.
    """

    name: bytes | None
    new: bool = False
    gone: bytes | None = None


_NOT_PREPARED = _Name(None)


class PreparedStatements:
    """The prepared statements of one connection, which ends with the first one that the server did not take."""

    def __init__(self) -> None:
        # The one that was asked last is at the end of each.
        self._names: dict[Asked, bytes] = {}
        self._times: dict[Asked, int] = {}
        self._made = 0
        # A pooler may lead several clients to one server: a name is of this connection alone.
        self._named = secrets.token_hex(4)

    @property
    def kept(self) -> int:
        """The number of prepared statements."""
        return len(self._names)

    @property
    def beginning(self) -> str:
        """The beginning of the names of all of them, and of no others."""
        return f"septet_{self._named}_"

    def name(self, asked: Asked, after: int | None, most: int) -> _Name:
        """Return the name of the next statement to execute.

        Args:
            after: executions before a statement is prepared; None for never.
            most: maximum of prepared statements, and of counted ones.
        """
        if after is None:
            return _NOT_PREPARED
        name = self._names.pop(asked, None)
        if name is not None:
            self._names[asked] = name
            return _Name(name)
        times = self._times.pop(asked, 0)
        if times < after:
            self._times[asked] = times + 1
            if len(self._times) > most:
                del self._times[next(iter(self._times))]
            return _NOT_PREPARED
        self._made += 1
        name = self._names[asked] = f"{self.beginning}{self._made}".encode()
        gone = self._names.pop(next(iter(self._names))) if len(self._names) > most else None
        return _Name(name, True, gone)
