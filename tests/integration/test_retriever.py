"""A retriever asks several corpora, fuses what they find, and says how it went."""

import copy
import json
import math
import pickle
import threading
from dataclasses import replace

import pytest

from corpora_told import LONG_S, Told
from retrieved import hit
from septet import Federation, QueryError, Vault, VectorError
from septet.errors import Closed, EntryError, ProfileError, StoreError
from septet.retrieval.account.envelope import Envelope
from septet.retrieval.corpus import CorpusAnswer, Item, RankedList
from septet.retrieval.planning.plan import RetrievalPlan

PROFILES = ["recall", "planned-retrieval", "septet"]
QUERY = "auth token refresh"
ENTRIES = [
    {"id": "auth", "title": "Token refresh", "description": "The auth token is refreshed before it expires."},
    {"id": "queue", "title": "Queue storage", "description": "Jobs are kept in SQLite, in WAL mode."},
    {"id": "talk", "title": "Monday", "description": "We spoke of the token refresh.", "kind": "message"},
    {"id": "sum", "title": "Summary", "description": "Refresh of tokens, decided.", "kind": "distillation"},
    {"id": "node", "title": "Auth token", "description": "What a client shows.", "kind": "node"},
    {"id": "part", "title": "Refresh", "description": "How tokens refresh.", "kind": "chunk"},
]


class Answering:
    """A corpus that answers what it was made with."""

    name = "bad"

    def __init__(self, answer):
        self.answer = answer

    def search(self, asked):
        return self.answer

    def get(self, entry_id):
        return None


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        for number, entry in enumerate(ENTRIES):
            made.add(**entry, created_at=100 + number, updated_at=100 + number)
        yield made


@pytest.fixture(params=PROFILES)
def retriever(request, vault):
    with vault.retriever(request.param) as made:
        yield made


def plain(found):
    return [(one.id, one.score, one.tier) for one in found]


def test_hits_come_from_every_corpus_that_has_some(retriever):
    found = retriever.retrieve(QUERY)
    # A recall takes what holds every word, where something does.
    assert set(found.ids) == {"auth", "talk", "sum"} | ({"node", "part"} if found.profile != "recall" else set())
    corpora = {"knowledge", "distillations", "messages"} if found.profile == "recall" else set(found.plan.corpora)
    assert {one.tier for one in found} == corpora
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(one.entry is not None for one in found)
    assert not found.degraded
    assert (found.envelope.used_bm25, found.envelope.used_vector, found.envelope.retrieval_tier) == (
        True,
        False,
        "bm25",
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 1_000])
def test_a_limit_is_kept(retriever, limit):
    found = retriever.retrieve("token refresh", limit=limit)
    assert len(found) == min(limit, len(found))
    assert all(len(one.items) <= limit or one.corpus == "recall" for one in found.lists)
    assert found.envelope.returned_hit_count == len(found)


def test_everything_about_a_retrieval_is_json_and_prints(retriever):
    found = retriever.retrieve(QUERY)
    told = json.loads(json.dumps(found.to_dict()))
    assert [one["id"] for one in told["hits"]] == found.ids
    assert told["envelope"] == json.loads(json.dumps(found.envelope.to_dict()))
    assert Envelope.from_dict(told["envelope"]) == found.envelope
    assert RetrievalPlan.from_dict(told["plan"]) == found.plan
    assert {tuple(one["ids"]) for one in told["lists"]} == {
        tuple(item.hit.id for item in one.items) for one in found.lists
    }
    assert "auth" in repr(found)
    assert "Token refresh" in found.to_prompt()
    assert "Token refresh" in found.format()


def test_an_envelope_is_made_once_when_it_is_first_read(retriever):
    retrieval = retriever.retrieve(QUERY)
    with pytest.raises(AttributeError):
        object.__getattribute__(retrieval, "envelope")
    copies = [copy.copy(retrieval), pickle.loads(pickle.dumps(retrieval)), replace(retrieval, took_ms=0.0)]
    assert retrieval.envelope is retrieval.envelope
    assert all(other.envelope == retrieval.envelope for other in copies)
    assert retrieval.envelope.query == QUERY and retrieval.envelope.returned_hit_count == len(retrieval)


def test_a_plan_is_replayed(retriever):
    first = retriever.retrieve(QUERY)
    for plan in (first.plan, json.loads(json.dumps(first.plan.to_dict()))):
        again = retriever.retrieve(QUERY, plan=plan)
        assert plain(again) == plain(first)
        assert again.plan == first.plan
        assert [wave.reason for wave in again.envelope.waves] == [wave.reason for wave in first.envelope.waves]
    assert retriever.plan(QUERY) == first.plan
    other = retriever.retrieve("jobs in sqlite", plan=first.plan)
    assert (other.plan.corpora, other.plan.mode, other.ids[0]) == (first.plan.corpora, first.plan.mode, "queue")


def test_corpora_and_modes_that_a_caller_names_are_asked(retriever):
    for name in retriever.corpora:
        found = retriever.retrieve(QUERY, corpora=name)
        assert found.plan.corpora == (name,)
        assert {one.tier for one in found} <= {name}
        assert not any(one.items for one in retriever.retrieve(QUERY, corpora=[name], mode="vector").lists)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": "3"}, "limit"),
        ({"corpora": ["nowhere"]}, "nowhere"),
        ({"mode": "words"}, "mode"),
        ({"verification": 1}, "verification"),
        ({"plan": {"normalized_query": "x", "corpora": ["nowhere"]}}, "nowhere"),
        ({"plan": 5}, "plan"),
        ({"plan": {"normalized_query": "x"}, "mode": "hybrid"}, "plan"),
        ({"scope": 3}, "scope"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"model": 4}, "model"),
    ],
)
def test_what_cannot_be_understood_is_said(retriever, options, said):
    with pytest.raises(QueryError, match=said):
        retriever.retrieve(QUERY, **options)


def test_a_vector_that_is_none_is_refused(retriever):
    with pytest.raises(VectorError):
        retriever.retrieve(QUERY, query_vector=[0.0, 0.0])
    with pytest.raises(QueryError):
        retriever.retrieve(7)


def test_vectors_of_the_caller_find_what_words_do_not(vault):
    vault.add(id="far", title="Sessions of users", vector=[1.0, 0.0])
    vault.add(id="near", title="Cookies", vector=[0.0, 1.0])
    for profile in PROFILES:
        with vault.retriever(profile) as retriever:
            found = retriever.retrieve("qwertz", query_vector=[0.1, 1.0])
            assert found.ids == ["near", "far"]
            assert found.envelope.used_vector
            assert not found.envelope.used_bm25
            assert found.envelope.retrieval_tier == "vector"


def test_entries_are_fetched_by_the_ids_of_hits(retriever, vault):
    for one in retriever.retrieve(QUERY):
        assert retriever.get(one.id) == vault.get(one.id)
    assert retriever.get("nobody") is None
    with pytest.raises(QueryError):
        retriever.get(4)


def test_own_corpora_are_asked_beside_those_of_the_profile(vault):
    own = Told("wiki", hits=[hit("w1", 0.9, tier="wiki", title="Refresh of the auth token")])
    for profile in PROFILES:
        with vault.retriever(profile, corpora={"wiki": own}) as retriever:
            found = retriever.retrieve(QUERY)
            assert "w1" in found.ids
            assert found.envelope.other_hit_count >= 1
            assert retriever.get("w1").title == "Refresh of the auth token"


@pytest.mark.parametrize("corpora", [5, {"wiki": 5}, {5: Told("x")}, {"other": Told("wiki")}])
def test_what_is_no_corpus_is_refused(vault, corpora):
    with pytest.raises(QueryError):
        vault.retriever(corpora=corpora)


def test_what_fails_is_a_note_and_a_closed_vault_an_error(vault, tmp_path):
    def fail(asked):
        raise KeyError("sk-words")

    with vault.retriever("recall", corpora={"bad": Told("bad", fail)}) as retriever:
        found = retriever.retrieve(QUERY)
        assert ("corpus_failed", "bad") in [(note.code, note.tier) for note in found.notes]
        assert found.degraded and found.ids
        assert "sk-words" not in json.dumps(found.to_dict())
    with Vault(tmp_path / "v.db") as other:
        retriever = other.retriever()
    with pytest.raises(Closed):
        retriever.retrieve(QUERY)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {"hits": []},
        [hit("w1")],
        CorpusAnswer([[hit("w1")]]),
        CorpusAnswer([RankedList("text", "bad", [hit("w1")])]),
        CorpusAnswer([RankedList("text", "bad", [Item("k", {"id": "w1"})])]),
        CorpusAnswer([], notes=["late"]),
        CorpusAnswer(None),
    ],
)
def test_a_corpus_that_answers_something_else_has_failed_and_the_others_answer(vault, answer):
    with vault.retriever("recall", corpora={"bad": Answering(answer)}) as retriever:
        found = retriever.retrieve(QUERY)
        assert [note.tier for note in found.notes if note.code == "corpus_failed"] == ["bad"]
        assert found.ids and found.degraded


def test_threads_may_share_a_retriever(retriever):
    alone = plain(retriever.retrieve(QUERY))
    found, barrier = [], threading.Barrier(8)

    def ask():
        barrier.wait(LONG_S)
        found.append(plain(retriever.retrieve(QUERY)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(LONG_S)
    assert found == [alone] * 8


def test_a_closed_retriever_says_so_and_leaves_the_vault_open(vault):
    retriever = vault.retriever()
    retriever.close()
    retriever.close()
    for call in (retriever.retrieve, retriever.plan, retriever.get, lambda query: retriever.explain(query, "auth")):
        with pytest.raises(Closed):
            call(QUERY)
    assert vault.get("auth") is not None


def test_a_federation_is_retrieved_from_like_a_vault(vault):
    with Vault(":memory:", clock=lambda: 1_000.0) as team:
        team.add(id="team", title="Auth token refresh of the team")
        with Federation({"agent": vault, "team": team}) as both:
            for profile in PROFILES:
                with both.retriever(profile) as retriever:
                    found = retriever.retrieve(QUERY)
                    assert {"auth", "team"} <= set(found.ids)


def test_other_vaults_are_opened_for_reading_and_closed(vault, tmp_path):
    path = tmp_path / "docs.db"
    with Vault(path) as docs:
        docs.add(id="doc", title="Auth tokens refresh", kind="chunk")
    config = {"profile": "septet", "corpora": {"docs": str(path)}}
    with vault.retriever(config) as retriever:
        assert "doc" in retriever.retrieve(QUERY).ids
        mirror = retriever.corpora["docs_mirror"]
    with pytest.raises(Closed):
        mirror.get("doc")
    sources = [{"name": "own"}, {"name": "docs", "vault": "docs", "kinds": "chunk"}]
    recall = {"profile": "recall", "search": {"sources": sources}, "corpora": {"vaults": {"docs": str(path)}}}
    with vault.retriever(recall) as retriever:
        assert {"doc", "auth"} <= set(retriever.retrieve(QUERY).ids)
    with pytest.raises(StoreError):
        vault.retriever({"corpora": {"docs": str(tmp_path / "nowhere.db")}})


def test_a_policy_of_the_caller_counts(vault):
    with vault.retriever("planned-retrieval", policy={"rrf_k": 1.0, "version": 7}) as retriever:
        found = retriever.retrieve(QUERY)
        assert found[0].score >= 0.5
        assert found.envelope.policy_version == 7
    with pytest.raises(ProfileError):
        vault.retriever(policy={"rrf_k": "many"})
    with pytest.raises(EntryError):
        vault.add()


def test_a_recall_of_one_vault_costs_its_searches_and_no_thread(vault, monkeypatch):
    searched, started = [], []
    own = Vault.search
    monkeypatch.setattr(Vault, "search", lambda self, *args, **more: searched.append(more) or own(self, *args, **more))
    with vault.retriever("recall") as retriever:
        retriever.retrieve(QUERY)
        searched.clear()
        # However slow this machine is now.
        monkeypatch.setattr("septet.retrieval.waves.LEAST_HIDDEN_MS", math.inf)
        monkeypatch.setattr("septet.retrieval.waves.call_on_thread", lambda *_: started.append(1))
        retriever.retrieve(QUERY)
    assert not started
    # One for each source and leg.
    assert 3 <= len(searched) <= 6


def test_the_envelope_says_how_sqlite_works_on_the_vault_and_nothing_of_a_federation(vault, tmp_path):
    def told(knowledge):
        with knowledge.retriever("recall") as made:
            envelope = made.retrieve("token").envelope
        return envelope.sqlite_journal_mode, envelope.sqlite_fts5_reported, envelope.sqlite_foreign_keys_on

    mode, fts5, keys = told(vault)
    assert mode in ("wal", "delete", "memory") and fts5 in (True, False) and keys in (True, False)
    with Vault(tmp_path / "on-disk.db") as other:
        # As the folder allows.
        assert told(other)[0] in ("wal", "delete")
    with Vault(":memory:") as memory, Federation({"project": vault}) as both:
        assert told(memory)[0] == "memory"
        assert told(both) == (None, None, None)


@pytest.mark.parametrize("profile", ["recall", "planned-retrieval"])
def test_ages_are_counted_by_the_clock_of_the_vault(profile):
    now = [8_640_000.0]
    with Vault(":memory:", clock=lambda: now[0]) as vault:
        # Of even ages, and long before; of less even ages, and now.
        vault.add(id="old", title="token", kind="distillation", attrs={"c_norm": 0.0}, updated_at=0.0, created_at=0.0)
        vault.add(id="new", title="token", kind="distillation", attrs={"c_norm": 0.05})
        with vault.retriever(profile) as retriever:
            found = retriever.retrieve("token")
            if profile == "recall":
                quality = next(one for one in found.lists if one.name == "quality")
                assert [item.hit.id for item in quality.items] == ["new", "old"]
                return
            ages = {hit.id: hit.raw["age_factor"] for hit in found if hit.tier == "memory"}
            assert ages["new"] == 1.0 > ages["old"]


@pytest.mark.parametrize(("profile", "there"), [("septet", False), ("planned-retrieval", True)])
def test_an_entry_that_holds_a_stop_word_of_the_query_alone_is_no_answer(vault, profile, there):
    vault.add(id="phone", title="The phone", description="Call in the night.")
    with vault.retriever(profile) as retriever:
        assert ("phone" in retriever.retrieve("the weather with whales").ids) is there
        # Parts of words are found as ever.
        assert "phone" in retriever.retrieve("hone").ids


@pytest.mark.parametrize("profile", PROFILES)
def test_a_text_for_a_prompt_is_as_long_as_the_configuration_says_unless_the_caller_does(vault, profile):
    for number in range(20):
        vault.add(title=f"Note {number}", description=f"The token refresh of client {number}. " * 40)
    texts = {}
    for budget in (2_000, 12_000):
        config = {"profile": profile, "limit": 12, "search": {"recall": {"charBudget": budget, "maxResults": 20}}}
        with vault.retriever(config) as retriever:
            found = retriever.retrieve("token refresh of a client")
            texts[budget] = found.format()
            assert len(found.format(char_budget=2_000)) <= len(texts[budget])
    assert len(texts[2_000]) < len(texts[12_000])


@pytest.mark.parametrize("profile", ["septet", "recall", "planned-retrieval"])
def test_a_retrieval_without_the_key_of_its_embedder_is_degraded_and_says_so(tmp_path, monkeypatch, profile):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Vault(tmp_path / "v.db", embedder={"provider": "openai"}) as vault:
        vault.add(title="Token refresh")
        with vault.retriever(profile) as retriever:
            found = retriever.retrieve("token refresh")
    (note,) = [one for one in found.notes if one.code == "no_embedder"]
    assert "OPENAI_API_KEY" in note.cause and found.degraded


@pytest.mark.parametrize("profile", ["septet", "recall", "planned-retrieval"])
def test_a_retrieval_without_an_embedder_configured_misses_nothing(tmp_path, profile):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="Token refresh")
        with vault.retriever(profile) as retriever:
            found = retriever.retrieve("token refresh")
    assert not found.degraded and "no_embedder" not in [one.code for one in found.notes]
