"""The access log: a line of JSON for each request, without what was asked for unless that is wanted.

All that is not ASCII, and every control character, is escaped: what a client sends cannot begin a line of its own, nor
steer a terminal. Lines are written on a thread, many at a time, so that a reader who is slow holds up no request.
"""

from __future__ import annotations

import json
import logging
import time
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any, TextIO

from septet.server.exchange import Exchange

__all__ = ["AccessLog"]

#: So many lines wait for a slow reader; further ones are counted, not kept.
MOST_LINES = 10_000
#: Lines of so many seconds are written together.
TOGETHER_S = 0.1
#: Seconds that the end waits for a slow reader.
PATIENCE_S = 2.0


class AccessLog(logging.Handler):
    """Writes lines about requests, and what the server itself has to say, to a stream.

    Args:
        queries: tell paths and queries too.
    """

    def __init__(self, stream: TextIO, *, queries: bool = False) -> None:
        super().__init__()
        self._stream, self._queries = stream, queries
        self._lines: Queue[dict[str, Any] | None] = Queue(MOST_LINES)
        self._lost = 0
        self._thread = Thread(target=self._write_all, name="septet-access-log", daemon=True)
        self._thread.start()

    def tell(self, exchange: Exchange) -> None:
        """Note a request that is over."""
        line: dict[str, Any] = {
            "time": time.time(),
            "method": exchange.method,
            "route": exchange.route,
            "status": exchange.status,
            "ms": round(exchange.took_ms, 3),
            "sent": exchange.sent,
            "client": exchange.client,
        }
        if self._queries:
            line["path"] = exchange.path.decode("latin-1")
            if exchange.query is not None:
                line["query"] = exchange.query
        self._put(line)

    def emit(self, record: logging.LogRecord) -> None:
        """Note what a logger has to say."""
        line = {"time": record.created, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = logging.Formatter().formatException(record.exc_info)
        self._put(line)

    def flush(self) -> None:
        """Wait until what was noted is written, but not for long on a reader who takes nothing."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, PATIENCE_S)

    def close(self) -> None:
        """Write what is left, and end."""
        if self._thread.is_alive():
            self._lines.put(None)
            self._thread.join(PATIENCE_S)
        super().close()

    def _put(self, line: dict[str, Any]) -> None:
        try:
            self._lines.put_nowait(line)
        except Full:
            self._lost += 1

    def _write_all(self) -> None:
        going_on = True
        while going_on:
            found = [self._lines.get()]
            if found[0] is not None:
                time.sleep(TOGETHER_S)
            try:
                while found[-1] is not None:
                    found.append(self._lines.get_nowait())
            except Empty:
                pass
            going_on, count = found[-1] is not None, len(found)
            if lost := self._lost:
                self._lost = 0
                found.insert(0, {"time": time.time(), "level": "warning", "message": f"{lost} lines were lost"})
            text = "".join(f"{_escaped(line)}\n" for line in found if line is not None)
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):
                # A full disk, or a reader who went: requests are answered all the same.
                pass
            for _ in range(count):
                self._lines.task_done()


def _escaped(line: dict[str, Any]) -> str:
    # DEL is ASCII, so JSON leaves it.
    return json.dumps(line, separators=(",", ":")).replace("\x7f", "\\u007f")
