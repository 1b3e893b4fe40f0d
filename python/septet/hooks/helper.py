"""The resident helper: one process of a user, which has the vaults open, and ends by itself.

It has the rights and the environment of the hook that started it. Its socket is in a folder that only the user can
enter; its name depends on the installed code, so a hook never reaches a helper of another version.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import QueryError, SeptetError, printable
from septet.hooks import keeping, reaching
from septet.hooks.answering import answer
from septet.hooks.calls import MOST_INPUT, VAULT_VARIABLE, HookOutput, call_of, options_of
from septet.hooks.programs import PROGRAMS
from septet.hooks.state import add_lines, log_failure
from septet.system.host import host

if TYPE_CHECKING:
    from septet.vault import Vault

#: Seconds without a call after which the helper ends.
IDLE_S = 1_800.0
#: Seconds between two looks at its end.
LOOK_S = 5.0
#: Maximum number of open vaults.
MOST_VAULTS = 4
#: Maximum seconds of a connection.
_CONNECTION_S = 10.0


class HelperRequest(NamedTuple):
    """A call of a hook, as the helper receives it.

    Attributes:
        folder: the working directory of the caller.
        vault: ``SEPTET_VAULT`` of the caller.
        words: its command line after ``septet hooks run``.
        raw: its standard input.
    """

    folder: str
    vault: str
    words: list[str]
    raw: bytes


class OpenVaults:
    """Vaults that stay open for reading, the last used ones."""

    def __init__(self) -> None:
        self._opened: dict[str, tuple[Vault, tuple[int, int]]] = {}
        self._lock = Lock()

    def read(self, path: str, work: Callable[[Vault], HookOutput]) -> HookOutput:
        """Call a function with a vault; nothing if it does not exist (`SeptetError`)."""
        try:
            return self._read(path, work)
        except SeptetError:
            # Replaced, or closed by another call: with a new one it may be readable.
            self._close(path)
            return self._read(path, work)

    def close(self) -> None:
        """Close all vaults."""
        for path in list(self._opened):
            self._close(path)

    def _read(self, path: str, work: Callable[[Vault], HookOutput]) -> HookOutput:
        try:
            about = os.stat(path)  # noqa: PTH116 - any path
        except FileNotFoundError:
            self._close(path)
            return HookOutput()
        except OSError as fault:
            raise QueryError(f"{path} cannot be read: {fault.strerror}") from None
        return work(self._vault(path, (about.st_dev, about.st_ino)))

    def _vault(self, path: str, identity: tuple[int, int]) -> Vault:
        from septet.vault import Vault

        with self._lock:
            opened = self._opened.pop(path, None)
            if opened is None or opened[1] != identity:
                if opened is not None:
                    opened[0].close()
                opened = Vault(path, read_only=True), identity
            self._opened[path] = opened
            while len(self._opened) > MOST_VAULTS:
                self._opened.pop(next(iter(self._opened)))[0].close()
            return opened[0]

    def _close(self, path: str) -> None:
        with self._lock:
            opened = self._opened.pop(path, None)
        if opened is not None:
            opened[0].close()


class Helper:
    """The helper behind a socket that listens."""

    def __init__(self, listener: socket.socket, path: str, idle_s: float = IDLE_S) -> None:
        self._listener, self._path, self._idle_s = listener, path, idle_s
        self._vaults = OpenVaults()
        self._noted = Event()
        self._last, self._running = time.monotonic(), 0
        self._lock = Lock()
        self._changed = os.stat(path).st_ctime_ns  # noqa: PTH116 - the path is a text
        self._identity = reaching.identity()

    def serve(self) -> None:
        """Answer calls until none came for a while, or the installed code or the socket was replaced."""
        Thread(target=self._sync, daemon=True).start()
        self._noted.set()
        self._listener.settimeout(min(LOOK_S, self._idle_s))
        try:
            while not self._is_over():
                with suppress(TimeoutError):
                    connection, _ = self._listener.accept()
                    with self._lock:
                        self._running += 1
                    Thread(target=self._handle, args=(connection,), daemon=True).start()
        finally:
            self._vaults.close()

    def _is_over(self) -> bool:
        with self._lock:
            if self._running or self._noted.is_set():
                return False
            idle = time.monotonic() - self._last >= self._idle_s
        try:
            return idle or os.stat(self._path).st_ctime_ns != self._changed or reaching.identity() != self._identity  # noqa: PTH116
        except OSError:
            return True

    def _handle(self, connection: socket.socket) -> None:
        try:
            with suppress(OSError), connection:
                connection.settimeout(_CONNECTION_S)
                request = _received(connection, MOST_INPUT)
                if request is not None:
                    output = self._output(request)
                    connection.sendall(reaching.ANSWERED + output.text)
                    # A caller that waits no longer answers itself, and must not take this for printed.
                    add_lines(output.session, output.lines)
        finally:
            with self._lock:
                self._running -= 1
                self._last = time.monotonic()

    def _output(self, request: HelperRequest) -> HookOutput:
        place = request.words[0] if request.words else "hooks"
        if request.words == ["status"]:
            return HookOutput(str(os.getpid()).encode())
        try:
            options = options_of(request.words, {VAULT_VARIABLE: request.vault})
            call = call_of(request.raw, PROGRAMS[options.program])
            try:
                output = answer(call, options, self._vaults.read, request.folder)
            finally:
                if call.work != "prompt":
                    self._noted.set()
        except Exception as fault:  # noqa: BLE001 - a hook must not stop an agent
            log_failure(place, fault)
            return HookOutput()
        return output

    def _sync(self) -> None:
        """Sync transcripts whenever some were noted."""
        while self._noted.wait():
            self._noted.clear()
            with self._lock:
                self._running += 1
            try:
                keeping.sync_pending()
            except Exception as fault:  # noqa: BLE001 - the next one may be readable
                log_failure("sync", fault)
            finally:
                with self._lock:
                    self._running -= 1
                    self._last = time.monotonic()


def serve(idle_s: float = IDLE_S) -> bool:
    """Run the helper to its end; return False if another one runs, after syncing the noted transcripts.

    Raises:
        QueryError: this system has none.
        OSError: the socket cannot be made.
    """
    path = reaching.socket_path(os.environ)
    if path is None:
        raise QueryError("hooks have no helper on this system: each answers by itself")
    with _alone(path) as is_alone:
        if not is_alone:
            # The other one may not know of a transcript that a hook noted by itself, because it got no answer in time.
            keeping.sync_pending()
            return False
        # A helper that is ended removes its socket; one that was killed leaves it to the next.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        _sweep(path)
        _warm_up()
        with suppress(FileNotFoundError):
            # A killed helper leaves it behind.
            os.unlink(path)  # noqa: PTH108 - the path is a text
        with host.user_socket() as listener:
            listener.bind(path)
            os.chmod(path, 0o600)  # noqa: PTH101 - the path is a text
            listener.listen(64)
            helper = Helper(listener, path, idle_s)
            try:
                helper.serve()
            finally:
                with suppress(OSError):
                    os.unlink(path)  # noqa: PTH108 - the path is a text
    return True


def problem() -> str:
    """Return the reason for which the helper cannot run; empty if it can."""
    path = reaching.socket_path(os.environ)
    if path is None:
        return "there is none on this system"
    folder = os.path.dirname(path)  # noqa: PTH120 - the path is a text
    usable = host.is_private(folder) or not os.path.lexists(folder)
    return "" if usable else f"does not run: other users can enter {printable(folder)}"


def pid() -> int | None:
    """Return the process id of the helper that runs; None without one."""
    printed = reaching.ask(["status"], b"")
    return int(printed) if printed else None


@contextmanager
def _alone(path: str) -> Iterator[bool]:
    """Hold the lock of the helper, which the system releases when a process is killed; yield False if it is held.

    Raises:
        QueryError: the folder belongs to another user.
    """
    folder = Path(path).parent
    folder.mkdir(mode=0o700, exist_ok=True)
    if not host.is_private(str(folder)):
        raise QueryError(f"{folder} can be entered by other users: the helper does not run there")
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield host.lock_file(descriptor)
    finally:
        os.close(descriptor)


def _sweep(path: str) -> None:
    """Remove sockets and locks of helpers of other versions and homes that no process holds; ignore failures."""
    for lock in Path(path).parent.glob("hooks-*.sock.lock"):
        if str(lock) == f"{path}.lock":
            continue
        with suppress(OSError), lock.open("rb+") as file:
            if host.lock_file(file.fileno()):
                lock.with_suffix("").unlink(missing_ok=True)
                lock.unlink()


def _warm_up() -> None:
    """Load what a first search loads, before the socket is there."""
    from septet.hooks import telling
    from septet.vault import Vault

    with Vault(":memory:") as vault:
        vault.remember("a memory of nothing")
        vault.context("memory", profile="conversation", min_confidence=0.0)
    telling.has_topic("memory")


def _received(connection: socket.socket, most: int) -> HelperRequest | None:
    """Return the request of a connection; None for another protocol or a malformed one.

    Args:
        most: maximum bytes of the input; a longer one is cut after one byte more.

    Raises:
        OSError: the connection ended.
    """
    start = _exactly(connection, len(reaching.PROTOCOL) + 4)
    size = int.from_bytes(start[-4:], "big")
    if not start.startswith(reaching.PROTOCOL) or size > reaching.MOST_HEAD:
        return None
    texts = _exactly(connection, size).decode("utf-8", "surrogateescape").split("\0")
    if len(texts) < 2:
        return None
    return HelperRequest(texts[0], texts[1], texts[2:], reaching.read_all(connection, most + 1))


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count and (part := connection.recv(count - len(parts))):
        parts += part
    return bytes(parts)
