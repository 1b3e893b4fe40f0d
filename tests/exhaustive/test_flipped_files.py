"""Vaults with flipped bytes: whatever comes of them, only errors of the tree, no hang, no crash."""

import random
import shutil

import pytest

from campaigns.campaign import Campaign
from campaigns.foreign import COMMANDS, READS, SEARCHES, WRITES, made, told, tried
from children import forked
from commands import Commands

PAGE = 4_096
#: So many files are tried by one child, which ends after some seconds.
BATCH, TIMEOUT_S = 10, 120


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flipped")
    return made(folder / "v.db", folder / "notes")


def flip(rng, path):
    """Flip bits of one to three bytes of a page."""
    content = bytearray(path.read_bytes())
    page = rng.randrange(len(content) // PAGE)
    used = [at for at in range(page * PAGE, (page + 1) * PAGE) if content[at]] or [page * PAGE]
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.choice(used) if rng.random() < 0.8 else page * PAGE + rng.randrange(PAGE)
        content[at] ^= 1 << rng.randrange(8) if rng.random() < 0.5 else rng.randrange(1, 256)
    path.write_bytes(content)


@pytest.mark.timeout(3_000)
def test_no_flipped_byte_leads_to_an_error_that_is_not_septets(vault, tmp_path, monkeypatch):
    campaign, run = Campaign("flipped files"), Commands(tmp_path, monkeypatch)

    def play(seed):
        for number in range(BATCH):
            rng, copy = random.Random(f"{seed} {number}"), tmp_path / "v.db"
            for old in tmp_path.glob("v.db*"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            shutil.copyfile(vault, copy)
            flip(rng, copy)
            what = f"seed {seed}, file {number}"
            some = dict(rng.sample(sorted(WRITES.items()), 6))
            faults = tried(copy, what, {**READS, **SEARCHES, **some}, tmp_path)
            faults += told(run, what, rng.sample(COMMANDS, 4))
            assert not faults, "\n".join(faults)

    for seed in campaign.rounds(few=20):
        for number in range(campaign.of(1)):
            campaign.tried["files"] += BATCH
            assert forked(lambda number=number, seed=seed: play(f"{seed} {number}"), TIMEOUT_S), f"{seed} {number}"
