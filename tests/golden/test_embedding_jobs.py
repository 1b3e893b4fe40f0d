"""When batch jobs are given up: the recorded sequences of jobs that end well, fail, or are late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from embedding_server.batches import Outcome
from golden.differences import differs
from golden.loader import other_recording
from job_world import World, fill, job_world

CASES = other_recording("openclaw-batch-failures")["cases"]
OUTCOMES = {"ok": Outcome(), "err": Outcome("failed"), "timeout": Outcome(polls=50)}
IN_TIME = [case for case in CASES if "timeout" not in case["sequence"]]
LATE = [case for case in CASES if "timeout" in case["sequence"]]


@pytest.fixture
def world(tmp_path) -> Iterator[World]:
    with job_world(tmp_path) as made:
        yield made


def traced(world: World, sequence: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return which way each text went, one text a job, and the codes of the notes."""
    world.batches.outcomes.extend(OUTCOMES[step] for step in sequence)
    with world.vault(job_texts=1, jobs_at_once=1) as vault:
        titles = fill(vault, len(sequence))
        report = vault.embed(batch=True)
        assert report.embedded == len(sequence)
    tried = world.batched
    # Those that were in no job come last: no job is begun after the rest was given up.
    order = [*tried, *sorted(titles.difference(tried))]
    ways = [
        {
            "step": step,
            "result": "INLINE" if text in world.inline else "BATCH",
            "attempts": tried.count(text),
        }
        for step, text in zip(sequence, order, strict=True)
    ]
    return ways, [note.code for note in report.notes]


@pytest.mark.parametrize("case", IN_TIME, ids=lambda case: " ".join(case["sequence"]))
def test_jobs_are_given_up_after_the_recorded_failures(world, case):
    ways, codes = traced(world, case["sequence"])
    assert ways == [{name: step[name] for name in ("step", "result", "attempts")} for step in case["trace"]]
    assert ("batches_given_up" in codes) is not case["trace"][-1]["batchEnabled"]
    assert codes.count("job_failed") == min(1, case["sequence"].count("err"))


@differs("a-late-job-is-waited-for")
@pytest.mark.parametrize("case", LATE, ids=lambda case: " ".join(case["sequence"]))
def test_a_late_job_is_no_failure(world, case):
    ways, codes = traced(world, case["sequence"])
    assert ways == [{"step": "timeout", "result": "BATCH", "attempts": 1}]
    assert codes == []
    assert (case["trace"][0]["result"], case["trace"][0]["attempts"]) == ("INLINE", 2)


@differs("a-run-forgets-the-failures-before-it")
def test_the_next_run_tries_jobs_again(world):
    assert "batches_given_up" in traced(world, ["err", "err", "ok"])[1]
    with world.vault() as vault:
        fill(vault, 4)
        assert vault.embed(batch=True).notes == ()
    assert world.batches.sent[-1] == ["title 3"]
