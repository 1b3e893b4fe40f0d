"""What goes over a connection: a relay on this machine that counts bytes and turns."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock, Thread


@dataclass
class Wire:
    """Bytes to the server, bytes from it, and how often the client had to wait for it."""

    port: int
    sent: int = 0
    received: int = 0
    turns: int = 0

    def reset(self) -> None:
        self.sent = self.received = self.turns = 0


@contextmanager
def relay(port: int) -> Iterator[Wire]:
    """Pass everything on to a port of this machine, and count."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        wire, ends, lock = Wire(listening.getsockname()[1]), list[socket.socket](), Lock()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    server = socket.create_connection(("127.0.0.1", port))
                    for one in (client, server):
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    ends.extend((client, server))
                    said = [True]
                    Thread(target=_pass, args=(client, server, wire, lock, said, True), daemon=True).start()
                    Thread(target=_pass, args=(server, client, wire, lock, said, False), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        try:
            yield wire
        finally:
            for one in ends:
                one.close()


def _pass(source: socket.socket, target: socket.socket, wire: Wire, lock: Lock, answered: list[bool], up: bool) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 18):
            with lock:
                if up:
                    # What is sent before an answer came belongs to the same turn.
                    wire.turns += answered[0]
                    wire.sent += len(data)
                else:
                    wire.received += len(data)
                answered[0] = not up
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
