"""The servers of a cluster that runs on this machine: found by what they say, killed, and started again."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psycopg

from postgres_cluster import PostgresCluster

__all__ = ["ClusterServer", "NotHere", "another_worker", "lost_behind_its_commit", "mended", "servers_of", "told_every"]

START_S = 60.0
_WHERE = (
    "SELECT pg_read_file('postmaster.pid'), current_setting('data_directory'), "
    "(SELECT setting FROM pg_config WHERE name = 'BINDIR'), pg_read_file('postmaster.opts')"
)


class NotHere(Exception):
    """A server does not run on this machine, or nobody may kill it."""


class ClusterServer:
    """One server of a cluster.

    Args:
        address: of a database of it that is always there, with a user who may do everything.

    Raises:
        NotHere: it runs elsewhere.
    """

    def __init__(self, address: str, host: str, port: int) -> None:
        self.address, self.host, self.port = address, host, port
        try:
            local = ip_address(socket.gethostbyname(host)).is_loopback
        except OSError:
            local = False
        if not local:
            raise NotHere(f"{host}:{port} is not on this machine")
        with psycopg.connect(address, autocommit=True) as sql:
            said, data, programs, options = sql.execute(_WHERE).fetchone() or ("", "", "", "")
        self.data, self.programs = Path(data), Path(programs)
        self._process = int(said.split("\n")[0])
        try:
            found = Path(f"/proc/{self._process}/cwd").readlink()
            self._log = Path(f"/proc/{self._process}/fd/2").readlink()
        except OSError as fault:
            raise NotHere(f"{host}:{port}: its process is not to be seen here: {fault}") from None
        if found != self.data:
            raise NotHere(f"{host}:{port} has its data in {self.data}, which is not of process {self._process}")
        _, *given = shlex.split(options)
        self._options = [one for one in given if one not in ("-D", data)]

    def kill(self) -> None:
        """Kill the server and every process of it, as a crash does."""
        children = _children(self._process)
        for one in (self._process, *children):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        until = time.monotonic() + START_S
        while any(_runs(one) for one in (self._process, *children)):
            assert time.monotonic() < until, f"{self.port} does not end"
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop the server in order, whoever is connected."""
        self._control("stop", "-m", "fast", "-w")

    @property
    def runs(self) -> bool:
        """Whether its first process is there."""
        return _runs(self._process)

    def start(self) -> None:
        """Start the server unless it runs, and wait until it answers."""
        if self.runs:
            return
        until = time.monotonic() + START_S
        while True:
            try:
                self._control("start", "-l", self._log, "-w", "-t", int(START_S), "-o", shlex.join(self._options))
                break
            except subprocess.CalledProcessError:
                # Memory that the one before shared may still be in use.
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        self._process = int((self.data / "postmaster.pid").read_text().split("\n")[0])
        while True:
            try:
                psycopg.connect(self.address).close()
            except psycopg.OperationalError:
                assert time.monotonic() < until, f"{self.port} does not answer"
                time.sleep(0.01)
            else:
                return

    def _control(self, *given: object) -> None:
        run_as(self.data, self.programs / "pg_ctl", "-D", self.data, *given)


def servers_of(cluster: PostgresCluster) -> list[ClusterServer]:
    """Return the servers of a cluster, the coordinator first.

    Raises:
        NotHere: one of them runs elsewhere.
    """
    return [
        ClusterServer(cluster.dsn("postgres", node), host, port) for node, (host, port, _) in enumerate(cluster.nodes)
    ]


def mended(cluster: PostgresCluster, servers: list[ClusterServer]) -> None:
    """Start every server that does not run, and end what their faults left undecided."""
    for one in servers:
        one.start()
    with psycopg.connect(servers[0].address, autocommit=True, options="-c synchronous_commit=local") as sql:
        _set(sql, "synchronous_standby_names", None)
    with cluster.on(cluster.dsn()) as sql:
        until = time.monotonic() + START_S
        while True:
            try:
                sql.execute("SELECT recover_prepared_transactions()")
                left = sum(_undecided(cluster, node) for node in range(len(cluster.nodes)))
            except psycopg.Error:
                left = 1
            if not left:
                break
            assert time.monotonic() < until, "transactions stay prepared"
            time.sleep(0.05)
        nodes = sql.execute(
            "SELECT nodename, nodeport, groupid FROM pg_dist_node WHERE isactive ORDER BY groupid"
        ).fetchall()
        assert nodes == cluster.nodes, "the cluster has other servers than before"


def lost_behind_its_commit(
    cluster: PostgresCluster, servers: list[ClusterServer], worker: int, write: Callable[[], object]
) -> None:
    """Do a write of several servers, and kill one when the coordinator has committed and not told it yet.

    The write ends as acknowledged; on the server it is prepared, when that is started again.
    """
    waits = (
        "SELECT 1 FROM pg_stat_activity "
        "WHERE datname = %s AND wait_event = 'SyncRep' AND backend_type = 'client backend'"
    )
    with (
        ThreadPoolExecutor(1) as threads,
        psycopg.connect(servers[0].address, autocommit=True, options="-c synchronous_commit=local") as sql,
    ):
        # Nobody answers to that name, so each commit waits, decided and on disk.
        _set(sql, "synchronous_standby_names", "nobody")
        try:
            written = threads.submit(write)
            until = time.monotonic() + START_S
            while not sql.execute(waits, (cluster.dsn().rpartition("/")[2],)).fetchone():
                assert not written.done(), written.result()
                assert time.monotonic() < until, "the write does not come to its commit"
                time.sleep(0.01)
            servers[worker].kill()
        finally:
            _set(sql, "synchronous_standby_names", None)
        written.result(START_S)


@contextmanager
def told_every(coordinator: ClusterServer, interval: str) -> Iterator[None]:
    """Have workers told so often, until the end of a ``with`` block, what was decided of what they have prepared."""
    with psycopg.connect(coordinator.address, autocommit=True) as sql:
        _set(sql, "citus.recover_2pc_interval", interval)
        try:
            yield
        finally:
            _set(sql, "citus.recover_2pc_interval", None)


@contextmanager
def another_worker(cluster: PostgresCluster, like: ClusterServer) -> Iterator[tuple[str, int]]:
    """Make a server of the programs of another one, with the database of the tests; at the end it is removed.

    It is no worker yet: the caller has the coordinator add it, and remove it.
    """
    owner = like.data.stat()
    folder = Path(tempfile.mkdtemp(prefix="septet-worker-"))
    os.chown(folder, owner.st_uid, owner.st_gid)
    data = folder / "data"
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    try:
        programs = like.programs
        run_as(folder, programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                "shared_preload_libraries = 'citus'\nwal_level = logical\nfsync = off\nmax_connections = 200\n"
                "max_prepared_transactions = 200\nmax_worker_processes = 32\n"
            )
        run_as(folder, programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "start")
        try:
            yield "127.0.0.1", port
        finally:
            run_as(folder, programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_as(owned: Path, program: Path, *given: object) -> None:
    """Run a program as the owner of a folder.

    Raises:
        CalledProcessError: it failed.
    """
    owner = owned.stat()
    # The home of whoever runs the tests has files that libpq would look at.
    user: dict[str, Any] = {"env": {"PATH": os.defpath}}
    if os.geteuid() == 0:
        user |= {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    with tempfile.TemporaryFile() as said:
        # What is started keeps a pipe open for as long as it runs.
        done = subprocess.run(
            [program, *map(str, given)],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", check=False, start_new_session=True, **user,
        )  # fmt: skip
        if done.returncode:
            said.seek(0)
            raise subprocess.CalledProcessError(done.returncode, done.args, said.read()[-2_000:])


def _set(sql: psycopg.Connection[Any], name: str, value: str | None) -> None:
    sql.execute(f"ALTER SYSTEM RESET {name}" if value is None else f"ALTER SYSTEM SET {name} = '{value}'")
    sql.execute("SELECT pg_reload_conf()")


def _undecided(cluster: PostgresCluster, node: int) -> int:
    asked = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
    with cluster.on(cluster.dsn(), node) as sql:
        return int((sql.execute(asked).fetchone() or (0,))[0])


def _children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [*map(int, found.stdout.split())]


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
