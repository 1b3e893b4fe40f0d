"""A pytest plugin that fails a test when a connection to SQLite was lost before it was closed.

Python warns of one since 3.13, and blames the test in which the collector of garbage ran. Here every Python does, and
names the test that opened it. `until_end` closes what a test opened when it ends.
"""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import ExitStack
from typing import Any, Protocol, TypeVar

import pytest

from septet.system import forks

__all__ = ["Connections", "until_end"]


class Closes(Protocol):
    """A vault, a cache, a federation."""

    def close(self) -> None: ...


Closing = TypeVar("Closing", bound=Closes)


class Connections:
    """The plugin: register one in `pytest_configure`."""

    #: The test that runs, and what is closed when it ends; before and after tests, when the run does.
    test = "the collection of tests"
    ends = ExitStack()

    def pytest_collection_finish(self):
        """Watch connections that are opened from now on."""
        watch(forks.Connection)
        sqlite3.connect = watched_unless_told(sqlite3.connect)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Remember which test runs."""
        Connections.test = item.nodeid
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self):
        """Close what the test opened, but not what its fixtures did: tests may share it."""
        outside, Connections.ends = Connections.ends, ExitStack()
        try:
            return (yield)
        finally:
            ended, Connections.ends = Connections.ends, outside
            ended.close()

    def pytest_sessionfinish(self):
        """Close what fixtures opened."""
        Connections.ends.close()


def until_end(opened: Closing) -> Closing:
    """Return a vault, a cache or a federation that is closed when the test that runs ends."""
    Connections.ends.callback(opened.close)
    return opened


def watch(kind: type[sqlite3.Connection]) -> None:
    """Have connections of a class know who opened them, and warn when they are lost and open."""
    made = kind.__init__

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        self.opener = Connections.test
        made(self, *args, **options)

    def __del__(self: Any) -> None:
        if is_open(self):
            try:
                warnings.warn(f"{self.opener} did not close {self!r}", ResourceWarning, source=self, stacklevel=2)
            finally:
                # This method stands in the place of sqlite3's own, by which Python 3.13 and newer closes the file.
                sqlite3.Connection.close(self)

    kind.__init__, kind.__del__ = __init__, __del__  # type: ignore[attr-defined, method-assign]


def is_open(connection: sqlite3.Connection) -> bool:
    """Say whether a connection was not closed. Septet's own would take an interrupt that a test meant for its act."""
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


class Watched(sqlite3.Connection):
    """A connection of the tests' own."""


def watched_unless_told(connect: Any) -> Any:
    """Return `sqlite3.connect` with `Watched` for connections that ask for no class of their own."""
    watch(Watched)
    return lambda *args, **options: connect(*args, **({"factory": Watched} if len(args) < 6 else {}) | options)
