"""The ground of every test: a plain environment, the profile of properties, and the cost of each test.

A folder has a cost (`FOLDERS`). A test of a folder without processes and servers fails when it starts one, and is named
at the end of the run when it takes more than a second of its own CPU time; in CI the run fails then.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

import examples

#: Folders of tests that start no process and no server; `make test` runs them, and `smoke`.
IN_PROCESS = ("golden", "house", "integration", "property", "unit")
#: Audit events of what belongs into a folder of its own.
COSTS = {
    "os.fork": "processes",
    "os.forkpty": "processes",
    "os.posix_spawn": "processes",
    "subprocess.Popen": "processes",
    "socket.bind": "servers",
}
#: Limits of a test in one of these folders, in seconds: its own CPU time, and the clock on a quiet machine. A fixture
#: that tests share is none of their own, and has a limit of its own.
MAX_CPU_S, MAX_CLOCK_S, MAX_SHARED_S = 1.0, 2.0, 10.0
#: CPU time that `_pace` takes on the processor that the limit is meant for.
REFERENCE_S = 0.05
#: Variables that change what programs print or where they connect, and those that the tests themselves read.
FOREIGN = re.compile(
    r"SEPTET_|XDG_|GIT_|OPENAI_|LC_|\w+_proxy$|(COLUMNS|LINES|NO_COLOR|(FORCE|CLI)_?COLOR(_FORCE)?|TERM|COLORTERM|"
    r"LANGUAGE|EDITOR|VISUAL|PAGER|LESS|MANPAGER|PYTHONWARNINGS)$",
    re.IGNORECASE,
)
OWN = re.compile(r"SEPTET_(DATA|STRESS_S|STRESS_SEED|SCREENSHOTS)$")
TESTS = Path(__file__).parent

for _name in filter(FOREIGN.match, list(os.environ)):
    if not OWN.match(_name):
        del os.environ[_name]
# A shell ignores it for programs in its background, and they and their children would never be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
examples.register()

_events: list[str] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event in COSTS:
        _events.append(event)


sys.addaudithook(_audit)


def folder_of(nodeid: str) -> str:
    """Return the folder below `tests` that a test lies in."""
    parts = nodeid.split("::")[0].split("/")
    return parts[1] if len(parts) > 2 else ""


def pytest_collection_finish():
    """Forget what imports of test modules started."""
    _events.clear()


class _Meter:
    """CPU time and clock since a test began, without the fixtures that it shares with others."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.started, self.shared, self.setting_up = self._now(), (0.0, 0.0), False

    def took(self, since: tuple[float, float]) -> tuple[float, float]:
        cpu, clock = self._now()
        return cpu - since[0], clock - since[1]

    def own(self) -> tuple[float, float]:
        cpu, clock = self.took(self.started)
        return cpu - self.shared[0], clock - self.shared[1]

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.process_time(), time.perf_counter()


_meter = _Meter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Measure a test."""
    _meter.begin()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    """Take the fixtures that tests share off the test that happens to be the first."""
    if fixturedef.scope == "function" or _meter.setting_up:
        return (yield)
    since, _meter.setting_up = _meter._now(), True
    try:
        return (yield)
    finally:
        cpu, clock = _meter.took(since)
        if cpu <= MAX_SHARED_S:
            _meter.shared = (_meter.shared[0] + cpu, _meter.shared[1] + clock)
        _meter.setting_up = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that does what its folder has no place for; note what a test took."""
    report = yield
    if call.when != "teardown":
        return report
    cost = _meter.own()
    # Measured beside the same neighbours: two threads of one core take more CPU time each than one alone.
    pace = _pace() if cost[0] > MAX_CPU_S or cost[1] > MAX_CLOCK_S else 1.0
    report.user_properties.append(("cost", (cost[0] / pace, cost[1] / pace)))
    costs, folder = sorted({f"{event} ({COSTS[event]}/)" for event in _events}), folder_of(item.nodeid)
    _events.clear()
    if costs and folder in IN_PROCESS and report.outcome == "passed":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: {', '.join(costs)} has no place in {folder}/: move the test"
    return report


def _pace() -> float:
    """Return how many times slower than the reference this processor is, 1 or more."""
    started = time.process_time()
    total = 0
    for number in range(600_000):
        total += number % 7
    return max(1.0, (time.process_time() - started) / REFERENCE_S)


_slow: dict[str, tuple[float, float]] = {}


def pytest_runtest_logreport(report):
    """Collect what tests took, where the results of all workers come together."""
    if report.when == "teardown" and folder_of(report.nodeid) in IN_PROCESS:
        _slow.update((report.nodeid, cost) for name, cost in report.user_properties if name == "cost")


def _over_limit() -> list[str]:
    quiet = os.getloadavg()[0] <= (os.cpu_count() or 1) + 0.5
    return [
        f"{cpu:5.1f} s of CPU, {clock:5.1f} s by the clock: {nodeid}"
        for nodeid, (cpu, clock) in sorted(_slow.items(), key=lambda cost: cost[1], reverse=True)
        if cpu > MAX_CPU_S or (quiet and clock > MAX_CLOCK_S)
    ]


def pytest_sessionfinish(session, exitstatus):
    """Fail a run in CI that has a slow test in a fast folder."""
    if hasattr(session.config, "workerinput") or session.config.option.hypothesis_profile == "full":
        return
    session.config.stash[SLOW] = _over_limit()
    if session.config.stash[SLOW] and exitstatus == 0 and os.environ.get("CI"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


SLOW = pytest.StashKey[list[str]]()


def pytest_terminal_summary(terminalreporter, config):
    """Name the slow tests of fast folders."""
    if slow := config.stash.get(SLOW, []):
        terminalreporter.section("slow tests in fast folders: make them faster or move them to exhaustive/")
        for line in slow:
            terminalreporter.line(line)
