"""Processes and batch jobs: one may die at any view, several may meet, and no text is sent twice."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from consoles import was_killed
from embedding_server import faults
from embedding_server.batches import Outcome
from job_world import codes, complete, fill, job_world, rows
from septet.net.client import IO

EMBED = """
import sys
sys.path.insert(0, sys.argv[1])
from septet import EmbeddingOptions, Vault
from septet.embedding import OpenAIEmbedder

embedder = OpenAIEmbedder("openai-test", dimensions=8, base_url=sys.argv[3], api_key="good-key", environment={})
options = EmbeddingOptions(automatic=False, poll_s=0)
with Vault(sys.argv[2], embedder=embedder, embedding_options=options) as vault:
    vault.embed(batch=True)
"""


@pytest.fixture
def world(tmp_path):
    with job_world(tmp_path) as made:
        yield made


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("request_number", range(6), ids="upload create poll poll results errors".split())
def test_a_process_that_is_killed_at_any_request_has_no_text_sent_twice(world, request_number, answered):
    failing = {"title 3", "title 4"}
    world.batches.outcomes.append(Outcome(fails=lambda text: "no" if text in failing else None))
    with world.vault() as vault:
        titles = fill(vault, 20)
    command = [sys.executable, "-c", EMBED, Path(__file__).parents[1], world.path, world.server.url]
    started = threading.Event()

    def kill(provider, answer):
        if answered:
            answer()
        started.wait()
        process.kill()
        process.wait()
        return faults.no_answer(provider, answer)

    world.server.script(*[faults.fine] * request_number, kill)
    with subprocess.Popen([str(c) for c in command], stderr=subprocess.PIPE, text=True) as process:
        started.set()
        assert process.communicate()[1] == ""
        assert was_killed(process.returncode)
    with world.vault() as vault:
        report = vault.embed(batch=True)
        assert (report.missing, rows(vault, "vectors")) == (0, 20)
        assert Counter(world.batched) == Counter(titles)
        assert Counter(world.inline) == Counter(failing)
        assert complete(vault, 20)


def test_while_one_waits_for_a_job_nobody_else_sends_its_texts_or_takes_the_job(world):
    reports = []

    def meanwhile(seconds):
        with world.vault() as second:
            reports.append((second.embed(), second.embed(batch=True, wait=False)))

    with world.vault(embedder=world.embedder(outside=IO(sleep=meanwhile))) as vault:
        titles = fill(vault, 10)
        assert vault.embed(batch=True).embedded == 10
        assert complete(vault, 10)
    assert Counter(world.batched) == Counter(titles) and world.inline == []
    assert reports
    assert all((r.embedded, r.requests, codes(r)) == (0, 0, ["in_jobs"]) for pair in reports for r in pair)
