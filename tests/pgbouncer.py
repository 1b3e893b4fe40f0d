"""PgBouncer in front of a server, in transaction mode, on loopback and a free port, unprivileged."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["certified", "pooled", "why_not"]

START_S = 10.0


def why_not() -> str | None:
    """Return why it cannot be started here; None where it can."""
    missing = [name for name in ("pgbouncer", "openssl") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


def certified(folder: Path) -> Path:
    """Make an authority, and a certificate of it for 127.0.0.1, in a folder; return the authority's certificate."""
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for command in (
        ["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority"],
        ["req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1"],
        ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
         "-out", "server.pem", "-days", "2", "-extfile", "names"],
    ):  # fmt: skip
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    return folder / "ca.pem"


@contextmanager
def pooled(address: str, *, connections: int = 4, tls: Path | None = None) -> Iterator[str]:
    """Start it in front of the server of an address; yield the address with its port in the place of the server's.

    Args:
        connections: to the server, for each database and user.
        tls: a folder that `certified` has filled: clients must come by TLS.
    """
    folder = Path(tempfile.mkdtemp(prefix="septet-pgbouncer-"))
    before, _, behind = address.partition("@")
    place, _, rest = behind.partition("/")
    host, _, port = place.partition(":")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        own = one.getsockname()[1]
    lines = [
        "[databases]", f"* = host={host} port={port}", "[pgbouncer]", "listen_addr = 127.0.0.1", f"listen_port = {own}",
        "unix_socket_dir =", "auth_type = any", "pool_mode = transaction", f"default_pool_size = {connections}",
        "ignore_startup_parameters = extra_float_digits,options,client_encoding",
    ]  # fmt: skip
    user = address.partition("//")[2].partition("@")[0].partition(":")[0]
    lines[1] += f" user={user}"
    if tls is not None:
        for name in ("server.key", "server.pem"):
            shutil.copy(tls / name, folder)
        lines += ["client_tls_sslmode = require", f"client_tls_key_file = {folder}/server.key"]
        lines += [f"client_tls_cert_file = {folder}/server.pem"]
    (folder / "ini").write_text("\n".join(lines) + "\n")
    as_other: dict[str, object] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        as_other = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        for path in (folder, *folder.iterdir()):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["pgbouncer", str(folder / "ini")], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **as_other,  # type: ignore[call-overload]
        )  # fmt: skip
    try:
        until = time.monotonic() + START_S
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", own), 1.0):
                break
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PgBouncer did not start: {(folder / 'log').read_text()[-2_000:]}")
            time.sleep(0.01)
        yield f"{before}@127.0.0.1:{own}/{rest}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(START_S)
        shutil.rmtree(folder, ignore_errors=True)
