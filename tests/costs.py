"""A pytest plugin that measures tests and holds each to the cost of its folder.

A test of a folder without processes and servers fails when it starts one. When it takes more than a second of its own
CPU time it is named at the end of the run, and a run in CI fails when it is as slow with nothing beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import NamedTuple

import pytest

__all__ = ["IN_PROCESS", "Costs"]

#: Folders of tests that start no process and no server; `make test` runs them, and `smoke`.
IN_PROCESS = ("golden", "house", "integration", "property", "unit")
#: Audit events of what belongs into a folder of its own.
FOLDERS = {
    "os.fork": "processes",
    "os.forkpty": "processes",
    "os.posix_spawn": "processes",
    "subprocess.Popen": "processes",
    "socket.bind": "servers",
}
#: CPU time that `pace` takes on the processor that the limits are meant for.
REFERENCE_S = 0.04


class Cost(NamedTuple):
    """CPU time of the process and time by the clock, in seconds."""

    cpu: float
    clock: float

    @classmethod
    def now(cls) -> Cost:
        return cls(time.process_time(), time.perf_counter())

    def less(self, other: Cost) -> Cost:
        return Cost(self.cpu - other.cpu, self.clock - other.clock)

    def exceeds(self, limit: Cost) -> bool:
        return self.cpu > limit.cpu or self.clock > limit.clock


#: The clock counts on a quiet machine.
LIMIT = Cost(1.0, 2.0)
#: A fixture that tests share is no cost of the first of them up to this.
SHARED_LIMIT = Cost(5.0, 10.0)


def pace() -> float:
    """Return how many times slower than the reference this processor is beside its neighbours, at least 1."""
    begun, total = time.process_time(), 0
    for number in range(600_000):
        total += number % 7
    return max(1.0, (time.process_time() - begun) / REFERENCE_S)


def folder_of(nodeid: str) -> str:
    """Return the folder below `tests` that a test lies in."""
    parts = nodeid.split("::")[0].split("/")
    return parts[1] if len(parts) > 2 else ""


class Costs:
    """The plugin: register one in `pytest_configure`."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.begun = self.shared = Cost(0.0, 0.0)
        self.in_fixture = False
        self.events: list[str] = []
        self.costs: dict[str, Cost] = {}
        self.slow: list[str] = []
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        # An event loop has two sockets of its own, which Windows connects by an address.
        if event in FOLDERS and "socketpair" not in sys._getframe(1).f_code.co_name:
            self.events.append(event)

    def pytest_collection_finish(self):
        """Forget what imports of test modules started."""
        self.events.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        """Begin to measure a test."""
        self.begun, self.shared, self.in_fixture = Cost.now(), Cost(0.0, 0.0), False
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """Take a fixture that tests share off the cost of the first of them."""
        if fixturedef.scope == "function" or self.in_fixture:
            return (yield)
        begun, self.in_fixture = Cost.now(), True
        try:
            return (yield)
        finally:
            cost, self.in_fixture = Cost.now().less(begun), False
            if not cost.exceeds(SHARED_LIMIT):
                self.shared = Cost(self.shared.cpu + cost.cpu, self.shared.clock + cost.clock)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Note the cost of a test; fail one that its folder has no place for."""
        report = yield
        if call.when != "teardown":
            return report
        cost = Cost.now().less(self.begun).less(self.shared)
        slower = pace() if cost.exceeds(LIMIT) else 1.0
        report.user_properties.append(("cost", (cost.cpu / slower, cost.clock / slower)))
        events, folder = sorted(set(self.events)), folder_of(item.nodeid)
        self.events.clear()
        if events and folder in IN_PROCESS and report.outcome == "passed":
            places = ", ".join(f"{event} belongs into {FOLDERS[event]}/" for event in events)
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: {places}"
        return report

    def pytest_runtest_logreport(self, report):
        """Collect the costs, where the reports of all workers come together."""
        if report.when == "teardown" and folder_of(report.nodeid) in IN_PROCESS:
            self.costs.update((report.nodeid, Cost(*cost)) for name, cost in report.user_properties if name == "cost")

    def pytest_sessionfinish(self, session, exitstatus):
        """Fail a run in CI that has a slow test in a fast folder; with more examples there may be some."""
        if hasattr(self.config, "workerinput") or self.config.getoption("--hypothesis-profile", None) == "full":
            return
        quiet = sys.platform != "win32" and os.getloadavg()[0] <= (os.cpu_count() or 1) + 0.5
        limit = LIMIT if quiet else LIMIT._replace(clock=float("inf"))
        self.slow = [
            f"{cost.cpu:5.1f} s of CPU, {cost.clock:5.1f} s by the clock: {nodeid}"
            for nodeid, cost in sorted(self.costs.items(), key=lambda item: item[1], reverse=True)
            if cost.exceeds(limit)
        ]
        if self.slow and exitstatus == 0 and os.environ.get("CI") and self._slow_alone():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _slow_alone(self) -> bool:
        """Say whether they are slow without other workers beside them, too."""
        if not getattr(self.config.option, "numprocesses", None):
            return True
        tests = [line.partition(": ")[2] for line in self.slow]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
        return subprocess.run(command, cwd=self.config.rootpath, stdout=subprocess.DEVNULL).returncode != 0

    def pytest_terminal_summary(self, terminalreporter):
        """Name the slow tests of fast folders."""
        if self.slow:
            terminalreporter.section("slow tests in fast folders: make them faster or move them to exhaustive/")
            for line in self.slow:
                terminalreporter.line(line)
