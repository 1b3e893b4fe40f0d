"""The way to the resident helper: a socket of the user. Every hook loads it, so nothing large is imported here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

import septet
from septet.system.host import host

if TYPE_CHECKING:
    import socket

#: First bytes of a request. A helper of another protocol closes the connection.
PROTOCOL = b"septet-hooks-1\n"
#: First byte of an answer; what follows is the output of the hook.
ANSWERED = b"+"
#: Maximum seconds to wait for the helper; then the hook answers itself.
WAIT_S = 1.0
#: Maximum bytes of the path of a socket, of all systems.
_MOST_PATH = 100
#: Maximum bytes of the part of a request before the input.
MOST_HEAD = 65_536
#: Variables that choose the folders of a user: another home has another helper.
_HOMES = ("HOME", "XDG_DATA_HOME")


def identity() -> str:
    """Return the identity of the installed code: another version on the same path has another one."""
    about = os.stat(septet.__file__)
    return f"{about.st_dev}-{about.st_ino}-{about.st_mtime_ns}"


def socket_path(environment: Mapping[str, str]) -> str | None:
    """Return the path of the helper's socket; None where there can be none."""
    if (folder := host.runtime_folder()) is None:
        return None
    key = "\0".join([identity(), *(environment.get(name, "") for name in _HOMES)])
    path = f"{folder}/hooks-{crc32(os.fsencode(key)):08x}.sock"
    return path if len(os.fsencode(path)) <= _MOST_PATH else None


def working_folder() -> str:
    """Return the working directory; the root folder if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def ask(words: Sequence[str], raw: bytes) -> bytes | None:
    """Return the output of a hook from the helper; None if there is none, or it does not answer in time."""
    path = socket_path(os.environ)
    if path is None or not os.path.exists(path) or not host.is_private(os.path.dirname(path)):
        return None
    texts = [working_folder(), os.environ.get("SEPTET_VAULT", ""), *words]
    head = "\0".join(texts).encode("utf-8", "surrogateescape")
    with suppress(OSError), host.user_socket() as connection:
        connection.settimeout(WAIT_S)
        connection.connect(path)
        connection.sendall(PROTOCOL + len(head).to_bytes(4, "big") + head + raw)
        connection.shutdown(1)  # SHUT_WR
        answer = read_all(connection)
        if answer.startswith(ANSWERED):
            return answer[1:]
    return None


def read_all(connection: socket.socket, most: int = 1 << 30) -> bytes:
    """Return what a connection sends until its end, at most a number of bytes (`OSError`)."""
    parts = bytearray()
    while len(parts) < most and (part := connection.recv(min(1 << 20, most - len(parts)))):
        parts += part
    return bytes(parts)
