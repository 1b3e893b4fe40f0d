"""Calls that are interrupted by signals: each is done or not done, and the vault goes on, here and elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

from campaigns.campaign import Campaign

TESTS = Path(__file__).parent.parent


def test_a_vault_goes_on_after_an_interrupt_at_any_moment(tmp_path):
    campaign = Campaign("interrupts")
    for seed in campaign.rounds(few=1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        command = [sys.executable, "-m", "campaigns.interrupted", str(folder), str(seed), str(campaign.of(100))]
        ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, timeout=280)
        assert ran.returncode == 0, ran.stderr
        campaign.tried.update(json.loads(ran.stdout))
