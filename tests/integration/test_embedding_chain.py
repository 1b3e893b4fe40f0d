"""A chain of models: while one fails, the next one fills and answers from a space of its own, until it is back."""

import sqlite3
from contextlib import closing

import pytest

from chains import ALL, Switched, answering, codes, fill, held, models, opened
from doubles import Letters, down, refused
from septet import EmbeddingOptions, EmbeddingUnavailable, Federation

FAULTS = [refused(401, "wrong key"), refused(429, "quota exhausted"), down("no network"), EmbeddingUnavailable("503")]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_where_the_first_model_fails_the_next_one_fills_a_space_of_its_own(tmp_path, fault):
    first, second = models()
    first.fault = fault
    with opened(tmp_path / "v.db", first, second) as vault:
        fill(vault)
        report = vault.embed()
        assert (report.model, report.embedded, report.missing) == ("test/second", ALL, 0)
        assert [one.model for one in report.earlier] == ["test/first"] and report.earlier[0].missing == ALL
        assert report.notes[0].code == "embedding_fallback" and str(fault) in report.notes[0].cause
        assert held(vault) == {"test/second": ALL}
        assert answering(vault) == "test/second"
        found = vault.search("title 8", legs="vector", limit=1)
        assert found.ids == ["e8"] and not found.degraded


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_search_goes_on_with_the_next_model_and_says_so(tmp_path, fault):
    first, second = models()
    with opened(tmp_path / "v.db", first, second) as vault:
        fill(vault)
        first.fault = fault
        vault.embed()
        first.fault = None
        vault.embed()
        assert held(vault) == {"test/first": ALL, "test/second": ALL}
        assert codes(vault.search("title 1")) == []
        first.fault = fault
        found = vault.search("title 9", legs="vector", limit=1)
        assert found.ids == ["e9"] and codes(found) == ["embedding_fallback"] and not found.degraded
        assert f"test/first: {fault}" in found.notes[0].cause and "test/second" in found.notes[0].cause
        status = vault.embedding_status()
        assert [(m.model, m.configured) for m in status.models] == [("test/first", True), ("test/second", True)]
        assert str(fault) in status.models[0].fault and status.models[1].fault is None


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_after_a_query_that_failed_a_run_fills_the_next_space_though_the_first_one_is_complete(tmp_path, fault):
    first, second = models()
    with opened(tmp_path / "v.db", first, second) as vault:
        fill(vault)
        vault.embed()
        first.fault = fault
        assert "vector" not in vault.search("title 1").weights or not vault.search("title 1").weights["vector"]
        assert vault.embed().model == "test/second" and held(vault) == {"test/first": ALL, "test/second": ALL}
        assert answering(vault, "title 2") == "test/second"
        first.fault = None
        assert vault.embed().model == "test/first" and answering(vault, "title 3") == "test/first"


def test_a_query_is_only_ever_compared_with_vectors_of_its_own_model(tmp_path):
    first, second = models()
    with opened(tmp_path / "v.db", first, second) as vault:
        fill(vault)
        first.fault = down()
        vault.embed()
        for fault in (None, down(), None, refused(), None):
            first.fault = fault
            plan = vault._embedded(vault._plan(f"title {fault}", {}))
            for one in plan.embeddings.values():
                assert (
                    one.vector.scan.size
                    == one.space.dimensions
                    == {"test/first": 32, "test/second": 16}[one.space.model]
                )


@pytest.mark.parametrize("share", [0, 1, 10, 44, 45, 47, 50, 52, 53, 90, 99, 100])
def test_along_the_range_the_model_with_most_vectors_answers_and_the_first_one_if_they_are_alike(tmp_path, share):
    first, second = models()
    first.lasts = share
    options = EmbeddingOptions(automatic=False, rest_s=0, fallback_texts="missing", batch_texts=1)
    with opened(tmp_path / "v.db", first, second, options=options) as vault:
        fill(vault)
        vault.embed()
        rest = ALL - share
        assert held(vault) == {m: n for m, n in (("test/first", share), ("test/second", rest)) if n}
        # The first one answers queries while it embeds no texts.
        first.fails = ("document",)
        expected = "test/first" if share >= 0.9 * max(share, rest) else "test/second"
        assert answering(vault) == expected
        first.fault, first.fails = refused(), ("document", "query")
        found = vault.search("title 11", limit=3)
        # Without it the second one answers if it has half of them; text alone does otherwise.
        assert (found.weights["vector"] > 0) is (rest >= 50)
        assert ("space_incomplete" in codes(found)) is (0 < rest < ALL)
        assert "e11" in found.ids
        if 50 <= rest < ALL:
            # Entries without a vector of that model are estimated, as in any space that is being filled.
            assert "vectors_incomplete" in codes(found)
            assert all(0 <= hit.score <= 1 for hit in vault.search("title", limit=ALL))


def test_a_space_on_standby_gets_only_what_came_since(tmp_path):
    first, second = models()
    with opened(tmp_path / "v.db", first, second) as vault:
        fill(vault)
        first.fault = refused()
        vault.embed()
        first.fault = None
        vault.embed()
        fill(vault, 5, ALL)
        assert vault.embed().embedded == 5 and held(vault) == {"test/first": 105, "test/second": ALL}
        fill(vault, 5, 105)
        first.fault = refused()
        before = len(second.sent())
        assert vault.embed().model == "test/second"
        assert len(second.sent()) - before == 10
        assert held(vault) == {"test/first": 105, "test/second": 110}


def test_while_the_second_embeds_the_first_takes_over_again_as_soon_as_it_is_back(tmp_path):
    first, second = models()
    first.fault = down()

    def back(texts):
        first.fault = None

    second.script.extend([None, None, back])
    options = EmbeddingOptions(automatic=False, rest_s=0, batch_texts=10)
    with opened(tmp_path / "v.db", first, second, options=options) as vault:
        fill(vault)
        report = vault.embed()
        assert (report.model, report.missing) == ("test/first", 0)
        assert held(vault) == {"test/first": ALL, "test/second": 30}
        assert [one.model for one in report.earlier] == ["test/first", "test/second"]


def test_a_model_that_answers_one_short_text_and_refuses_every_batch_holds_up_nothing(tmp_path):
    first, second = models()
    first.most = 1
    with opened(tmp_path / "v.db", first, second) as vault:
        fill(vault)
        report = vault.embed()
        assert (report.model, report.missing) == ("test/second", 0)
        assert "test/first: too many tokens a minute" in report.notes[0].cause
        assert 1 < sum(len(texts) > 1 for _, texts in first.calls) <= 3
        # The next run asks it again.
        first.most = ALL
        assert vault.embed().model == "test/first" and held(vault) == {"test/first": ALL, "test/second": ALL}


def test_automatic_embedding_goes_on_with_the_second_and_returns_to_the_first(tmp_path):
    first, second = models()
    first.fault = down()
    with opened(tmp_path / "v.db", first, second, options=EmbeddingOptions(rest_s=0)) as vault:
        fill(vault)
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert held(vault) == {"test/second": ALL}
        status = vault.embedding_status()
        assert "embedding_fallback" in codes(status) and status.activity == "idle"
        assert answering(vault) == "test/second"
        first.fault = None
        # A search sees that the rest is over, and wakes the one that embeds.
        assert answering(vault, "title 12")
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert held(vault) == {"test/first": ALL, "test/second": ALL}
        assert answering(vault, "title 13") == "test/first"


def test_reading_alone_embeds_no_texts(tmp_path):
    first, second = models()
    with opened(tmp_path / "v.db", first, second) as vault:
        fill(vault)
        vault.embed()
    first.fault = refused()
    with opened(tmp_path / "v.db", first, second, options=EmbeddingOptions(rest_s=0)) as vault:
        for n in range(3):
            found = vault.search(f"title {n}")
            assert codes(found)[0] == "embedding_refused" and "e7" in vault.search("title 7").ids
        assert vault.embedding_status(wait_s=20).activity == "idle"
        assert second.sent() == [] and held(vault) == {"test/first": ALL}


def test_no_model_is_asked_by_every_write_while_it_rests(tmp_path):
    first, second = models()
    first.fault = second.fault = refused(429, "quota exhausted")
    with opened(tmp_path / "v.db", first, second, options=EmbeddingOptions(rest_s=60)) as vault:
        for n in range(5):
            fill(vault, 1, n)
            assert vault.embedding_status(wait_s=20).activity == "idle"
        assert len(first.calls) == len(second.calls) == 1
        assert "quota exhausted" in vault.embedding_status().notes[0].cause
        assert "e3" in vault.search("title 3").ids


def test_when_all_fail_every_reason_is_told_and_text_is_found(tmp_path):
    first, second = models()
    third = Switched("third", 8)
    first.fault, second.fault, third.fault = (
        refused(401, "wrong key"),
        down("no network"),
        refused(429, "quota exhausted"),
    )
    with opened(tmp_path / "v.db", first, second, third) as vault:
        fill(vault)
        report = vault.embed()
        assert (report.model, report.embedded, report.missing) == ("test/first", 0, ALL)
        assert report.notes[0].code == "gave_up"
        for reason in ("test/first: wrong key", "test/second: no network", "test/third: quota exhausted"):
            assert reason in report.notes[0].cause
        assert vault.search("title 77").ids[0] == "e77"


def test_vectors_are_never_removed_because_a_model_is_away(tmp_path):
    first, second = models()
    with opened(tmp_path / "v.db", first) as vault:
        fill(vault)
        vault.embed()
    # The first one has no key today, and the second one embeds everything.
    missing = {"provider": "openai", "model": "first", "apiKeyEnv": "SEPTET_NO_SUCH_KEY"}
    with closing(sqlite3.connect(tmp_path / "v.db")) as rows, rows:
        rows.execute("UPDATE spaces SET model = 'openai/first'")
    with opened(tmp_path / "v.db", missing, second) as vault:
        assert vault.embed().complete
        assert held(vault) == {"openai/first": ALL, "test/second": ALL}
        found = vault.search("title 7")
        assert codes(found) == ["embedding_fallback"] and "SEPTET_NO_SUCH_KEY" in found.notes[0].cause
        assert answering(vault) == "test/second"
        models_now = vault.embedding_status().models
        assert [(m.model, m.configured) for m in models_now] == [("openai/first", False), ("test/second", True)]
    with opened(tmp_path / "v.db", second) as vault:
        vault.embed()
    with closing(sqlite3.connect(tmp_path / "v.db")) as rows:
        assert rows.execute("SELECT count(*) FROM vectors").fetchone() == (2 * ALL,)


def test_a_model_that_is_in_no_chain_any_more_is_given_up_only_by_the_first(tmp_path):
    first, second = models()
    old = Letters("old", 8)
    with opened(tmp_path / "v.db", old) as vault:
        fill(vault)
        vault.embed()
    first.fault = refused()
    with opened(tmp_path / "v.db", first, second) as vault:
        vault.embed()
        assert held(vault) == {"test/old": ALL, "test/second": ALL}
        first.fault = None
        vault.embed()
        assert held(vault) == {"test/first": ALL, "test/second": ALL}


def test_each_tier_of_a_federation_follows_its_own_chain(tmp_path):
    first, second = models()
    with opened(tmp_path / "a.db", first, second) as a, opened(tmp_path / "b.db", first, second) as b:
        fill(a, 20)
        fill(b, 20, 50)
        a.embed()
        first.fault = refused()
        b.embed()
        both = Federation({"a": a, "b": b})
        found = both.search("title 7", limit=5)
        # One tier has vectors of the first model alone, whose query it cannot have now; the other goes on.
        plan = both._embedded(both._plan("title 7", {}))
        assert {name: one.space.model for name, one in plan.embeddings.items()} == {"b": "test/second"}
        assert {n.tier: n.code for n in found.notes if n.tier} == {"a": "embedding_refused", "b": "embedding_fallback"}
        assert "e7" in found.ids
