"""A process that lives long: files, threads and memory that it holds do not grow with what it has done."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.campaign import Campaign

TESTS = Path(__file__).parent.parent


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says what a process holds")
def test_files_threads_and_memory_stay_bounded(tmp_path):
    campaign = Campaign("long lived")
    for seed in campaign.rounds(few=1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rounds = 3 if not campaign.seconds else max(30, int(2 * campaign.seconds))
        command = [sys.executable, "-m", "campaigns.long_lived", str(folder), str(seed), str(rounds)]
        ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, timeout=30 + 3 * rounds)
        assert ran.returncode == 0, ran.stderr
        campaign.tried.update(json.loads(ran.stdout))
