"""Files that are cut, overwritten or removed while a process searches them end no process and spoil no answer."""

import json
import shutil

import pytest

from campaigns import searcher
from campaigns.campaign import Campaign
from campaigns.vandal import vandalise


@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")], ids=["plain", "faulthandler"])
def test_a_process_outlives_whatever_is_done_to_the_files_it_searches(tmp_path, options):
    campaign = Campaign("changed files")
    made = tmp_path / "made"
    made.mkdir()
    searcher.make(made)
    for seed in campaign.rounds(few=1):
        folder = tmp_path / str(seed)
        shutil.copytree(made, folder)
        said, fault, code = vandalise(folder, campaign.of(40), seed, campaign.tried, options)
        assert code == 0, fault[-3_000:]
        campaign.tried.update(json.loads(said))
        shutil.rmtree(folder)
    assert campaign.tried["damaged"] > 0
