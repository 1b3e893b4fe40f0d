"""Tests of `integration/test_watching_deaf.py` that start processes."""

import subprocess
import sys

import pytest

from processes.test_watching import made


@pytest.fixture
def notes(tmp_path):
    return made(tmp_path / "notes")


LIMITED = """
import sys, time
from pathlib import Path
from septet import Vault
import septet.files.watching as watching

watching.POLL_S = 0.05
folder, end = Path(sys.argv[1]), time.monotonic() + 60
with Vault(sys.argv[2]) as vault:
    vault.sync(folder)
    with vault.watch_files(interval_s=None, debounce_s=0.02) as watcher:
        while watcher.last_error is None and time.monotonic() < end:
            time.sleep(0.01)
        print(watcher.last_error)
        (folder / "fresh.md").write_text("numbat")
        while not vault.search("numbat") and time.monotonic() < end:
            time.sleep(0.01)
        print(len(vault.search("numbat")))
"""


def test_where_the_system_has_no_more_watches_everything_is_compared(tmp_path, notes):
    pytest.importorskip("watchfiles")
    # A name space of users has limits of its own.
    limited = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    limit = "echo 1 > /proc/sys/user/max_inotify_watches"
    try:
        subprocess.run([*limited, limit], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets nobody set limits for a process")
    command = [
        *limited,
        f'{limit} && exec "$@"',
        "sh",
        sys.executable,
        "-c",
        LIMITED,
        str(notes),
        str(tmp_path / "v.db"),
    ]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    said, found = child.stdout.splitlines()
    assert "no file system events" in said
    assert found == "1"
