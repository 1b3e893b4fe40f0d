"""The access log: a line of JSON for each request, without paths and queries unless configured.

Non-ASCII and control characters are escaped: input of a client cannot start a line of its own, nor control a
terminal. A thread writes the lines in batches, so that a slow reader delays no request.
"""

from __future__ import annotations

import json
import logging
import time
from queue import Empty, Full, Queue
from threading import Lock, Thread
from typing import Any, TextIO

from septet.server.exchange import Exchange

#: Maximum number of lines that wait for a slow reader; further ones are counted and dropped.
MOST_LINES = 10_000
#: Interval of batches, in seconds.
TOGETHER_S = 0.1
#: Maximum time that `flush` and `close` wait for a slow reader, in seconds.
PATIENCE_S = 2.0


class AccessLog(logging.Handler):
    """Writes lines about requests, and records of the server's loggers, to a stream.

    Args:
        queries: True to log paths and queries.
    """

    def __init__(self, stream: TextIO, *, queries: bool = False) -> None:
        super().__init__()
        self._stream, self._queries = stream, queries
        self._lines: Queue[dict[str, Any] | None] = Queue(MOST_LINES)
        self._dropped, self._counting = 0, Lock()
        self._thread = Thread(target=self._write_all, name="septet-access-log", daemon=True)
        self._thread.start()

    def tell(self, exchange: Exchange) -> None:
        """Log a finished request."""
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
        """Log a record."""
        line = {"time": record.created, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = logging.Formatter().formatException(record.exc_info)
        self._put(line)

    def flush(self) -> None:
        """Wait until all lines are written, for at most `PATIENCE_S`."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, PATIENCE_S)

    def close(self) -> None:
        """Write the remaining lines and end the thread."""
        if self._thread.is_alive():
            self._lines.put(None)
            self._thread.join(PATIENCE_S)
        super().close()

    def _put(self, line: dict[str, Any]) -> None:
        try:
            self._lines.put_nowait(line)
        except Full:
            with self._counting:
                self._dropped += 1

    def _write_all(self) -> None:
        running = True
        while running:
            batch = [self._lines.get()]
            if batch[0] is not None:
                time.sleep(TOGETHER_S)
            try:
                while batch[-1] is not None:
                    batch.append(self._lines.get_nowait())
            except Empty:
                pass
            running, count = batch[-1] is not None, len(batch)
            with self._counting:
                lost, self._dropped = self._dropped, 0
            if lost:
                batch.insert(0, {"time": time.time(), "level": "warning", "message": f"{lost} lines were dropped"})
            text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in batch if line is not None)
            try:
                # DEL is ASCII, so JSON does not escape it.
                self._stream.write(text.replace("\x7f", "\\u007f"))
                self._stream.flush()
            except (OSError, ValueError):
                # The disk is full or the reader has gone: requests must be answered all the same.
                pass
            for _ in range(count):
                self._lines.task_done()
