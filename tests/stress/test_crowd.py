"""Many processes and threads on one vault: nobody's write is lost, and all find the same."""

import json
import subprocess
import sys
from pathlib import Path

from campaigns.campaign import Campaign
from campaigns.operations import opened, rebuilt
from campaigns.vaults import differences, faults

TESTS = Path(__file__).parent.parent
PROCESSES = 8


def test_eight_processes_write_and_search_and_lose_nothing(tmp_path):
    campaign = Campaign("crowd")
    for seed in campaign.rounds(few=1):
        path = tmp_path / f"{seed}" / "v.db"
        path.parent.mkdir()
        command = [sys.executable, "-m", "campaigns.worker", str(path)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        running = [
            subprocess.Popen([*command, f"p{i}-", str(seed), str(campaign.of(4))], cwd=TESTS, text=True, **pipes)
            for i in range(PROCESSES)
        ]
        said = [process.stdout.readline() for process in running]
        for process in running:
            _, fault = process.communicate("all have written\n", timeout=300)
            assert process.returncode == 0, fault
        wrote = {}
        for line in said:
            titles, tried = json.loads(line)
            wrote |= titles
            campaign.tried.update(tried)
        # Each write waits for ten seconds, which is long for so few.
        assert campaign.tried["busy"] * 100 <= campaign.tried.total()
        assert not faults(path)
        with opened(path) as vault, opened(path, sidecar=False) as anew, rebuilt(vault) as new:
            assert {e.id: e.title for e in vault.load(wrote)} == wrote
            assert len(vault) == len(wrote)
            assert not differences(vault, anew, seed)
            assert not differences(vault, new, seed)
        for copy in path.parent.glob("*.backup"):
            assert not faults(copy)
