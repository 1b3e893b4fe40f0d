"""Tavily after the other corpora, where the policy wants it: one wave more, whose hits join the others."""

import threading

import pytest

from corpora_told import LONG_S, Told
from embedding_server import Reply
from retrieved import hit
from septet import Vault
from septet.retrieval import Policy
from septet.retrieval.corpora.web import WebCorpus, WebOptions
from septet.retrieval.corpus import CorpusAnswer
from web_server import TAVILY_KEY, WebServer, results

QUERY = "flight of doves"
ON = {"web_enabled": True, "tavily_enabled": True, "persist_web_hits": False}


@pytest.fixture
def server():
    with WebServer() as made:
        made.found["searxng"] = results("https://s.example/", score=0.9)
        made.found["tavily"] = results("https://t.example/", score=0.8)
        yield made


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        yield made


@pytest.fixture
def retrieve(server, vault):
    opened = []

    def asked(query=QUERY, corpora=(), key=TAVILY_KEY, options=None, **knobs):
        policy = Policy(**{**ON, "searxng_url": server.url, **knobs})
        policy = policy.with_secrets(lambda name: key if name == "TAVILY_API_KEY" else None)
        where = WebOptions(duckduckgo_url=f"{server.url}/ddg", tavily_url=f"{server.url}/tavily")
        web = WebCorpus(policy, vault, options=where)
        opened.append(web)
        own = {"web_research": web, **{one.name: one for one in corpora}}
        with vault.retriever({"profile": "planned-retrieval", "hops": 0}, corpora=own, policy=policy) as retriever:
            return retriever.retrieve(query, **(options or {}))

    yield asked
    for web in opened:
        web.close()


def reasons(found):
    return [(one.reason, one.why) for one in found.envelope.waves if one.reason == "corrective"]


def addresses(found):
    return sorted(str(one.source) for one in found)


def test_tavily_is_asked_where_nothing_but_the_web_found_anything(retrieve, server):
    found = retrieve()
    assert reasons(found) == [("corrective", "local_empty")]
    assert addresses(found) == ["https://s.example/", "https://t.example/"]
    assert len(server.asked("tavily")) == 1
    wave = found.envelope.waves[-1]
    assert wave.kept and {name: one.lists for one in wave.asked for name in one.lists if name == "tavily"}
    assert found.envelope.web_hit_count == 2


def test_tavily_is_not_asked_where_the_vault_has_something(retrieve, server, vault):
    vault.add(title="Doves in flight")
    assert not reasons(retrieve()) and not server.asked("tavily")


def test_tavily_is_asked_of_weak_evidence_if_the_policy_wants_it(retrieve, server, vault):
    vault.add(title="Flight of doves", description="With wings.")
    knobs = {"tavily_fire_on_weak": True, "verification_weak_evidence_threshold": 1.0}
    found = retrieve(**knobs)
    assert reasons(found) == [("corrective", "weak_evidence_quality")]
    assert "https://t.example/" in addresses(found)


@pytest.mark.parametrize("knobs", [{"tavily_fire_on_empty": False}, {"tavily_enabled": False}, {"web_enabled": False}])
def test_tavily_is_not_asked_where_the_policy_does_not_want_it(retrieve, server, knobs):
    assert not reasons(retrieve(**knobs)) and not server.asked("tavily")


@pytest.mark.parametrize("options", [{"corpora": ["memory"]}, {"verification": False}])
def test_tavily_is_not_asked_where_the_caller_does_not_want_it(retrieve, server, options):
    assert not reasons(retrieve(options=options)) and not server.asked("tavily")


def test_what_tavily_found_in_its_turn_is_not_found_again(retrieve, server):
    server.found["searxng"] = []
    found = retrieve()
    assert addresses(found) == ["https://t.example/"]
    assert not reasons(found) and len(server.asked("tavily")) <= 2


def test_spent_credits_and_a_missing_key_are_notes(retrieve, server):
    found = retrieve(tavily_credit_budget_per_session=0)
    assert "tavily_budget_exhausted" in {note.code for note in found.notes}
    assert addresses(found) == ["https://s.example/"]
    assert any("key" in note.cause for note in retrieve(key=None).notes)
    assert not server.asked("tavily")


def test_a_service_that_fails_leaves_what_was_found(retrieve, server):
    server.fail("tavily", *[Reply(500, {"detail": "no"})] * 5)
    found = retrieve()
    assert addresses(found) == ["https://s.example/"]
    assert "web_failed" in {note.code for note in found.notes}


class Correcting(Told):
    """A corpus of nothing, that finds a hit when it is asked for a correction."""

    def corrective(self, asked, *, local_empty, quality):
        self.does(asked)
        self.told = (local_empty, quality)
        return CorpusAnswer(self.search(asked).lists)


def test_a_correction_that_hangs_is_left_out_when_the_time_is_over(vault):
    gate = threading.Event()
    plain = Told("wiki")
    plain.corrective = lambda asked, **_: gate.wait(LONG_S) and None
    with vault.retriever("planned-retrieval", corpora={"wiki": plain}) as retriever:
        found = retriever.retrieve("ducks", timeout_s=0.3)
        assert ("deadline", "wiki") in {(note.code, note.tier) for note in found.notes}
        assert reasons(found) == [("corrective", "local_empty")]
    gate.set()


def test_a_correction_that_raises_is_a_note(vault):
    plain = Told("wiki")

    def corrective(asked, **_):
        raise OSError("no")

    plain.corrective = corrective
    with vault.retriever("planned-retrieval", corpora={"wiki": plain}) as retriever:
        assert ("corpus_failed", "wiki") in {(note.code, note.tier) for note in retriever.retrieve("ducks").notes}


def test_a_correction_is_told_how_little_was_found_and_a_recall_makes_none(vault):
    wiki = Correcting("wiki", hits=[hit("g", tier="wiki")])
    wiki.told = None
    for profile in ("recall", "planned-retrieval"):
        with vault.retriever(profile, corpora={"wiki": wiki}) as retriever:
            retriever.retrieve("gizmo")
            assert wiki.told == (None if profile == "recall" else (True, pytest.approx(0.7375)))
