"""Document frequencies and IDF: the recorded values, and exactness after every change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import closing

import pytest

from golden.differences import differs
from golden.loader import NOW, agent_vault, fields_of, recording
from golden.reference import RECORDED, Corpus, is_valid, tokens
from septet import Vault, _core
from septet.sqlite.tier.read_view import open_read_view

VOCABULARY = recording("vocabulary")
AGENT = recording("corpus")["agent"]


def frequencies(vault: Vault) -> _core.Frequencies:
    """Return the document frequencies that a search would use now."""
    (tier,) = vault._tiers()
    plan = vault._plan("kumquat", {"profile": "seven-signals"})
    with closing(open_read_view(tier.store, tier.manager, plan)) as view:
        return view.snapshot.terms.frequencies


def from_scratch(vault: Vault, ids: list[str], now: float) -> tuple[int, dict[str, int]]:
    """Count the valid entries and their words from what the vault gives back."""
    held = []
    for entry in vault.load(ids):
        if (entry.valid_from or 0) <= now < (entry.valid_until or math.inf):
            text = " ".join((entry.title, entry.description, entry.context, *entry.tags))
            held.append(set(tokens(text, {"unicode-tokens"})))
    return len(held), dict(Counter(term for found in held for term in found))


def test_the_number_of_counted_entries_is_the_recorded_one(agent):
    assert frequencies(agent(False, False)).documents == VOCABULARY["docCount"] == 66
    assert sum(is_valid(entry, NOW) for entry in AGENT) == 66


def test_the_reference_gives_every_recorded_idf(corpus: Callable[..., Corpus]):
    assert corpus().idf(RECORDED) == pytest.approx(VOCABULARY["idf"], abs=1e-12)
    assert len(VOCABULARY["idf"]) == 721


@differs("unicode-tokens")
def test_every_idf_is_the_recorded_one_but_for_words_with_other_letters(agent, corpus):
    found = frequencies(agent(False, False))
    ours = {term: found.idf(term) for term in found.to_dict()}
    recorded = VOCABULARY["idf"]
    assert ours == pytest.approx(corpus().idf({"unicode-tokens"}), abs=1e-12)
    other = {t for e in AGENT for t in _tokens(e, unicode=True) ^ _tokens(e, unicode=False)}
    common = recorded.keys() - other
    assert len(common) >= 700
    assert {term: ours[term] for term in common} == pytest.approx({t: recorded[t] for t in common}, abs=1e-12)
    assert ours.keys() ^ recorded.keys() <= other
    # What is left of a word when its accents are blanked was never a word.
    assert {"caf", "bersetzung"} <= recorded.keys() - ours.keys()
    assert {"cafe", "ubersetzung", "пошук", "認証"} <= ours.keys() - recorded.keys()


def _tokens(entry: dict, *, unicode: bool) -> set[str]:
    text = " ".join((entry["title"], entry["description"], entry.get("context") or "", *entry["tags"]))
    return set(tokens(text, {"unicode-tokens"} if unicode else RECORDED))


def test_a_full_rebuild_was_recorded_with_exact_values(agent):
    first = VOCABULARY["incremental"][0]
    found = frequencies(agent(False, False))
    assert first["step"] == "after full rebuild"
    for term, idf in first["idf"].items():
        assert (found.idf(term) if found.document_frequency(term) else None) == pytest.approx(idf, abs=1e-12)


@differs("exact-document-frequencies")
def test_a_captured_entry_is_counted_exactly_where_the_recorded_vocabulary_drifts():
    captured = next(s for s in VOCABULARY["incremental"] if s.get("result", {}).get("captured"))
    ids = [entry["id"] for entry in AGENT] + [captured["input"]["id"]]
    with agent_vault() as vault:
        before = frequencies(vault)
        vault.add(**fields_of({**captured["input"], "tags": captured["storedTags"]}))
        after = frequencies(vault)
        assert (after.documents, after.to_dict()) == from_scratch(vault, ids, NOW)
        assert after.idf("giraffe") == pytest.approx(math.log(68 / 2) + 1, abs=1e-12)
        assert after.document_frequency("tokens") == before.document_frequency("tokens") + 1
        drifted = [t for t, idf in captured["idf"].items() if abs(after.idf(t) - idf) > 1e-9]
    assert {"jwt", "tokens", "zebra"} <= set(drifted)


@differs("exact-document-frequencies")
def test_words_of_a_stored_entry_count_at_once():
    last = VOCABULARY["incremental"][-1]
    assert "no vocabulary update" in last["step"]
    assert last["quokkaInVocabulary"] is False
    with agent_vault() as vault:
        vault.add(id="new", title="Quokka feeding")
        assert frequencies(vault).document_frequency("quokka") == 1
        assert vault.search("quokka")[0].signals["semantic"] > 0


def test_frequencies_stay_exact_through_adds_updates_deletes_and_the_passing_of_time():
    times = [NOW]
    ids = [entry["id"] for entry in AGENT]
    with Vault(":memory:", clock=lambda: times[0], profile="seven-signals") as vault:
        counted = set()

        def check() -> None:
            found = frequencies(vault)
            assert (found.documents, found.to_dict()) == from_scratch(vault, ids, times[0])
            counted.add(found.documents)

        for entry in AGENT[:40]:
            vault.add(**fields_of(entry))
        check()
        for entry in AGENT[40:]:
            vault.add(**fields_of(entry))
            check()
        for entry in AGENT[::5]:
            vault.update(entry["id"], title=f"Changed {entry['title']}", tags=["zebra", *entry["tags"]])
            check()
        for entry in AGENT[::7]:
            vault.delete(entry["id"])
            check()
        vault.add(**fields_of(AGENT[0]))
        check()
        vault.purge()
        check()
        for days in (1, 12, 40, 400, 30, 0):
            times[0] = NOW + days * 86_400
            check()
    assert len(counted) > 20
