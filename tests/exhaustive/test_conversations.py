"""Conversations that `make eval` measures: what a context may cost, and that a retriever finds what a search finds."""

import os
from pathlib import Path
from statistics import fmean

import pytest

DATA = Path(os.environ.get("SEPTET_DATA") or Path(__file__).parents[3] / "shared") / "data" / "beam100k"


@pytest.fixture
def bench(monkeypatch, request):
    monkeypatch.syspath_prepend(str(request.config.rootpath / "benches"))
    import evaluate

    return evaluate


@pytest.fixture
def telling(bench):
    """The users' turns of the conversations on which nothing was chosen."""
    if not (DATA / "corpus.jsonl.gz").is_file():
        pytest.skip(f"no conversations in {DATA}: name the folder above data/beam100k in SEPTET_DATA")
    return bench.conversations(bench.load(DATA), "user")[1::2]


def test_turns_with_those_beside_them_as_context_lose_little_by_the_default_and_much_by_whole_words(bench, telling):
    alone, default, whole = (
        fmean(bench.searched(one, count, profile) for one in telling)
        for count, profile in ((0, "septet"), (1, "septet"), (1, bench.weighing(1.0)))
    )
    assert default > whole + 0.1
    assert default > alone - 0.08


def test_a_retriever_ranks_turns_as_well_as_a_search(bench, telling):
    assert fmean(map(bench.retrieved, telling)) > fmean(bench.searched(one, 0, "septet") for one in telling) - 0.001
