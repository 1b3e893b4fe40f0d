"""Bytes of others, changed by chance: each ends in a value or an error of Septet, and never in the end of a process."""

import shutil
import time

import pytest

from campaigns.campaign import SECONDS, Campaign
from campaigns.kept_files import NAMES, kept_files
from campaigns.parsers import PARSERS
from campaigns.services import SERVICES
from mutating import batch

#: So many inputs are read by one child.
BATCH = 200


def campaign_of(target, folder):
    """Read inputs of a target for as long as there is time, and return the faults."""
    campaign, faults = Campaign(f"foreign bytes, {target.name}"), []
    began = time.monotonic()
    for seed in campaign.rounds(few=1):
        count = BATCH if SECONDS else target.few
        campaign.tried["inputs"] += count
        place = folder / str(seed)
        place.mkdir()
        faults += batch(target, seed, count, place)
        shutil.rmtree(place)
    print(f"{target.name}: {campaign.tried['inputs']} inputs in {time.monotonic() - began:.0f} s, {len(faults)} faults")
    return faults


@pytest.mark.parametrize("target", [*PARSERS, *SERVICES], ids=lambda target: target.name)
def test_foreign_bytes_end_in_a_value_or_an_error_of_septet(target, tmp_path):
    faults = campaign_of(target, tmp_path)
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:40]])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return {target.name: target for target in kept_files(tmp_path_factory.mktemp("kept"))}


@pytest.mark.parametrize("name", NAMES)
def test_foreign_files_and_answers_end_in_a_value_or_an_error_of_septet(kept, name, tmp_path):
    assert [*kept] == NAMES
    faults = campaign_of(kept[name], tmp_path)
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:40]])
