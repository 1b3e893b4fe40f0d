"""How often a write waits for the server: counted between the two, where nothing is missed."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import numpy as np
import pytest

from postgres_cluster import address
from septet import PostgresVault
from septet.postgres.store.store import PostgresStore
from septet.postgres.store.transactions import hold_all

#: On a cluster a write is committed by itself.
COMMIT = address() is not None


class Between:
    """Stands between a vault and its server, and counts how often the vault speaks after an answer.

    Attributes:
        trips: what was asked and answered until now.
        dsn: of the server, by way of this.
    """

    def __init__(self, dsn: str) -> None:
        parts = urlsplit(dsn)
        self._to = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.dsn = dsn.replace(f":{parts.port}", f":{self._listening.getsockname()[1]}")
        self.trips, self._asking = 0, False
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                near = self._listening.accept()[0]
            except OSError:
                return
            far = socket.create_connection(self._to)
            self._sockets += [near, far]
            for ends in ((near, far, True), (far, near, False)):
                self._threads.append(threading.Thread(target=self._carry, args=ends))
                self._threads[-1].start()

    def _carry(self, one: socket.socket, other: socket.socket, asking: bool) -> None:
        while True:
            try:
                data = one.recv(1 << 20)
                self.trips += asking and not self._asking
                self._asking = asking
                other.sendall(data)
            except OSError:
                return
            if not data:
                other.close()
                return

    def close(self) -> None:
        """End all connections."""
        # A thread that waits in a call does not hear of a close.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def counted(dsn: str, vault_name: str) -> Iterator[tuple[PostgresVault, Callable[[Callable[[], object]], int]]]:
    between = Between(dsn)
    with PostgresVault(between.dsn, vault_name) as vault:

        def trips(call: Callable[[], object]) -> int:
            before = between.trips
            call()
            return between.trips - before

        yield vault, trips
    between.close()


def test_an_add_takes_three_round_trips(counted):
    vault, trips = counted
    vault.add(id="a", title="One")
    assert trips(lambda: vault.add(id="b", title="Two", tags=["x", "y"], description="words of it")) == 3 + COMMIT


def test_an_entry_written_anew_takes_as_many_with_its_earlier_version(counted):
    vault, trips = counted
    vault.add(id="a", title="One")
    assert trips(lambda: vault.add(id="a", title="Two")) == 3 + COMMIT
    assert trips(lambda: vault.update("a", title="Three")) <= 5 + COMMIT
    assert [one.entry.title for one in vault.history("a")] == ["Two", "One"]


def test_an_add_of_some_entries_takes_as_many_as_one(counted):
    vault, trips = counted
    vault.add(id="a", title="One")
    items = [{"id": f"n{n}", "title": f"Number {n}", "description": "the same " * n} for n in range(20)]
    assert trips(lambda: vault.add_many(items)) == 3 + COMMIT


def test_an_entry_with_a_vector_is_added_in_few_round_trips(counted):
    vault, trips = counted
    vault.add(id="a", title="One", vector=np.ones(4), model="m")
    assert trips(lambda: vault.add(id="b", title="Two", vector=np.arange(1.0, 5.0), model="m")) <= 6 + COMMIT
    assert vault.search("two", query_vector=np.arange(1.0, 5.0), model="m").hits[0].entry.id == "b"


def test_who_waits_for_the_whole_vault_waits_longer_than_a_statement_may_take(dsn, vault_name):
    store = PostgresStore(dsn, vault_name, statement_timeout_s=0.2)
    held, done = threading.Event(), threading.Event()

    def load() -> None:
        with store.writing() as write:
            hold_all(write)
            held.set()
            done.wait(60)

    other = threading.Thread(target=load)
    other.start()
    held.wait(60)
    # The other one ends when this one was told that its statement took too long, or else after five times that.
    timer = threading.Timer(1.0, done.set)
    timer.start()
    with store.writing() as write:
        hold_all(write)
        assert done.is_set()
        found = write.sql.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
        assert found.fetchone() == ("200ms", "10s")
    other.join()
    timer.join()
    store.close()
