"""Disks that are full while something is written: it says so, nothing is lost, and all goes on when there is room."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from campaigns.campaign import Campaign

TESTS = Path(__file__).parent.parent
MOUNT = 'mount -t tmpfs -o size=16m tmpfs "$1" && shift && exec "$@"'


@cache
def apart():
    """Return the command that runs another with mounts of its own; None where the system does not let us."""
    for command in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        try:
            tried = subprocess.run(
                [*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
            )
        except FileNotFoundError:
            return None
        if not tried.returncode:
            return command
    return None


@pytest.mark.parametrize("how", ["tmpfs", "limit"])
def test_a_vault_goes_on_when_there_is_room_again(tmp_path, how):
    if how == "tmpfs" and apart() is None:
        pytest.skip("mounting a small file system takes the rights to")
    campaign = Campaign(f"full disk ({how})")
    for seed in campaign.rounds(few=1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        command = [sys.executable, "-m", "campaigns.full_disk", str(folder), str(seed), str(campaign.of(4)), how]
        if how == "tmpfs":
            command = [*apart(), "sh", "-c", MOUNT, "sh", str(folder), *command]
        ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, timeout=280)
        assert ran.returncode == 0, ran.stderr
        campaign.tried.update(json.loads(ran.stdout))
