"""Corpora that a caller gives: other vaults, another search, functions; each is asked, explained and fetched from."""

import threading

import pytest

from corpora_told import LONG_S, Told
from septet import Federation, QueryError, Vault
from septet.client import ExternalFirst

PROFILES = ["recall", "planned-retrieval", "septet"]
FOUND = [{"id": "there", "title": "Token refresh elsewhere", "description": "As the service says."}]


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add(id="here", title="Token refresh", description="After five minutes.")
        yield made


@pytest.fixture
def other():
    with Vault(":memory:") as made:
        made.add(id="there", title="Token refresh elsewhere", vector=[1.0, 0.0])
        made.add(id="ducks", title="Ducks swim", vector=[0.0, 1.0])
        yield made


@pytest.fixture(params=["vault", "federation", "external", "external-behind", "function"])
def given(request, other):
    def fails(query, limit):
        raise OSError("no")

    return {
        "vault": other,
        "federation": Federation({"project": other}),
        "external": ExternalFirst(lambda query, limit: FOUND, other, name="service"),
        "external-behind": ExternalFirst(fails, other),
        "function": lambda query, limit: FOUND,
    }[request.param]


@pytest.mark.parametrize("name", ["remote", "docs_mirror", "wiki"])
@pytest.mark.parametrize("profile", PROFILES)
def test_whatever_finds_something_is_a_corpus(vault, given, profile, name):
    with vault.retriever(profile, corpora={name: given}) as retriever:
        found = retriever.retrieve("token refresh")
        assert {"here", "there"} == {*found.ids}
        assert next(one.tier for one in found if one.id == "there") == name
        assert retriever.get("there").title == "Token refresh elsewhere"
        assert retriever.explain("token refresh", "there").found
        assert "corpus_failed" not in {note.code for note in found.notes}


@pytest.mark.parametrize("profile", PROFILES)
def test_another_vault_is_asked_by_vectors_too(vault, other, profile):
    with vault.retriever(profile, corpora={"remote": other}) as retriever:
        found = retriever.retrieve("qwertz", query_vector=[0.1, 1.0])
        assert found.ids == ["ducks", "there"]


def test_a_vault_that_was_given_stays_open_when_the_retriever_is_closed(vault, other):
    with vault.retriever("planned-retrieval", corpora={"remote": other}) as retriever:
        retriever.retrieve("token")
    assert other.count() == 2


def test_a_vault_that_was_given_says_why_it_missed_an_entry(vault, other):
    with vault.retriever("planned-retrieval", corpora={"remote": other}) as retriever:
        told = {one.corpus: one.reason for one in retriever.explain("token", "ducks").corpora}
        assert told["remote"] == "by words: holds none of token"


def test_the_vault_behind_another_search_answers_within_the_deadline(vault, other):
    gate = threading.Event()
    hangs = ExternalFirst(lambda query, limit: gate.wait(LONG_S) and None, other, timeout_s=60.0)
    with vault.retriever("planned-retrieval", corpora={"remote": hangs}) as retriever:
        found = retriever.retrieve("token refresh", timeout_s=2.0, verification=False)
        assert "there" in found.ids
        assert "external_failed" in {note.code for note in found.notes}
    gate.set()


@pytest.mark.parametrize("given", [None, 1, "there.db", Vault, object(), {"search": 1}, [FOUND]])
def test_what_finds_nothing_is_no_corpus(vault, given):
    with pytest.raises(QueryError, match="wanted an object with search, get and name, a vault, or a function"):
        vault.retriever(corpora={"remote": given})


@pytest.mark.parametrize("profile", PROFILES)
def test_as_many_as_may_be_given_are_asked(vault, profile):
    own = {name: Told(name) for name in (f"wiki{n}" for n in range(64))}
    with vault.retriever(profile, corpora=own) as retriever:
        assert {*own} < {*retriever.retrieve("token").plan.corpora}


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
def test_a_name_that_no_plan_can_have_is_refused(vault, name):
    with pytest.raises(QueryError, match="printable"):
        vault.retriever(corpora={name: Told(name)})
