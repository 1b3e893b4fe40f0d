"""Searches with an embedder: the question gets its vector in time, or the search goes on without it and says so."""

import threading

import numpy as np
import pytest

from doubles import Letters, down, refused
from septet import Closed, EmbeddingOptions, Federation, QueryError, Vault
from septet.embedding.query.query_embedder import QueryEmbedder

BY_HAND = EmbeddingOptions(automatic=False)
TITLES = ("red apples", "green apples", "grey stones")


def filled(path, embedder, options=BY_HAND, **more):
    vault = Vault(path, embedder=embedder, embedding_options=options, clock=lambda: 1_000.0, **more)
    vault.add_many({"id": title.replace(" ", "-"), "title": title} for title in TITLES)
    vault.embed()
    return vault


@pytest.fixture
def embedder():
    return Letters()


@pytest.fixture
def vault(tmp_path, embedder):
    with filled(tmp_path / "v.db", embedder) as made:
        yield made


def codes(results):
    return [n.code for n in results.notes]


def test_a_search_embeds_its_question_as_a_question(vault, embedder):
    found = vault.search("apple")
    assert embedder.calls[-1] == ("query", ("apple",))
    assert set(found.ids[:2]) == {"red-apples", "green-apples"} and not found.notes
    assert found.weights["vector"] > 0 and found[0].signals["vector"] is not None


def test_the_answer_is_the_one_for_the_same_vector_given_by_hand(vault, embedder):
    row = embedder.embed(["apples of any colour"], "query")[0]
    by_hand = vault.search("apples of any colour", query_vector=row, model="test/letters")
    found = vault.search("apples of any colour")
    assert [(h.id, h.score) for h in found] == [(h.id, h.score) for h in by_hand]


@pytest.mark.parametrize("options", [{"legs": "text"}, {"query_vector": np.ones(32)}])
def test_no_question_is_embedded_when_none_is_needed(vault, embedder, options):
    assert vault.search("apples", **options)
    assert embedder.sent("query") == []


@pytest.mark.parametrize("query", ["", "   "])
def test_a_question_without_words_is_not_sent(vault, embedder, query):
    vault.search(query)
    assert embedder.sent("query") == []


def test_vectors_alone_may_be_asked_when_there_is_an_embedder(vault, tmp_path):
    assert vault.search("apples", legs="vector").ids[-1] == "grey-stones"
    with Vault(tmp_path / "other.db") as other, pytest.raises(QueryError, match="nor an embedder"):
        other.search("apples", legs="vector")


def test_a_question_asked_again_is_remembered(tmp_path, embedder):
    options = EmbeddingOptions(automatic=False, query_memory=2)
    with filled(tmp_path / "v.db", embedder, options) as vault:
        for query in ("one", "two", "one", "three", "two"):
            vault.search(query)
        assert embedder.sent("query") == ["one", "two", "three", "two"]


def test_nothing_need_be_remembered(tmp_path, embedder):
    options = EmbeddingOptions(automatic=False, query_memory=0)
    with filled(tmp_path / "v.db", embedder, options) as vault:
        vault.search("one"), vault.search("one")
        assert embedder.sent("query") == ["one", "one"]


def test_a_vault_without_vectors_asks_nothing_and_says_so(tmp_path, embedder):
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=BY_HAND) as vault:
        assert codes(vault.search("apples")) == []
        vault.add(title="red apples")
        found = vault.search("apples")
        assert codes(found) == ["no_vectors"] and len(found) == 1 and found.weights["vector"] == 0
    assert embedder.calls == []


@pytest.mark.parametrize(
    ("fault", "code"), [(down(), "embedding_unavailable"), (refused(), "embedding_refused"), (ValueError("x"), None)]
)
def test_a_search_whose_question_cannot_be_embedded_answers_by_text(vault, embedder, fault, code):
    text = vault.search("apples", legs="text")
    embedder.script.append(fault)
    found = vault.search("apples")
    assert codes(found) == [code or "embedding_unavailable"] and found.degraded
    assert [(h.id, h.score) for h in found] == [(h.id, h.score) for h in text]
    assert found.weights == text.weights


def test_vectors_alone_that_cannot_be_had_give_nothing_and_a_note(vault, embedder):
    embedder.script.append(down())
    found = vault.search("apples", legs="vector")
    assert not found and codes(found) == ["embedding_unavailable"]


class Slow:
    """A call that answers when it is told to."""

    def __init__(self):
        self.may_answer = threading.Event()

    def __call__(self, texts):
        self.may_answer.wait(30)


def test_a_late_answer_does_not_hold_up_the_search_and_serves_the_next(tmp_path, embedder):
    options = EmbeddingOptions(automatic=False, query_timeout_s=0.05, rest_s=1e6, longest_rest_s=1e6)
    slow = Slow()
    with filled(tmp_path / "v.db", embedder, options) as vault:
        embedder.script.append(slow)
        assert "no answer within 0.05 s" in vault.search("apples").notes[0].cause
        assert codes(vault.search("stones")) == ["embedding_unavailable"]
        assert embedder.sent("query") == ["apples"]
        slow.may_answer.set()
        threads = [t for t in threading.enumerate() if t.name == "septet-query-embedding"]
        for thread in threads:
            thread.join()
        assert codes(vault.search("apples")) == codes(vault.search("stones")) == []
        assert embedder.sent("query") == ["apples", "stones"]


def test_those_who_ask_the_same_question_side_by_side_wait_for_one_answer(embedder):
    slow, found = Slow(), []
    embedder.script.append(slow)
    questions = QueryEmbedder(embedder, options=BY_HAND)
    threads = [threading.Thread(target=lambda: found.append(questions.embed("apples"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert embedder.asked.wait(30)
    slow.may_answer.set()
    for thread in threads:
        thread.join()
    assert embedder.sent("query") == ["apples"]
    assert len(found) == 8 and len({tuple(vector.scan) for vector in found}) == 1


def test_a_call_that_was_left_behind_answers_nobody_else(embedder):
    slow, again = Slow(), threading.Event()
    embedder.script.extend([slow, lambda texts: again.set()])
    questions = QueryEmbedder(embedder, options=EmbeddingOptions(automatic=False, query_timeout_s=0.05, rest_s=0))
    assert questions.embed("apples").code == "embedding_unavailable"
    # The call is still out; the next one does not wait for it.
    questions.embed("apples")
    assert again.wait(30)
    assert embedder.sent("query") == ["apples", "apples"]
    slow.may_answer.set()


def joined(questions, text):
    """Ask, and wait for what goes on in the background."""
    answer = questions.embed(text)
    for thread in threading.enumerate():
        if thread.name == "septet-query-embedding":
            thread.join()
    return answer


def test_after_a_failure_it_rests_and_tries_again_in_the_background_each_time_later(embedder):
    now = [0.0]
    options = EmbeddingOptions(rest_s=1.0, longest_rest_s=3.0)
    questions = QueryEmbedder(embedder, options=options, clock=lambda: now[0])
    embedder.script.extend([down()] * 4)
    tried = []
    for tenth in range(150):
        now[0] = tenth / 10
        before = len(embedder.calls)
        answer = joined(questions, f"question {tenth}")
        if len(embedder.calls) > before:
            tried.append(now[0])
        if not questions.backing_off:
            break
    # The one that succeeded was in the background, so its search still went without.
    assert tried == [0.0, 1.0, 3.0, 6.0, 9.0] and answer.code == "embedding_unavailable"
    assert questions.embed("another").scan.shape == (32,)


def test_it_recovers_at_once_when_the_pipeline_gets_an_answer(tmp_path, embedder):
    options = EmbeddingOptions(automatic=False, rest_s=1e6, longest_rest_s=1e6)
    with filled(tmp_path / "v.db", embedder, options) as vault:
        embedder.script.append(down())
        assert vault.search("apples").notes and not vault.embedding_status().asking
        assert codes(vault.search("stones")) == ["embedding_unavailable"]
        vault.add(title="new")
        vault.embed()
        assert vault.embedding_status().asking and codes(vault.search("stones")) == []


def test_explain_and_weights_speak_of_the_search_as_it_is(vault, embedder):
    told = vault.explain("apples", "red-apples")
    found = vault.search("apples")
    assert told.score == next(h.score for h in found if h.id == "red-apples")
    assert {leg.leg for leg in told.legs} == {"text", "vector"} and told.weights == found.weights
    assert vault.weights().values == vault.weights(vectors=True).values != vault.weights(vectors=False).values
    embedder.script.append(down())
    told = vault.explain("some apples", "red-apples")
    assert [n.code for n in told.notes] == ["embedding_unavailable"] and told.weights["vector"] == 0
    assert vault.weights().values == vault.weights(vectors=False).values


def test_a_question_is_asked_once_for_vaults_of_one_model(tmp_path, embedder):
    with filled(tmp_path / "a.db", embedder) as a, filled(tmp_path / "b.db", Letters()) as b:
        b.add(id="only-b", title="blue apples")
        b.embed()
        with Federation({"a": a, "b": b}) as mind:
            found = mind.search("apples", legs="vector")
            assert set(found.ids) == {"red-apples", "green-apples", "grey-stones", "only-b"} and not found.notes
            assert mind.explain("apples", "only-b").found
    assert embedder.sent("query") == ["apples"]


def test_vaults_of_different_models_are_each_searched_with_their_own_vector(tmp_path):
    one, two = Letters("one", 32), Letters("two", 16)
    with filled(tmp_path / "a.db", one) as a, Vault(tmp_path / "b.db", embedder=two, embedding_options=BY_HAND) as b:
        b.add(id="only-b", title="blue apples")
        b.embed()
        with Federation({"a": a, "b": b}) as mind:
            found = mind.search("apples", legs="vector")
            assert len(found) == 4 and not found.notes
            assert all(h.signals["vector"] is not None for h in found)
            two.script.append(down())
            found = mind.search("apples again", legs="vector")
            assert len(found) == 3 and codes(found) == ["embedding_unavailable"]
    assert (one.sent("query"), two.sent("query")) == (["apples", "apples again"], ["apples", "apples again"])


def test_a_tier_without_an_embedder_uses_another_tiers_of_its_model(tmp_path, embedder):
    with filled(tmp_path / "a.db", Letters()):
        pass
    with Vault(tmp_path / "a.db") as a, filled(tmp_path / "b.db", embedder) as b, Vault(tmp_path / "c.db") as c:
        c.add(title="plain apples")
        assert codes(a.search("apples")) == []
        with Federation({"a": a, "b": b, "c": c}) as mind:
            found = mind.search("apples")
            assert {t.name: t.error for t in found.tiers} == {"a": "", "b": "", "c": ""}
            assert [(n.code, n.tier) for n in found.notes] == [("no_vectors", "c")]
            assert found.weights["vector"] > 0


def test_naming_a_model_picks_the_space_and_an_unknown_one_goes_without(vault, embedder):
    assert vault.search("apples", model="test/letters").weights["vector"] > 0
    found = vault.search("apples", model="test/unknown")
    assert codes(found) == ["no_embedder"] and found.weights["vector"] == 0
    assert embedder.sent("query") == ["apples"]


def test_a_closed_vault_is_closed_also_for_questions(tmp_path, embedder):
    vault = filled(tmp_path / "v.db", embedder)
    vault.close()
    with pytest.raises(Closed):
        vault.search("apples")
    assert not embedder.closed
