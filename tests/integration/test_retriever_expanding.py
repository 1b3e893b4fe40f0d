"""A retriever searches for other phrasings of a query too, and answers in time when nobody says any."""

import threading
import time

import pytest

from septet import Vault

LONG_S = 30.0
#: What a recall needs beside the model; the other profiles ask it whenever there is one.
CONFIG = {"search": {"queryExpansion": True}}
PROFILES = ["recall", "planned-retrieval", "septet"]


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add(id="e1", title="Renew credentials", description="Once a quarter.")
        made.add(id="e2", title="Rotate crops", description="Once a year.")
        made.add(id="e3", title="Geese", description="They fly.")
        yield made


def found(retrieval):
    return {hit.id for hit in retrieval}


@pytest.mark.parametrize("profile", PROFILES)
def test_what_only_other_words_find_is_found_too(vault, profile):
    with vault.retriever(profile) as plain:
        alone = found(plain.retrieve("rotate keys", timeout_s=LONG_S))
    with vault.retriever(profile, expander=lambda query: ["renew credentials"]) as retriever:
        both = retriever.retrieve("rotate keys", timeout_s=LONG_S)
    assert "e1" not in alone and "e2" in alone
    assert {"e1", "e2"} <= found(both) and "expansion_failed" not in [note.code for note in both.notes]


@pytest.mark.parametrize("profile", PROFILES)
def test_an_expander_that_hangs_leaves_time_for_the_answer(vault, profile):
    never = threading.Event()
    with vault.retriever(profile, expander=lambda query: [str(never.wait(LONG_S))]) as retriever:
        began = time.monotonic()
        retrieval = retriever.retrieve("rotate crops", timeout_s=1.0)
        took_s = time.monotonic() - began
    never.set()
    assert "e2" in found(retrieval) and "expansion_failed" in [note.code for note in retrieval.notes]
    # Not a measurement: a search that waits for the expander would take thirty times as long.
    assert took_s < LONG_S / 2


@pytest.mark.parametrize("profile", PROFILES)
def test_notes_are_about_the_words_that_were_asked_and_not_about_other_phrasings(vault, profile):
    told = {}
    for phrasings in ([], ["renew credentials of ducks", "the", "credentailz"]):
        with vault.retriever(profile, expander=lambda query, said=phrasings: said) as retriever:
            found = retriever.retrieve("rotate crops", timeout_s=LONG_S)
            told[len(phrasings)] = [note.code for note in found.notes if note.code != "expansion_failed"]
    assert told[3] == told[0]


@pytest.mark.parametrize("query", ["rotate keys", " "])
def test_phrasings_that_are_wanted_of_no_model_are_missed_in_a_note(vault, query):
    with vault.retriever({"profile": "recall", **CONFIG}) as retriever:
        retrieval = retriever.retrieve(query)
    notes = [note for note in retrieval.notes if note.code == "expansion_failed"]
    assert [note.cure for note in notes] == ["name a model in expansion, or pass an expander"] * bool(query.strip())
    assert found(retrieval) == ({"e2"} if query.strip() else set())


@pytest.mark.parametrize("kind", ["entry", "chunk"])
@pytest.mark.parametrize("vectors", [False, True])
def test_an_entry_that_another_phrasing_names_is_among_the_first(kind, vectors):
    def placed(at, y):
        return {"kind": kind, "vector": [at, y] if vectors else None}

    with Vault(":memory:") as vault:
        vault.add(id="refund", title="Refund policy", description="Within a week.", **placed(0.1, 0.99))
        for at in range(14):
            vault.add(
                id=f"m{at}", title=f"Money {at}", description="What customers say.", **placed(0.9 - 0.02 * at, 0.4)
            )
        for at in range(100):
            vault.add(id=f"d{at}", title=f"Ducks {at}", description="They swim.", **placed(-0.5, 0.9 + 0.001 * at))
        with vault.retriever(expander=lambda query: ["refund policy"]) as retriever:
            given = {"query_vector": [1.0, 0.3]} if vectors else {}
            found = retriever.retrieve("money returned please", limit=15, timeout_s=LONG_S, **given)
            # By vectors fourteen others are near, but no word of the query is in any.
            assert found.ids.index("refund") == 0 and len(found) == 15
