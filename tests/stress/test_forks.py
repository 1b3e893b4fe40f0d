"""Forks while threads write: children use the vault and end in all ways, and nobody loses a write or hangs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.campaign import Campaign

TESTS = Path(__file__).parent.parent


def test_forks_at_any_moment_lose_nothing_and_lock_nobody_out(tmp_path):
    campaign = Campaign("forks")
    for seed in campaign.rounds(few=1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "campaigns.forking",
            str(folder),
            str(seed),
            str(campaign.of(8)),
        ]
        ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, timeout=280)
        assert ran.returncode == 0, ran.stderr
        campaign.tried.update(json.loads(ran.stdout))


@pytest.mark.parametrize("loaded", ["early", "between", "late"])
def test_forks_under_eight_threads_take_half_a_second_at_most_whenever_executors_and_loggers_load(tmp_path, loaded):
    campaign = Campaign(f"crowds, {loaded}")
    for seed in campaign.rounds(few=1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        forks = campaign.of(70)
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "campaigns.crowded",
            str(folder),
            str(seed),
            str(forks),
            loaded,
        ]
        ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, timeout=280)
        # Python says there what a hook raised.
        assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
        assert json.loads(ran.stdout) < 0.5
        campaign.tried["forks"] += forks
