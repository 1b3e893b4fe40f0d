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
    "`septet serve` on loopback, searches by text with limit 10, whole entries in the answer. Who asks in process, and "
    "who asks over HTTP, begin the next search when the last one is answered, so several wait for two cores. What HTTP "
    "adds is the difference of the medians."
)
ENTRIES, SEARCHES = 100_000, 4_000
CONNECTIONS = 8
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
        inside = {
            asking: load([lambda text: vault.search(text, limit=10)] * asking, texts, searches)
            for asking in (1, CONNECTIONS)
        }
    with served(path) as url:
        connections = [Connection(url) for _ in range(CONNECTIONS)]
        load([one.search for one in connections], texts, searches // 4)
        outside = {
            asking: load([one.search for one in connections[:asking]], texts, searches) for asking in (1, CONNECTIONS)
        }
    for asking in (1, CONNECTIONS):
        for where, (times, per_s) in (("in process", inside[asking]), ("HTTP", outside[asking])):
            name = f"{n:,} entries, {asking} at a time, {where}"
            yield plain(f"{name}, p50", median(times))
            yield plain(f"{name}, p99", sorted(times)[int(0.99 * len(times))])
            yield plain(f"{name}, throughput", per_s, "q/s")
        added = median(outside[asking][0]) - median(inside[asking][0])
        yield at_most(f"{n:,} entries, {asking} at a time, HTTP adds to p50", added, ADDED_MS)


def load(asks: list[Ask], texts: list[str], searches: int) -> tuple[list[float], float]:
    """Return the milliseconds of each search, and searches a second; each of ``asks`` has a thread."""
    times: list[float] = []
    each = searches // len(asks)

    def work(number: int, ask: Ask) -> None:
        mine = []
        for turn in range(each):
            text = texts[(number * each + turn) % len(texts)]
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
