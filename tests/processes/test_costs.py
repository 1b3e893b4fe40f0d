"""The plugin that holds tests to the cost of their folder, in runs of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONFTEST = """
from costs import Costs

def pytest_configure(config):
    config.pluginmanager.register(Costs(config), "costs")
"""


@pytest.fixture
def run(tmp_path):
    def run(folder, source, *options, **environment):
        """Run a test file in a folder of its own project; return the exit code and the output."""
        place = tmp_path / "tests" / folder
        place.mkdir(parents=True)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
        (place / "test_it.py").write_text(source)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "tests"]
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        own = {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
        done = subprocess.run(command, cwd=tmp_path, env={**kept, **own}, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


STARTS = {
    "subprocess.Popen belongs into processes/": """
import subprocess, sys
def test_it(): subprocess.run([sys.executable, "-c", ""])
""",
    "os.fork belongs into processes/": """
import os
def test_it():
    if not os.fork():
        os._exit(0)
    os.wait()
""",
    "socket.bind belongs into servers/": """
import socket
def test_it():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
""",
}


@pytest.mark.parametrize("fault", STARTS)
def test_a_test_in_a_fast_folder_that_starts_something_fails_with_the_folder_for_it(run, fault):
    code, out = run("unit", STARTS[fault])
    assert code == 1
    # Popen may spawn, which some Pythons tell too.
    assert re.search(rf"tests/unit/test_it\.py::test_it: (os\.posix_spawn [^,]*, )?{re.escape(fault)}", out)


@pytest.mark.parametrize("fault", STARTS)
def test_in_a_folder_for_it_the_same_test_passes(run, fault):
    assert run("processes", STARTS[fault])[0] == 0


BUSY = """
import pytest, time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""
SLOW = f"{BUSY}def test_it(): work(3)"
SHARED = f"""{BUSY}
@pytest.fixture(scope="module")
def shared(): work(1.5)
def test_it(shared): pass
"""


@pytest.mark.parametrize(("environment", "code"), [({}, 0), ({"CI": "1"}, 1)], ids=["elsewhere", "in CI"])
def test_a_slow_test_in_a_fast_folder_is_named_and_fails_in_ci_only(run, environment, code):
    ended, out = run("unit", SLOW, **environment)
    assert ended == code
    assert re.search(r"s of CPU, .*tests/unit/test_it\.py::test_it", out)


SLOW_ONCE = f"""{BUSY}
from pathlib import Path
def test_it():
    if not Path("seen").exists():
        Path("seen").touch()
        work(3)
"""


@pytest.mark.parametrize(("source", "code"), [(SLOW, 1), (SLOW_ONCE, 0)], ids=["alone, too", "beside others only"])
def test_a_test_that_is_slow_beside_others_fails_in_ci_only_if_it_is_slow_alone(run, source, code):
    ended, out = run("unit", source, "-n", "2", CI="1", PYTEST_PLUGINS="xdist.plugin")
    assert ended == code
    assert "tests/unit/test_it.py::test_it" in out


def test_a_slow_fixture_that_tests_share_is_no_cost_of_the_first(run):
    code, out = run("unit", SHARED, CI="1")
    assert (code, "s of CPU" in out) == (0, False)
