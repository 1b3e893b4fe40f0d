"""A server on loopback that takes connections and requests, and never answers."""

import socket
import threading
from contextlib import suppress


class Hanging:
    """Takes what it is sent; a `with` block ends it and its connections."""

    def __enter__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connections, self.asked = [], threading.Event()
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        # Closing alone would leave the thread inside `accept`; on Windows it ends it, and nothing is shut down.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)
        for one in self._connections:
            one.close()

    @property
    def url(self):
        return "http://{}:{}".format(*self._socket.getsockname())

    def _take(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._connections.append(connection)
            self.asked.set()
