"""A server of HTTP on this machine, in a thread of the test."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread

from septet.server.app import make_app
from septet.server.running import Server, bound
from septet.server.settings import Settings
from septet.service.served import Served

__all__ = ["serving"]


@contextmanager
def serving(memory, *, writable=True, max_workers=None, **settings):
    """Serve a vault or a federation at a free port of 127.0.0.1 until the block ends; give its URL, which ends in /."""
    told, ready = [], Event()
    served = Served(memory, writable=writable, max_workers=max_workers)
    app = make_app(served, Settings(**settings))
    server = Server(app, bound("127.0.0.1", 0), lambda url: (told.append(url), ready.set()))
    thread = Thread(target=server.serve_until_stopped)
    thread.start()
    try:
        assert ready.wait(20), "the server does not start"
        yield told[0]
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive(), "the server does not stop"
