"""The plugin that holds tests to the cost of their folder, in runs of its own."""

import os
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
    def run(folder, source, **environment):
        """Run a test file in a folder of its own project; return the exit code and the output."""
        place = tmp_path / "tests" / folder
        place.mkdir(parents=True)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
        (place / "test_it.py").write_text(source)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        done = subprocess.run(
            command, cwd=tmp_path, env={**kept, "PYTHONPATH": str(TESTS), **environment}, capture_output=True, text=True
        )
        return done.returncode, done.stdout

    return run


STARTS = {
    "subprocess.Popen belongs into processes/": "import subprocess, sys\ndef test_it(): subprocess.run([sys.executable])",
    "os.fork belongs into processes/": "import os\ndef test_it():\n    if not (c := os.fork()): os._exit(0)\n    os.wait()",
    "socket.bind belongs into servers/": "import socket\ndef test_it():\n  with socket.socket() as s: s.bind(('127.0.0.1', 0))",
}


@pytest.mark.parametrize("fault", STARTS)
def test_a_test_in_a_fast_folder_that_starts_something_fails_with_the_folder_for_it(run, fault):
    code, out = run("unit", STARTS[fault])
    assert code == 1
    assert f"tests/unit/test_it.py::test_it: {fault}" in out


@pytest.mark.parametrize("fault", STARTS)
def test_in_a_folder_for_it_the_same_test_passes(run, fault):
    assert run("processes", STARTS[fault])[0] == 0


SLOW = "import time\ndef test_it():\n    until = time.process_time() + 6\n    while time.process_time() < until: pass"


def test_a_slow_test_in_a_fast_folder_is_named_and_fails_in_ci_only(run, tmp_path):
    code, out = run("unit", SLOW)
    assert code == 0
    assert "s of CPU" in out and "tests/unit/test_it.py::test_it" in out
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "CI": "1"}
    assert subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True).returncode == 1


def test_a_slow_fixture_that_tests_share_is_no_cost_of_the_first(run):
    shared = (
        "import pytest, time\n@pytest.fixture(scope='module')\ndef shared():\n    until = time.process_time() + 1.5\n"
    )
    code, out = run("unit", f"{shared}    while time.process_time() < until: pass\ndef test_it(shared): pass", CI="1")
    assert (code, "s of CPU" in out) == (0, False)
