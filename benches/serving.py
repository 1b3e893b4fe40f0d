"""A vault behind HTTP: what a connection, and eight at once, wait for an answer, beside calling the vault in process.

The server is a process of its own, and so is who asks: eight threads with a connection each, on the same cores.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from race import Run
from septet import Vault
from table import Row, at_most, plain
from vaults import prepared, questions, warm

TITLE = "HTTP"
ABOUT = (
    "`septet serve` on loopback, searches by text with limit 10, whole entries in the answer, also of who asks in "
    "process (`to_dict()`). Without a pause each asks again when it is answered: eight threads of one process take "
    "turns of 5 ms at the interpreter, so their median says little, and the throughput what a search costs. At a rate "
    "each asks at fixed times, whoever answers; what HTTP adds is the difference of the medians there."
)
ENTRIES, SEARCHES = 100_000, 4_000
CONNECTIONS = 8
#: Searches a second, over all who ask at a rate.
RATE = 160
#: What HTTP may add to the median, in milliseconds.
ADDED_MS = 1.0

Ask = Callable[[str], Any]


def sizes(run: Run) -> list[int]:
    return [run.entries(ENTRIES)]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    texts = [asked.text for asked in questions(path)]
    searches = run.rounds(SEARCHES)
    with Vault(path) as vault:
        warm(vault, questions(path)[0])
        inside = measured([lambda text: vault.search(text, limit=10).to_dict()] * CONNECTIONS, texts, searches)
    with served(path) as url:
        asks = [Connection(url).search for _ in range(CONNECTIONS)]
        load(asks, texts, searches // 4)
        outside = measured(asks, texts, searches)
    for how in inside:
        for where, (times, per_s) in (("in process", inside[how]), ("HTTP", outside[how])):
            yield plain(f"{n:,} entries, {how}, {where}, p50", median(times))
            yield plain(f"{n:,} entries, {how}, {where}, p99", sorted(times)[int(0.99 * len(times))])
            yield plain(f"{n:,} entries, {how}, {where}, throughput", per_s, "q/s")
        if how != CROWDED:
            added = median(outside[how][0]) - median(inside[how][0])
            yield at_most(f"{n:,} entries, {how}, HTTP adds to p50", added, ADDED_MS)


ALONE, AT_A_RATE, CROWDED = "one", f"{CONNECTIONS} at {RATE} q/s", f"{CONNECTIONS} without a pause"


def measured(asks: list[Ask], texts: list[str], searches: int) -> dict[str, tuple[list[float], float]]:
    """Return the milliseconds of each search, and searches a second, by how they were asked."""
    return {
        ALONE: load(asks[:1], texts, searches),
        AT_A_RATE: load(asks, texts, searches // 2, RATE),
        CROWDED: load(asks, texts, searches),
    }


def load(asks: list[Ask], texts: list[str], searches: int, rate: float | None = None) -> tuple[list[float], float]:
    """Ask, each of ``asks`` in a thread; return the milliseconds of each search, and searches a second.

    Args:
        rate: searches a second, begun at fixed times; None to ask again at once.
    """
    times: list[float] = []
    each = searches // len(asks)
    every = 0.0 if rate is None else len(asks) / rate

    def work(number: int, ask: Ask) -> None:
        mine = []
        due = time.perf_counter() + every * number / len(asks)
        for turn in range(each):
            text = texts[(number * each + turn) % len(texts)]
            time.sleep(max(0.0, due - time.perf_counter()) if every else 0.0)
            due += every
            start = time.perf_counter()
            ask(text)
            mine.append((time.perf_counter() - start) * 1e3)
        times.extend(mine)

    threads = [Thread(target=work, args=one) for one in enumerate(asks)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, len(times) / (time.perf_counter() - start)


class Connection:
    """One connection that is kept; it reads no more of an answer than it must, as it is measured too."""

    def __init__(self, url: str) -> None:
        at = urlsplit(url)
        self._socket = socket.create_connection((at.hostname or "", at.port or 0), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"POST /v1/search HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: application/json\r\n"

    def search(self, text: str) -> bytes:
        body = json.dumps({"query": text, "limit": 10}).encode()
        self._socket.sendall(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        said = b""
        while (end := said.find(b"\r\n\r\n")) < 0:
            said += self._socket.recv(1 << 18)
        head = said[:end].lower()
        assert head.startswith(b"http/1.1 200"), head
        size = int(head.partition(b"content-length:")[2].split()[0]) + end + 4
        while len(said) < size:
            said += self._socket.recv(1 << 18)
        return said


@contextmanager
def served(path: Path) -> Iterator[str]:
    """Run `septet serve` and give its URL."""
    command = [sys.executable, "-m", "septet", "serve", "--vault", str(path), "--port", "0", "--access-log", "off"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()
            process.wait(30)
