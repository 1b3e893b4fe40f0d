"""vault.embed(batch=True): a provider's batch API, in its own format, with all that becomes of jobs."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import openai
import pytest

from doubles import Letters
from embedding_server import EmbeddingServer, faults, text_rows
from embedding_server.batches import Batches, Outcome
from job_world import KINDS, World, codes, complete, fill, job_world, rows
from septet.embedding import EmbeddingCache, FallbackEmbedder, OpenAICompatibleEmbedder
from septet.net.client import IO

each_provider = pytest.mark.parametrize("name", KINDS)


@pytest.fixture
def world(tmp_path):
    with job_world(tmp_path) as made:
        yield made


@each_provider
def test_a_corpus_is_embedded_by_jobs_whose_lines_come_in_any_order(world, name):
    with world.vault(name, job_texts=20) as vault:
        titles = fill(vault, 50)
        seen = []
        report = vault.embed(batch=True, progress=lambda done, total: seen.append((done, total)))
        assert (report.embedded, report.missing, report.requests, report.notes) == (50, 0, 3, ())
        assert sorted(map(len, world.batches.sent)) == [10, 20, 20]
        assert Counter(world.batched) == Counter(titles)
        assert world.inline == []
        assert seen[-1] == (50, 50) and seen == sorted(seen)
        assert complete(vault, 50)
        assert vault.embed(batch=True).requests == 0


@each_provider
def test_failed_lines_are_embedded_request_by_request(world, name):
    world.batches.outcomes.append(Outcome(fails=lambda text: "no luck" if text in ("title 3", "title 7") else None))
    with world.vault(name) as vault:
        fill(vault, 30)
        report = vault.embed(batch=True)
        assert (report.embedded, report.missing) == (30, 0)
        assert sorted(world.inline) == ["title 3", "title 7"]
        assert codes(report) == ["job_incomplete"] and "no luck" in report.notes[0].cause
        assert complete(vault, 30)


@each_provider
@pytest.mark.parametrize("state", ["expired", "cancelled"])
def test_the_finished_lines_of_a_job_that_ended_early_are_used(world, name, state):
    world.batches.outcomes.append(Outcome(state, done=20))
    with world.vault(name) as vault:
        titles = fill(vault, 30)
        report = vault.embed(batch=True)
        assert (report.embedded, len(world.inline)) == (30, 10)
        assert codes(report) == ["job_incomplete"] and state in report.notes[0].cause
        assert set(world.inline) < titles
        assert complete(vault, 30)


@each_provider
@pytest.mark.parametrize(
    "outcome",
    [Outcome("failed"), Outcome("refused"), Outcome("expired", done=0), Outcome(fails=lambda text: "no")],
    ids=["failed", "refused", "expired", "no line"],
)
def test_after_two_failed_jobs_in_a_row_the_rest_goes_request_by_request_and_the_report_says_so(world, name, outcome):
    world.batches.outcomes.extend([outcome] * 2)
    with world.vault(name, job_texts=10, jobs_at_once=1) as vault:
        titles = fill(vault, 50)
        report = vault.embed(batch=True)
        assert (report.embedded, report.missing) == (50, 0)
        assert Counter(world.inline) == Counter(titles)
        assert codes(report)[-1] == "batches_given_up" and set(codes(report)[:-1]) == {"job_failed"}
        assert complete(vault, 50)


def test_waits_between_questions_double_up_to_the_longest(world):
    world.batches.outcomes.append(Outcome(polls=7))
    with world.vault(poll_s=10.0) as vault:
        fill(vault, 5)
        vault.embed(batch=True)
    assert world.waits == [1, 2, 4, 8, 10, 10, 10, 10]


def test_so_many_jobs_are_awaited_at_a_time(world):
    world.batches.outcomes.extend([Outcome(polls=3)] * 5)
    most = []
    with world.vault(job_texts=4, jobs_at_once=2) as vault:
        fill(vault, 20)
        vault.embed(batch=True, progress=lambda *_: most.append(rows(vault, "jobs")))
        assert complete(vault, 20)
    assert max(most) == 2


@each_provider
def test_without_waiting_jobs_are_left_to_a_later_call_and_their_texts_are_sent_by_nobody(world, name):
    with world.vault(name, job_texts=10, jobs_at_once=1) as vault:
        titles = fill(vault, 30)
        first = vault.embed(batch=True, wait=False)
        assert (first.embedded, first.missing, codes(first)) == (0, 30, ["in_jobs"])
        vault.add(id="late", title="written later")
        assert vault.embed().embedded == 1
        assert world.inline == ["written later"]
    with world.vault(name) as vault:
        report = vault.embed(batch=True)
        assert (report.embedded, report.missing, report.notes) == (30, 0, ())
        assert Counter(world.batched) == Counter(titles)
        assert world.inline == ["written later"]
        assert rows(vault, "jobs") == rows(vault, "claims") == 0


@each_provider
def test_a_job_whose_beginning_was_answered_by_silence_is_found_by_its_name_and_not_begun_again(world, name):
    world.batches.outcomes.extend([Outcome(), Outcome(lost=True)])
    with world.vault(name, job_texts=10, jobs_at_once=1) as vault:
        titles = fill(vault, 20)
        report = vault.embed(batch=True)
        assert (report.embedded, report.missing, report.notes) == (20, 0, ())
        assert Counter(world.batched) == Counter(titles)
        assert complete(vault, 20)


def test_when_nobody_knows_whether_a_job_was_begun_its_texts_wait_for_the_next_run(world):
    with world.vault() as vault:
        titles = fill(vault, 10)
        world.batches.outcomes.append(Outcome(lost=True))
        world.server.script(faults.fine, faults.fine, *[faults.status(503)] * 3)
        report = vault.embed(batch=True)
        assert (report.embedded, codes(report)) == (0, ["jobs_unreachable", "in_jobs"])
        assert vault.embed(batch=True).embedded == 10
        assert Counter(world.batched) == Counter(titles) and world.inline == []
        assert complete(vault, 10)


def test_a_job_that_outlived_its_claims_is_collected_before_its_texts_are_sent_again(world):
    world.batches.outcomes.append(Outcome(polls=0))
    with world.vault() as vault:
        fill(vault, 10)
        vault.embed(batch=True, wait=False)
        with vault._store.bookkeeping() as write:
            write.sql.execute("UPDATE claims SET until = 1.0")
        assert vault.embed(batch=True).embedded == 10
        assert len(world.batched) == 10 and world.inline == []
        assert complete(vault, 10)


def test_a_job_at_another_address_is_left_alone(world):
    with world.vault() as vault:
        fill(vault, 10)
        vault.embed(batch=True, wait=False)
        with vault._store.bookkeeping() as write:
            write.sql.execute("UPDATE jobs SET place = 'https://elsewhere'")
        assert codes(vault.embed(batch=True)) == ["in_jobs"]
        assert rows(vault, "jobs") == 1


def test_a_chain_of_fallbacks_uses_the_batch_api_of_its_first(world):
    chain = FallbackEmbedder([world.embedder(), world.embedder()])
    with world.vault(embedder=chain) as vault:
        fill(vault, 10)
        assert vault.embed(batch=True).notes == ()
        assert len(world.batched) == 10 and world.inline == []


@each_provider
@pytest.mark.parametrize("begun", [True, False])
def test_a_job_whose_id_was_not_stored_is_found_again_or_its_texts_are_free(world, name, begun):
    with world.vault(name) as vault:
        titles = fill(vault, 10)
        vault.embed(batch=True, wait=False)
        with vault._store.bookkeeping() as write:
            write.sql.execute("UPDATE jobs SET batch = NULL")
        if not begun:
            world.batches.batches.clear()
            world.batches.sent.clear()
        assert vault.embed(batch=True).embedded == 10
        assert Counter(world.batched) == Counter(titles) and world.inline == []
        assert complete(vault, 10)


def test_a_job_that_the_provider_does_not_know_any_more_has_failed(world):
    with world.vault() as vault:
        fill(vault, 10)
        vault.embed(batch=True, wait=False)
        world.batches.batches.clear()
        report = vault.embed(batch=True)
        assert (report.embedded, report.missing, codes(report)) == (10, 0, ["job_failed"])
        assert complete(vault, 10)


def test_texts_that_a_job_does_not_bring_because_lines_are_garbled_are_embedded_all_the_same(world):
    garbled = [b"<html>", b'{"custom_id": 7}', b"[]", b"{"]
    world.batches.outcomes.append(Outcome(bent=lambda lines: [*garbled, lines[0], *lines[:-1]]))
    with world.vault() as vault:
        fill(vault, 10)
        assert vault.embed(batch=True).embedded == 10
        assert len(world.inline) == 1
        assert complete(vault, 10)


def test_a_line_for_a_text_that_was_not_sent_is_left_aside(world):
    stray = {"custom_id": "0" * 32, "response": {"status_code": 200, "body": {"data": [{"embedding": [1] * 8}]}}}
    world.batches.outcomes.append(Outcome(bent=lambda lines: [json.dumps(stray).encode(), *lines]))
    with world.vault() as vault:
        fill(vault, 10)
        assert vault.embed(batch=True).embedded == 10
        assert complete(vault, 10)


def test_a_vector_of_another_length_is_no_vector(world):
    def shorter(lines):
        found = json.loads(lines[0])
        found["response"]["body"]["data"][0]["embedding"] = [1.0, 0.0]
        return [*lines[1:], json.dumps(found).encode()]

    world.batches.outcomes.append(Outcome(bent=shorter))
    with world.vault() as vault:
        fill(vault, 10)
        report = vault.embed(batch=True)
        assert (report.embedded, len(world.inline), codes(report)) == (10, 1, ["job_incomplete"])
        assert "2 dimensions" in report.notes[0].cause
        assert complete(vault, 10)


def test_a_text_that_goes_in_pieces_is_left_to_requests(world):
    with world.vault(embedder=world.embedder(max_input_tokens=20)) as vault:
        fill(vault, 10)
        vault.add(id="long", title="long", description="many words " * 30)
        assert vault.embed(batch=True).embedded == 11
        assert len(world.batched) == 10 and len(world.inline) > 1


def test_a_text_that_is_gone_when_its_job_ends_keeps_its_vector_in_case_it_comes_back(world):
    with world.vault() as vault:
        fill(vault, 10)
        vault.embed(batch=True, wait=False)
        vault.delete("e3")
        assert vault.embed(batch=True).embedded == 10
        vault.add(id="e3", title="title 3")
        assert vault.embed(batch=True).requests == 0
        assert complete(vault, 10)


def test_what_the_cache_has_is_in_no_job_and_what_jobs_bring_is_in_the_cache(world, tmp_path):
    cache = EmbeddingCache(tmp_path / "cache.db")
    with world.vault(cache=cache) as vault:
        fill(vault, 10)
        assert vault.embed(batch=True).embedded == 10
    world.path = tmp_path / "second.db"
    with world.vault(cache=cache) as vault:
        fill(vault, 12)
        report = vault.embed(batch=True)
        assert (report.embedded, report.cached) == (2, 10)
        assert complete(vault, 12)
    assert len(world.batched) + len(world.inline) == 12
    cache.close()


def test_a_provider_that_is_away_while_jobs_run_loses_none(world):
    with world.vault() as vault:
        fill(vault, 10)
        vault.embed(batch=True, wait=False)
        world.server.script(*[faults.status(503)] * 15)
        report = vault.embed(batch=True)
        assert (report.embedded, report.missing, codes(report)) == (0, 10, ["jobs_unreachable", "in_jobs"])
        assert vault.embed(batch=True).embedded == 10
        assert len(world.batched) == 10 and world.inline == []
        assert complete(vault, 10)


def test_a_wrong_key_leaves_the_jobs_where_they_are(world):
    with world.vault() as vault:
        fill(vault, 10)
        vault.embed(batch=True, wait=False)
        world.server.script(faults.status(401, "wrong key"))
        assert codes(vault.embed(batch=True)) == ["jobs_unreachable", "in_jobs"]
        assert vault.embed(batch=True).embedded == 10
        assert world.inline == []


def test_an_interrupt_while_waiting_leaves_the_jobs_to_the_next_run(world):
    def interrupt(seconds):
        raise KeyboardInterrupt

    outside = IO(sleep=interrupt)
    with world.vault(embedder=world.embedder(outside=outside)) as vault:
        fill(vault, 10)
        with pytest.raises(KeyboardInterrupt):
            vault.embed(batch=True)
    with world.vault() as vault:
        assert vault.embed(batch=True).embedded == 10
        assert len(world.batched) == 10 and world.inline == []
        assert complete(vault, 10)


def test_a_provider_without_a_batch_api_is_asked_request_by_request_and_the_report_says_so(world):
    where = {"base_url": world.server.url, "environment": {}}
    world.embedders.append(compatible := OpenAICompatibleEmbedder("some", api_key="good-key", **where))
    for number, embedder in enumerate((Letters(), compatible)):
        world.path = world.path.with_name(f"{number}.db")
        with world.vault(embedder=embedder) as vault:
            fill(vault, 10)
            report = vault.embed(batch=True)
            assert (report.embedded, codes(report)) == (10, ["no_batch_api"])
    assert world.batches.sent == []


def test_an_address_that_knows_no_batches_is_asked_request_by_request(tmp_path):
    with EmbeddingServer() as server:
        world = World(tmp_path, server, Batches())
        with world.vault("gemini") as vault:
            fill(vault, 10)
            report = vault.embed(batch=True)
            assert (report.embedded, codes(report)) == (10, ["no_batch_api"])
            assert complete(vault, 10)
        world.close()


def test_voyage_gets_its_options_once_for_the_batch(world):
    with world.vault("voyage") as vault:
        fill(vault, 2)
        vault.embed(batch=True)
    (create,) = (r.json() for r in world.paths("/batches") if r.method == "POST")
    assert create["request_params"] == {"model": "voyage-test", "input_type": "document", "truncation": False}


def test_the_official_client_understands_the_server(world):
    with openai.OpenAI(base_url=f"{world.server.url}/v1", api_key="good-key", max_retries=0) as client:
        body = {"model": "m", "input": "some text"}
        line = {"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": body}
        file = client.files.create(file=("in.jsonl", json.dumps(line).encode()), purpose="batch")
        asked = {"endpoint": "/v1/embeddings", "completion_window": "24h", "metadata": {"job": "mine"}}
        batch = client.batches.create(input_file_id=file.id, **asked)
        assert [one.metadata for one in client.batches.list(limit=100)] == [{"job": "mine"}]
        states = [client.batches.retrieve(batch.id) for _ in range(2)]
        assert [state.status for state in states] == ["in_progress", "completed"]
        answer = json.loads(client.files.content(states[-1].output_file_id).read())
    assert answer["custom_id"] == "a"
    assert np.allclose(answer["response"]["body"]["data"][0]["embedding"], text_rows(["some text"])[0])


def test_a_job_whose_answer_is_too_large_has_failed_and_its_texts_are_sent_one_request_at_a_time(world):
    with world.vault() as vault:
        texts = fill(vault, 10)
        vault.embed(batch=True, wait=False)
        world.server.script(faults.endless_body)
        report = vault.embed(batch=True)
        assert (report.embedded, codes(report)) == (10, ["job_failed"])
        assert "sent more than" in report.notes[0].cause
        assert set(world.inline) == texts and complete(vault, 10)
