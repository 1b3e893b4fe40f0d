"""When batch jobs are given up: the recorded sequences of jobs that end well, fail, or are late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from embedding_server.batches import Outcome
from golden.differences import differs
from golden.loader import other_recording
from job_world import World, fill, job_world

CASES = other_recording("openclaw-batch-failures")["cases"]
OUTCOMES = {"ok": Outcome(), "err": Outcome("failed"), "timeout": Outcome(polls=50)}


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


MOST_FAILED = 2


def steps(sequence: list[str], timed_out: Callable[[], str]) -> list[dict[str, Any]]:
    """Return which way each text goes: a slow twin, in which `timed_out` says what a late job comes to."""
    made: list[dict[str, Any]] = []
    failures = 0
    for step in sequence:
        if failures >= MOST_FAILED:
            made.append({"step": step, "result": "INLINE", "attempts": 0})
            continue
        outcome = timed_out() if step == "timeout" else step
        failures = {"ok": 0, "err": failures + 1, "twice": failures + 2}[outcome]
        made.append(
            {
                "step": step,
                "result": "BATCH" if outcome == "ok" else "INLINE",
                "attempts": 2 if outcome == "twice" else 1,
            }
        )
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["sequence"]))
@differs("a-late-job-is-waited-for")
def test_jobs_are_given_up_after_the_recorded_failures(world, case):
    sequence = case["sequence"]
    recorded = [{name: step[name] for name in ("step", "result", "attempts")} for step in case["trace"]]
    assert recorded == steps(sequence, lambda: "twice")
    expected = steps(sequence, lambda: "ok")
    ways, codes = traced(world, sequence)
    # Texts of no job come in any order.
    assert sorted(ways, key=str) == sorted(expected, key=str) and [w["result"] for w in ways if w["attempts"]] == [
        e["result"] for e in expected if e["attempts"]
    ]
    if "timeout" not in sequence:
        assert ("batches_given_up" in codes) is not case["trace"][-1]["batchEnabled"]
    assert codes.count("job_failed") == min(1, sum(e["step"] == "err" and e["attempts"] > 0 for e in expected))


@differs("a-run-forgets-the-failures-before-it")
def test_the_next_run_tries_jobs_again(world):
    assert "batches_given_up" in traced(world, ["err", "err", "ok"])[1]
    with world.vault() as vault:
        fill(vault, 4)
        assert vault.embed(batch=True).notes == ()
    assert world.batches.sent[-1] == ["title 3"]
