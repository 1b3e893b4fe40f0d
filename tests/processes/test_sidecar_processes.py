"""The sidecar among processes: killed while it is written, written by several, without room on the disk."""

import resource
import signal
import subprocess
import sys

import pytest

from sidecars import answers, files, made, opened, restored, wanted


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "v.db"
    made(path)
    return path


KILLED = """
import os, sys
from septet import Vault
path, last = sys.argv[1], int(sys.argv[2])
with Vault(path, clock=lambda: 1_760_000_000.0) as vault:
    steps = []
    def step(name):
        steps.append(name)
        if len(steps) > last:
            os.kill(os.getpid(), 9)
    vault.add(id=f"killed{last}", title=f"alpha killed{last}", vector=[1, 2, 3])
    vault._tier.manager.sidecar.step = step
    vault.optimize()
    print(len(steps))
"""


def test_a_kill_at_any_step_of_writing_loses_nothing(path):
    last, done = 0, False
    while not done:
        ran = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(last)], capture_output=True, text=True, check=False
        )
        done = ran.returncode == 0
        assert done or ran.returncode == -signal.SIGKILL, ran.stderr
        with opened(path) as vault:
            assert vault.search(f"killed{last}").ids[0] == f"killed{last}"
            assert answers(vault) == wanted(path)
            # The old one, or the new one: always one of them.
            assert restored(vault)
        last += 1
    assert last > 12
    assert len(files(path)) == 1


TOGETHER = """
import sys
from septet import Vault
with Vault(sys.argv[1], clock=lambda: 1_760_000_000.0) as vault:
    for i in range(6):
        vault.add(id=f"{sys.argv[2]}{i}", title="alpha together", vector=[1, 2, i])
        vault.optimize()
        assert vault.search(f"together", limit=40).ids, i
"""


def test_processes_may_write_at_the_same_time(path):
    commands = [[sys.executable, "-c", TOGETHER, str(path), name] for name in "abc"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    for process in running:
        _, fault = process.communicate(timeout=120)
        assert process.returncode == 0, fault
    assert len(files(path)) == 1
    with opened(path) as vault:
        assert answers(vault) == wanted(path)
        assert restored(vault)


FULL = """
import resource, signal, sys
from septet import StoreError, Vault
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Vault(sys.argv[1], clock=lambda: 1_760_000_000.0) as vault:
    vault.add(id="last", title="alpha last")
    vault.search("alpha")
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    try:
        vault.optimize()
    except StoreError as fault:
        print(fault)
    assert vault.search("last").ids[0] == "last"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="the system has no limit for files")
def test_a_full_disk_leaves_the_old_one(path):
    before = files(path)
    ran = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "cannot be written" in ran.stdout
    assert files(path) == before
