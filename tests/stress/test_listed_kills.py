"""Processes that are killed while they make, split, merge and write lists of vectors: every search stays exact."""

import random
import subprocess
import sys
import time
from pathlib import Path

from campaigns.campaign import Campaign
from campaigns.lister import entries, opened

TESTS = Path(__file__).parent.parent


def answers(vault, seed):
    rng, rankings = random.Random(seed), []
    for number, entry in enumerate(entries(rng, 6, spread=True)):
        for options in ({"legs": "vector"}, {}):
            query = "" if options else ("alpha", "beta")[number % 2]
            results = vault.search(query, query_vector=entry["vector"], limit=12, **options)
            rankings.append([(hit.id, hit.score) for hit in results])
    return rankings


def killed(path, seed, rng):
    """Start a process and kill it at some moment; return the step that it was at."""
    command = [sys.executable, "-m", "campaigns.lister", str(path), str(seed)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as lister:
        wanted, last = rng.choice(["optimizing", "arranging", "arranging", "writing", "optimized"]), "nothing"
        for _ in range(rng.choice([1, 1, 2, 3])):
            for line in lister.stdout:
                last = line
                if line.startswith(wanted):
                    break
        time.sleep(rng.choice([0.0, 0.003, 0.03, 0.1, 0.3]) * rng.random())
        lister.kill()
        # Not `communicate`, which does not know what `readline` has read ahead.
        rest, fault = lister.stdout.read().splitlines(), lister.stderr.read()
    assert lister.returncode == -9, fault
    return (rest or [last])[-1].split()[0]


def test_a_kill_while_lists_change_leaves_exact_searches(tmp_path):
    campaign = Campaign("kills of lists")
    for seed in campaign.rounds(few=1):
        rng, path = random.Random(seed), tmp_path / str(seed) / "v.db"
        path.parent.mkdir()
        with opened(path) as vault:
            vault.add_many(entries(rng, 2_000, spread=True))
            vault.optimize()
        for number in range(campaign.of(4)):
            at = killed(path, seed + number, rng)
            campaign.tried[f"kills when {at}"] += 1
            with opened(path, read_only=True, sidecar=False) as plain:
                wanted = answers(plain, number)
            with opened(path, read_only=True) as vault:
                assert answers(vault, number) == wanted
                (vectors,) = vault._tier.manager.current.vectors.values()
                campaign.tried["with lists" if vectors.codes.lists else "without lists"] += 1
            with opened(path, read_only=True, recall=0.5) as vault:
                assert [len(hits) for hits in answers(vault, number)] == [len(hits) for hits in wanted]
