"""Writers and searchers of a vault on a cluster, which go on through every fault of it and note what each came to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from septet import PostgresVault
from septet.errors import BatchError, SeptetError, StoreError
from septet.postgres.store.store import CONNECT_TIMEOUT_S, GRACE_S, STATEMENT_TIMEOUT_S
from septet.postgres.tables.checking import faults

__all__ = ["WRITE_S", "Client", "Searcher", "Writer", "assert_whole", "at_work", "opened"]

#: A write has ended after this, one way or the other: a connection, and two statements that were not answered.
WRITE_S = CONNECT_TIMEOUT_S + 2 * (STATEMENT_TIMEOUT_S + GRACE_S)
#: How long the server may keep a search waiting, and what else it may take on a machine that does much.
SEARCH_S, MORE_S = 5.0, 3.0
_UNTIL_S = 60.0


def opened(dsn: str, name: str, **more: object) -> PostgresVault:
    """Open a vault that asks soon whether a server is back."""
    vault = PostgresVault(dsn, name, timeout_s=SEARCH_S, **more)  # type: ignore[arg-type]
    for server in (vault._store._reads, vault._store._writes):
        server.breaker.first_s = server.breaker.longest_s = 0.05
    return vault


class Client(threading.Thread):
    """A thread that takes one turn after the other until it is told to end.

    Attributes:
        turns: how many came to their end.
        failed: the error of each other one, and how long it took.
        broken: what it ended by, if that is none of Septet's errors.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.turns = 0
        self.failed: list[tuple[SeptetError, float]] = []
        self.broken: BaseException | None = None
        self.ended = threading.Event()

    def turn(self) -> None:
        """Do what there is to do once."""
        raise NotImplementedError

    def run(self) -> None:
        """Take turns."""
        while not self.ended.is_set():
            began = time.monotonic()
            try:
                self.turn()
            except SeptetError as fault:
                self.failed.append((fault, time.monotonic() - began))
            except BaseException as fault:  # noqa: BLE001 - whatever it is, the test tells it
                self.broken = fault
                return
            else:
                self.turns += 1

    def until(self, more: int = 1, *, fails: bool = False) -> None:
        """Wait until so many more turns came to their end, or failed."""
        count: Callable[[], int] = (lambda: len(self.failed)) if fails else (lambda: self.turns)
        wanted, until = count() + more, time.monotonic() + _UNTIL_S
        while count() < wanted:
            assert self.broken is None, self.broken
            assert time.monotonic() < until, f"it is at {self.turns}, after {[str(one) for one, _ in self.failed[-3:]]}"
            time.sleep(0.005)


class Writer(Client):
    """Adds entries of its own by one and by four, changes and deletes some of them.

    Attributes:
        acknowledged: the title of each entry of which a write was acknowledged, by id; None of a deleted one.
        unknown: ids of which a write failed: what is stored of them is what was there before, or what was written.
    """

    def __init__(self, vault: PostgresVault, who: str) -> None:
        super().__init__()
        self.vault, self.who, self.number = vault, who, 0
        self.acknowledged: dict[str, str | None] = {}
        self.unknown: set[str] = set()

    def turn(self) -> None:
        """Write once."""
        self.number += 1
        ids = [f"{self.who}-{self.number}"]
        title: str | None = f"Cookies of {self.who} in turn{self.number}"
        if self.number % 4 == 0:
            ids = [f"{ids[0]}-{part}" for part in range(4)]
        elif self.number % 4 == 1 and self.number > 4:
            ids = [f"{self.who}-{self.number - 2}"]
        elif self.number % 8 == 7:
            ids, title = [f"{self.who}-{self.number - 5}"], None
        self.unknown.update(ids)
        if title is None:
            self.vault.delete(*ids)
        elif len(ids) == 1 and self.number % 4 == 1 and self.number > 4:
            self.vault.add(id=ids[0], title=title, vector=self._vector())
        else:
            self.vault.add_many([{"id": one, "title": title, "vector": self._vector()} for one in ids])
        self.unknown.difference_update(ids)
        self.acknowledged |= dict.fromkeys(ids, title)

    def _vector(self) -> list[float]:
        return [1.0, self.number % 17 / 10, 0.5]


class Searcher(Client):
    """Searches again and again; nothing may be found twice, and no search may take longer than it may."""

    def __init__(self, vault: PostgresVault) -> None:
        super().__init__()
        self.vault, self.longest_s = vault, 0.0

    def turn(self) -> None:
        """Search once."""
        began = time.monotonic()
        try:
            found = self.vault.search("cookies", query_vector=[1.0, 0.3, 0.5], limit=10)
        finally:
            self.longest_s = max(self.longest_s, time.monotonic() - began)
        ids = [hit.id for hit in found]
        assert len(ids) == len({*ids}), ids


@contextmanager
def at_work(*clients: Client) -> Iterator[None]:
    """Let clients work until the end of a ``with`` block, and see that each failed only as it may."""
    for one in clients:
        one.start()
    try:
        yield
    finally:
        for one in clients:
            one.ended.set()
        for one in clients:
            one.join(WRITE_S)
    for one in clients:
        assert not one.is_alive(), "it hangs"
        if one.broken is not None:
            raise one.broken
        for fault, took in one.failed:
            cause = fault.__cause__ if isinstance(fault, BatchError) else fault
            assert isinstance(cause, StoreError), repr(fault)
            assert took < WRITE_S, (took, fault)
        if isinstance(one, Searcher):
            assert one.longest_s < SEARCH_S + MORE_S, one.longest_s


def assert_whole(vault: PostgresVault, writers: Sequence[Writer]) -> None:
    """Every acknowledged write is stored, none twice; searches find it, and counts are those of the entries."""
    wanted = {one: title for writer in writers for one, title in writer.acknowledged.items()}
    unknown = {one for writer in writers for one in writer.unknown}
    with vault._store.reading() as read:
        stored = read.sql.execute(
            "SELECT id, title, live FROM septet.entries WHERE vault = %s", (read.vault.number,)
        ).fetchall()
        assert len(stored) == len({one[0] for one in stored}), "an entry is stored twice"
        there = {one: title for one, title, live in stored if live}
        wrong = faults(read)
    for one, title in wanted.items():
        assert one in unknown or there.get(one) == title, (one, title, there.get(one))
    assert {*there} <= {*wanted} | unknown
    assert wrong == []
    assert len(vault) == len(there)
    for writer in writers:
        for one, title in [*writer.acknowledged.items()][-5:]:
            if title is not None and one not in writer.unknown:
                assert one in {hit.id for hit in vault.search(title.split()[-1], limit=100)}
