"""The logger ``septet`` tells of writes, searches, sidecars and embedding, and repeats no text above DEBUG."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import CallableEmbedder, Federation, Vault
from septet.errors import EmbeddingRefused, SeptetError
from septet.watch import watching

SECRET = "xylophone"


def said(caplog, name, level=logging.DEBUG):
    return [r.getMessage() for r in caplog.records if r.name == name and r.levelno >= level]


@pytest.fixture
def everything(caplog):
    with caplog.at_level(logging.DEBUG, "septet"):
        yield caplog


def test_each_write_is_a_line_with_its_count_and_generation(everything):
    with Vault(":memory:") as vault:
        vault.add(title="ducks")
        vault.add_many([{"title": "geese"}, {"title": "swans"}])
        with pytest.raises(SeptetError):
            vault.update("nobody", title="x")
    first, second, third = said(everything, "septet.write")
    assert first.startswith(":memory:: add wrote 1, generation 1, in ")
    assert second.startswith(":memory:: add_many wrote 2, generation 2, in ")
    assert third.startswith(":memory:: update raised EntryNotFound after ")
    assert {r.levelno for r in everything.records} == {logging.DEBUG}


def test_a_large_write_is_told_at_info(caplog):
    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:") as vault:
        vault.add(title="ducks")
        vault.add_many({"title": f"duck {i}"} for i in range(1_000))
    (line,) = said(caplog, "septet.write")
    assert line.startswith(":memory:: add_many wrote 1000, generation 2, in ")


def test_each_search_is_a_line_with_its_stages(everything):
    with Vault(":memory:") as vault:
        vault.add(title="ducks")
        vault.search("ducks")
        vault.recall("ducks")
        vault.search_many(["ducks", "geese"])
    lines = said(everything, "septet.search")
    assert [line.split(" of ")[0].split()[-1] for line in lines] == ["search", "recall", "search_many"]
    assert "search of 5 characters, 1 hits of 1 candidates in " in lines[0]
    assert "(plan " in lines[0] and ", recall " in lines[0]


def test_a_slow_search_is_told_at_info(caplog, monkeypatch):
    from septet.search import searchable

    monkeypatch.setattr(searchable, "SLOW_MS", -1.0)
    monkeypatch.setattr(watching, "SLOW_MS", -1.0)
    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:") as vault:
        vault.add(title="ducks")
        vault.search("ducks")
    (line,) = said(caplog, "septet.search")
    assert line.startswith(":memory:: slow search, 1 hits in ")


def lengths(texts):
    """A provider that repeats what it refuses."""
    if any(SECRET in text for text in texts):
        raise EmbeddingRefused(f"the provider does not like {texts[0]}")
    return [[1.0, float(len(text))] for text in texts]


def test_what_makes_answers_less_is_told_once_as_a_warning_without_the_query(caplog):
    embedder = CallableEmbedder(lengths, model="m", dimensions=2)
    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:", embedder=embedder) as vault:
        vault.add(title="ducks")
        vault.embed()
        for _ in range(3):
            assert "embedding_refused" in {note.code for note in vault.search(SECRET).notes}
    assert said(caplog, "septet.search") == [":memory:: embedding_refused"]
    assert SECRET not in caplog.text


def test_a_tier_that_fails_is_told_with_its_reason(caplog):
    with caplog.at_level(logging.WARNING, "septet"), Vault(":memory:") as agent, Vault(":memory:") as team:
        agent.add(title="ducks")
        with Federation({"agent": agent, "team": team}) as both:
            team.close()
            for _ in range(2):
                both.search("ducks")
    (line,) = said(caplog, "septet.search")
    assert line.startswith("federation: tier_failed [team]: the vault :memory: was closed")


def test_what_goes_on_is_told_again_after_an_hour(caplog, monkeypatch):
    times = iter([10_000.0, 10_100.0, 13_599.0, 13_600.0, 13_700.0])
    monkeypatch.setattr(watching.time, "monotonic", lambda: next(times))
    with caplog.at_level(logging.WARNING, "septet"), Vault(":memory:") as agent, Vault(":memory:") as team:
        agent.add(title="ducks")
        with Federation({"agent": agent, "team": team}) as both:
            team.close()
            for _ in range(5):
                both.search("ducks")
    assert len(said(caplog, "septet.search")) == 2


def test_a_condition_that_was_logged_looks_up_no_logger(caplog, monkeypatch):
    looked_up = []
    with caplog.at_level(logging.WARNING, "septet"), Vault(":memory:") as vault:
        vault.add(title="ducks", vector=[1.0, 0.0])
        vault.add(title="geese")
        assert {note.code for note in vault.search("ducks", query_vector=[1.0, 0.0]).notes} == {"vectors_incomplete"}
        monkeypatch.setattr(watching.log, "logger", looked_up.append)
        vault.search("ducks", query_vector=[1.0, 0.0])
    assert not looked_up


def test_what_concerns_one_query_alone_is_no_warning(caplog):
    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:") as vault:
        vault.add(title="ducks")
        vault.search("")
        vault.search("ducks " * 500)
    assert not said(caplog, "septet.search")


def test_a_sidecar_that_is_written_is_told(caplog, tmp_path):
    with caplog.at_level(logging.INFO, "septet"), Vault(tmp_path / "vault.db") as vault:
        vault.add(title="ducks")
        vault.optimize()
    (line,) = said(caplog, "septet.sidecar")
    assert line.startswith(f"{tmp_path / 'vault.db'}.septet written, generation 1, in ")


def test_runs_of_embedding_are_told_and_failures_without_the_words_of_the_provider(caplog):
    embedder = CallableEmbedder(lengths, model="m", dimensions=2)
    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:", embedder=embedder) as vault:
        vault.add(title="ducks")
        vault.embedding_status(wait_s=20)
        vault.add(title=SECRET)
        vault.embedding_status(wait_s=20)
    lines = said(caplog, "septet.embedding")
    assert lines[0].startswith(":memory:: 1 texts embedded by function/m, 0 from the cache, 0 failed, 0 missing, 1 req")
    assert [r.levelname for r in caplog.records if r.name == "septet.embedding"][-1] == "WARNING"
    assert SECRET not in caplog.text


def test_a_reranker_that_fails_is_told_without_its_words(caplog):
    def refuses(query, hits):
        raise ValueError(f"cannot score {query!r}")

    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:") as vault:
        vault.add(title="ducks")
        results = vault.search(f"ducks {SECRET}", rerank=refuses)
    assert SECRET in next(note.cause for note in results.notes if note.code == "reranker_failed")
    assert said(caplog, "septet.search") == [":memory:: reranker_failed"]


WORDS = st.lists(st.sampled_from([SECRET, "ducks", "the", '"', "-", "2026"]), max_size=8).map(" ".join)


@heavy()
@given(WORDS, st.sampled_from(["search", "recall", "explain", "similar", "search_many"]), st.integers(0, 2))
def test_no_text_of_a_query_or_an_entry_is_told_above_debug(caplog, query, method, wrong):
    """``wrong`` makes the call fail, or the vault closed."""
    caplog.clear()
    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:") as vault:
        vault.add_many({"id": f"{SECRET}{i}", "title": f"{SECRET} {i}", "description": query} for i in range(1_000))
        if wrong == 2:
            vault.close()
        options = {"limit": -1} if wrong == 1 else {}
        calls = {
            "similar": lambda: vault.similar(text=query or "x", **options),
            "explain": lambda: vault.explain(query, f"{SECRET}1", **options),
            "search_many": lambda: vault.search_many([query] * 3, **options),
        }
        try:
            calls.get(method, lambda: getattr(vault, method)(query, **options))()
        except SeptetError:
            assert wrong or method == "similar"
        if wrong != 2:
            vault.add(title=query or "x", type=SECRET)
            vault.delete(f"{SECRET}1")
    assert said(caplog, "septet.write")
    assert SECRET not in " ".join(r.getMessage() for r in caplog.records)
