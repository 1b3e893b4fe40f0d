"""vault.embed: every text gets its vector, once, whatever fails on the way."""

import time

import numpy as np
import pytest

from doubles import Letters, down, refused
from septet import CallableEmbedder, EmbeddingConfigError, EmbeddingOptions, ReadOnly, Vault
from septet.embedding import EmbeddingCache, FallbackEmbedder
from septet.errors import EmbeddingUnavailable

BY_HAND = EmbeddingOptions(automatic=False)


@pytest.fixture
def embedder():
    return Letters()


@pytest.fixture
def vault(tmp_path, embedder):
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as made:
        yield made


def fill(vault, n):
    vault.add_many({"id": f"e{i}", "title": f"title {i}"} for i in range(n))


def stored(vault):
    with vault._store.reading() as read:
        return read.sql.execute("SELECT count(*), count(DISTINCT key) FROM vectors").fetchone()


def counts(report):
    return report.embedded, report.cached, report.failed, report.missing, report.requests


def test_texts_are_sent_in_batches_of_a_hundred_and_only_once(vault, embedder):
    fill(vault, 250)
    seen = []
    report = vault.embed(progress=lambda done, total: seen.append((done, total)))
    assert counts(report) == (250, 0, 0, 0, 3)
    assert seen == [(100, 250), (200, 250), (250, 250)]
    assert embedder.sizes() == [100, 100, 50]
    assert stored(vault) == (250, 250)
    assert counts(vault.embed()) == (0, 0, 0, 0, 0)
    assert report.complete and report.to_dict()["model"] == "test/letters"


def test_a_provider_that_takes_fewer_texts_gets_fewer(tmp_path):
    embedder = Letters(batch_size=7)
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as vault:
        fill(vault, 20)
        vault.embed()
    assert embedder.sizes() == [7, 7, 6]


def test_title_description_and_context_are_joined_those_of_memories_too(vault, embedder):
    vault.add(id="a", title="T", description="D", context="C", tags=["no"])
    vault.add(id="b", title="alone")
    vault.remember("what was said", "a summary")
    vault.embed()
    assert sorted(embedder.sent()) == ["T\nD\nC", "alone", "what was said\na summary"]


def test_the_same_text_is_sent_once_and_serves_every_entry(vault, embedder):
    vault.add_many({"id": f"e{i}", "title": "one text"} for i in range(5))
    assert counts(vault.embed()) == (1, 0, 0, 0, 1)
    assert len(vault.search("one", legs="vector")) == 5
    assert vault.embedding_status().spaces[0].entries == 5


def test_a_changed_text_is_embedded_again_and_a_text_that_comes_back_is_not(vault, embedder):
    vault.add(id="a", title="before")
    vault.embed()
    vault.update("a", title="after")
    assert vault.embedding_status().spaces[0].missing == 1
    assert counts(vault.embed()) == (1, 0, 0, 0, 1)
    vault.update("a", title="before")
    assert counts(vault.embed()) == (0, 0, 0, 0, 0)
    vault.update("a", severity="critical")
    assert counts(vault.embed()) == (0, 0, 0, 0, 0)
    assert embedder.sent() == ["before", "after"]


def test_a_failed_batch_is_counted_and_noted_and_the_next_run_tries_it_again(vault, embedder):
    fill(vault, 250)
    embedder.script.extend([None, down("server is away")])
    report = vault.embed()
    assert counts(report) == (150, 0, 100, 100, 3)
    assert [(n.code, "server is away" in n.cause) for n in report.notes] == [("batch_failed", True)]
    assert counts(vault.embed()) == (100, 0, 0, 0, 1)
    assert stored(vault) == (250, 250)


def test_a_network_that_is_down_is_given_up_after_five_batches(vault, embedder):
    fill(vault, 1_000)
    embedder.script.extend([down()] * 9)
    report = vault.embed()
    assert counts(report) == (0, 0, 500, 1_000, 5)
    assert [n.code for n in report.notes] == ["batch_failed", "gave_up"]


def test_a_refusal_ends_the_run_at_once(vault, embedder):
    fill(vault, 250)
    embedder.script.extend([None, refused(401)])
    report = vault.embed()
    assert counts(report) == (100, 0, 100, 150, 2)
    assert "provider_refuses" in [n.code for n in report.notes]


def test_one_text_that_is_refused_does_not_keep_the_others_of_its_batch_waiting(vault, embedder):
    fill(vault, 99)
    vault.add(id="bad", title="poison")

    def picky(texts):
        if any("poison" in t for t in texts):
            raise refused(400, "too long")

    embedder.script.extend([picky] * 99)
    report = vault.embed()
    assert counts(report)[:4] == (99, 0, 1, 1)
    assert report.requests <= 15
    assert [n.code for n in report.notes] == ["text_refused"]


def test_a_provider_that_refuses_every_text_is_given_up(vault, embedder):
    fill(vault, 100)
    embedder.script.extend([refused(400, "no such option")] * 999)
    report = vault.embed()
    assert report.failed < 100 and report.requests < 25
    assert report.notes[-1].code == "provider_refuses"


def test_what_came_in_before_a_call_failed_is_kept(vault, embedder):
    fill(vault, 10)

    def half(texts):
        fault = EmbeddingUnavailable("cut off", provider="test")
        fault.rows = Letters().embed(texts[:4])
        raise fault

    embedder.script.append(half)
    assert counts(vault.embed()) == (4, 0, 6, 6, 1)
    assert counts(vault.embed()) == (6, 0, 0, 0, 1)


WRONG = {
    "nothing": lambda texts: np.empty((0, 32), dtype=np.float32),
    "too few": lambda texts: np.ones((len(texts) - 1, 32), dtype=np.float32),
    "flat": lambda texts: np.ones(32, dtype=np.float32),
    "no columns": lambda texts: np.ones((len(texts), 0), dtype=np.float32),
    "another dimension": lambda texts: np.ones((len(texts), 31), dtype=np.float32),
    "no numbers": lambda texts: [["a"]] * len(texts),
    "a fault of its own": lambda texts: 1 / 0,
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_an_answer_that_cannot_be_right_stores_nothing_and_is_no_success(vault, embedder, answer):
    fill(vault, 5)
    embedder.script.append(answer)
    report = vault.embed()
    assert counts(report) == (0, 0, 5, 5, 1) and report.notes[0].code == "batch_failed"
    assert stored(vault) == (0, 0)


def test_vectors_without_a_direction_are_left_out_and_the_others_kept(vault, embedder):
    fill(vault, 4)

    def holed(texts):
        rows = Letters().embed(texts)
        rows[1], rows[2, 0] = 0.0, np.nan
        return rows

    embedder.script.append(holed)
    report = vault.embed()
    assert counts(report) == (2, 0, 2, 2, 1) and report.notes[0].code == "bad_vector"
    assert vault.search("title 1", query_vector=np.ones(32))


@pytest.mark.parametrize("chained", [False, True])
def test_a_text_whose_vector_holds_nan_fails_alone_whatever_stands_beside_it(tmp_path, chained):
    def rows(texts):
        return [[np.nan, 1.0] if text == "title 7" else [1.0, len(text)] for text in texts]

    embedder = CallableEmbedder(rows, model="holed", dimensions=2)
    embedder = FallbackEmbedder([embedder, embedder]) if chained else embedder
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as vault:
        fill(vault, 10)
        report = vault.embed()
        assert (report.embedded, report.failed) == (9, 1)
        assert [n.code for n in report.notes] == ["bad_vector"] and "NaN" in report.notes[0].cause


def test_a_provider_of_nan_alone_is_given_up_after_five_texts(tmp_path):
    embedder = CallableEmbedder(lambda texts: [[np.nan]] * len(texts), model="broken", dimensions=1)
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as vault:
        fill(vault, 300)
        report = vault.embed()
        assert report.failed == 5 and {n.code for n in report.notes} >= {"bad_vector", "provider_refuses"}


@pytest.mark.parametrize("knows", [True, False])
def test_an_embedder_may_learn_its_dimension_from_the_first_answer(tmp_path, knows):
    embedder = Letters(knows_dimensions=knows)
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as vault:
        fill(vault, 150)
        assert vault.embedding_status().spaces[0].dimensions == (32 if knows else None)
        assert counts(vault.embed()) == (150, 0, 0, 0, 2)
        assert vault.embedding_status().spaces[0].dimensions == 32


def test_an_interrupt_is_raised_when_what_is_on_its_way_has_been_stored(vault, embedder):
    fill(vault, 300)

    def interrupted(done, total):
        if done == 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.embed(progress=interrupted)
    assert stored(vault) == (200, 200)
    with vault._store.reading() as read:
        assert read.sql.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    assert counts(vault.embed()) == (100, 0, 0, 0, 1)


def test_no_transaction_is_open_while_the_provider_is_asked(vault, embedder, tmp_path):
    fill(vault, 10)

    def writes(texts):
        with Vault(tmp_path / "v.db") as other:
            other.add(id="meanwhile", title="written meanwhile")

    embedder.script.append(writes)
    assert counts(vault.embed()) == (11, 0, 0, 0, 2)


def test_texts_that_another_has_claimed_are_left_to_him_and_fall_back_when_his_time_is_over(tmp_path, embedder):
    path = tmp_path / "v.db"
    with Vault(path, embedder=embedder, embedding_options=BY_HAND) as vault:
        fill(vault, 10)
        with vault._store.bookkeeping() as write:
            keys = [r[0] for r in write.sql.execute("SELECT text_hash FROM entries LIMIT 4")]
            later = time.time() + 1_000.0
            rows = [("test/letters", key, "elsewhere 1 1 1", later if i else 1.0) for i, key in enumerate(keys)]
            write.sql.executemany("INSERT INTO claims VALUES (?, ?, ?, ?)", rows)
        report = vault.embed()
        assert counts(report) == (7, 0, 0, 3, 1) and [n.code for n in report.notes] == ["not_all"]
        with vault._store.bookkeeping() as write:
            write.sql.execute("UPDATE claims SET until = 1.0")
        assert counts(vault.embed()) == (3, 0, 0, 0, 1)


def test_a_run_that_could_not_release_its_claims_does_not_keep_the_next_one_waiting(vault, embedder):
    fill(vault, 30)

    def disk_fails(_texts):
        vault._store._writer.execute("PRAGMA query_only = 1")

    embedder.script.append(disk_fails)
    with pytest.raises(ReadOnly):
        vault.embed()
    vault._store._writer.execute("PRAGMA query_only = 0")
    assert counts(vault.embed()) == (30, 0, 0, 0, 1)


def test_a_cache_serves_other_vaults_and_deleted_files(tmp_path, embedder):
    cache = EmbeddingCache(tmp_path / "cache.db")
    for name in ("a.db", "b.db"):
        with Vault(tmp_path / name, embedder=embedder, embedding_cache=cache, embedding_options=BY_HAND) as vault:
            fill(vault, 120)
            report = vault.embed()
            assert (report.embedded, report.cached, report.missing) == ((120, 0, 0) if name == "a.db" else (0, 120, 0))
            assert len(vault.search("title 7", legs="vector", limit=3)) == 3
    assert embedder.sizes() == [100, 20]
    assert len(cache) == 121
    cache.close()


def test_an_embedder_that_does_not_know_its_dimension_learns_it_from_one_text_for_the_cache(tmp_path):
    for name in ("a.db", "b.db"):
        embedder = Letters(knows_dimensions=False)
        where = {"embedding_cache": tmp_path / "cache.db", "embedding_options": BY_HAND}
        with Vault(tmp_path / name, embedder=embedder, **where) as vault:
            fill(vault, 5)
            vault.embed()
    assert embedder.sizes() == [1]


def test_a_cache_that_cannot_be_used_is_a_note(tmp_path, embedder):
    (tmp_path / "cache.db").write_bytes(b"no cache" * 999)
    where = {"embedding_cache": tmp_path / "cache.db", "embedding_options": BY_HAND}
    with Vault(tmp_path / "v.db", embedder=embedder, **where) as vault:
        fill(vault, 5)
        report = vault.embed()
        assert counts(report) == (5, 0, 0, 0, 1) and [n.code for n in report.notes] == ["cache_unusable"]
        assert vault.search("title", legs="vector")


def test_a_vault_without_an_embedder_says_so(tmp_path):
    with Vault(tmp_path / "v.db") as vault, pytest.raises(EmbeddingConfigError, match="no embedder"):
        vault.embed()


def test_a_vault_that_is_only_read_embeds_questions_and_nothing_else(tmp_path, embedder, vault):
    fill(vault, 5)
    vault.embed()
    with Vault(vault.path, read_only=True, embedder=embedder) as reader:
        assert reader.search("title 3", legs="vector", limit=1).ids == ["e3"]
        with pytest.raises(ReadOnly):
            reader.embed()


def test_vectors_given_by_the_caller_stay_beside_those_of_a_provider(vault):
    vault.add(id="a", title="title a", vector=[1, 0])
    vault.add(id="b", title="title b")
    vault.embed()
    assert [(s.model, s.given, s.entries, s.missing) for s in vault.embedding_status().spaces] == [
        ("test/letters", False, 2, 0),
        ("given", True, 1, 1),
    ]
    assert vault.search("", query_vector=[1, 0], legs="vector").ids == ["a"]
    assert len(vault.search("title", legs="vector")) == 2
