"""Processes that are killed while they write: what they acknowledged is there, and what was left fits together."""

import random
import subprocess
import sys
import time
from pathlib import Path

from campaigns.campaign import Campaign
from campaigns.operations import Twin, drawn, opened, rebuilt
from campaigns.vaults import differences, faults, unlike

TESTS = Path(__file__).parent.parent


def killed(path, seed, number, rng):
    """Start a writer and kill it at some moment; return how many writes it acknowledged, and whether one was begun."""
    command = [sys.executable, "-m", "campaigns.writer", str(path), str(seed), str(number)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        said = [writer.stdout.readline() for _ in range(1 + 2 * rng.choice([0, 0, 5, 20]))]
        time.sleep(rng.choice([0.0, 0.0003, 0.003, 0.05]) * rng.random())
        writer.kill()
        # Not `communicate`, which does not know what `readline` has read ahead.
        rest, fault = writer.stdout.read(), writer.stderr.read()
    assert writer.returncode == -9, fault
    lines = "".join(said) + rest
    return lines.count("done"), lines.count("begun")


def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path):
    campaign = Campaign("kills")
    for seed in campaign.rounds(few=2):
        rng, path, number = random.Random(seed), tmp_path / f"{seed}" / "v.db", 0
        path.parent.mkdir()
        twin = Twin(tmp_path)
        for _ in range(campaign.of(2)):
            acknowledged, begun = killed(path, seed, number, rng)
            for each in range(number, number + acknowledged):
                twin.do(seed, each)
            number += acknowledged
            campaign.tried["kills"] += 1
            with opened(path) as vault:
                if begun > acknowledged:
                    campaign.tried[f"kills in {drawn(seed, number)[0]}"] += 1
                    if unlike(vault, twin.vault):
                        # What was not acknowledged is there as a whole, or not at all.
                        twin.do(seed, number)
                    number += 1
                assert not unlike(vault, twin.vault)
                with rebuilt(vault) as new:
                    assert not differences(vault, new, seed)
            assert not faults(path)
            if path.with_name("backup.db").exists():
                assert not faults(path.with_name("backup.db"))
        campaign.tried.update(twin.tried)
        twin.vault.close()
