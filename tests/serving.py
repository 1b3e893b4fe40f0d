"""A server of HTTP on this machine, in a thread of the test or as a process."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import httpx

from septet import Vault
from septet.server.app import make_app
from septet.server.running import Server, bound
from septet.server.settings import Settings
from septet.service.served import Served

__all__ = [
    "CLOSE",
    "HOST",
    "LITTLE",
    "Url",
    "ask",
    "connected",
    "head",
    "long_answers",
    "raw",
    "served",
    "serving",
    "until",
]

#: Of requests, as those of MCP want them.
HOST = b"Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
CLOSE = b"Connection: close\r\n"
#: Bytes that wait for a client that is slow to read: less than an answer of the tests.
LITTLE = 4_096
#: Asks servers. It is made once, as that takes a while, and keeps no connection to a server that has stopped.
ask = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0), trust_env=False, timeout=60)


def until(done):
    """Wait until something is so, which another thread makes so; a client has its answer before the server is done."""
    pause = Event()
    for _ in range(2_000):
        if done():
            return
        pause.wait(0.01)
    raise AssertionError("it is not so after 20 seconds")


def long_answers(path):
    """Return a new vault of 3,000 entries, whose export and searches are more than a slow client takes at once."""
    vault = Vault(path)
    vault.add_many(
        {"id": f"e{n}", "title": f"Rotate session cookies {n}", "description": "word " * 400} for n in range(3_000)
    )
    return vault


class Url(str):
    """The URL of a server, which ends in a slash; ``app`` and ``server`` are what runs there."""

    app = server = None


@contextmanager
def serving(memory, *, writable=True, max_workers=None, log=None, grace_s=10.0, port=0, **settings):
    """Serve a vault, a federation or a `Served` at a free port of 127.0.0.1 until the block ends; give its `Url`."""
    told, ready = [], Event()
    served = memory if isinstance(memory, Served) else Served(memory, writable=writable, max_workers=max_workers)
    app = make_app(served, Settings(**settings), log)
    server = Server(app, bound("127.0.0.1", port), lambda url: (told.append(url), ready.set()), grace_s=grace_s)
    thread = Thread(target=server.serve_until_stopped)
    thread.start()
    try:
        assert ready.wait(20), "the server does not start"
        url = Url(told[0])
        url.app, url.server = app, server
        yield url
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive(), "the server does not stop"


@contextmanager
def served(path, *arguments):
    """Run `septet serve` over a vault at a free port; yield its URL and its process."""
    command = [sys.executable, "-m", "septet", "serve", "--port", "0", "--vault", str(path), *arguments]
    environment = {**os.environ, "HOME": str(Path(path).parent), "NO_COLOR": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if address := re.search(r"http://[\w.]+:\d+/", line):
                break
        else:
            raise AssertionError(f"the server did not start: {''.join(lines)}")
        yield address[0], process
    finally:
        if hasattr(signal, "SIGCONT"):
            process.send_signal(signal.SIGCONT)
        process.terminate()
        process.communicate(timeout=20)


def raw(url, *pieces):
    """Send bytes as they are over one connection, and return all that comes back until it is closed."""
    at = urlsplit(url)
    with socket.create_connection((at.hostname, at.port), 20) as sock:
        for piece in pieces:
            sock.sendall(piece)
        return b"".join(iter(lambda: sock.recv(65_536), b""))


def head(route, length=None, verb=b"POST", more=b""):
    """Return the head of a request.

    Args:
        length: of its body; None for none.
        more: further fields.
    """
    sized = b"" if length is None else b"Content-Length: %d\r\n" % length
    return verb + b" " + route.encode() + b" HTTP/1.1\r\n" + HOST + sized + more + b"\r\n"


@contextmanager
def connected(url, count=1, takes=None):
    """Give sockets that are connected to a server.

    Args:
        takes: bytes that wait on this side until somebody reads; None for many.
    """
    at, socks = urlsplit(url), []
    with ExitStack() as stack:
        for _ in range(count):
            sock = stack.enter_context(socket.socket())
            if takes is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
            sock.settimeout(60)
            sock.connect((at.hostname, at.port))
            socks.append(sock)
        yield socks
