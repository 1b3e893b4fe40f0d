"""Confidence: absolute, so that a question nothing answers is seen to have no answer."""

import json

import numpy as np
import pytest

from septet import QueryError, Vault
from septet.profiles import BUILTIN

NOW = 1_700_000_000.0
COOKING = {
    "rice": "Boil rice in twice its volume of salted water until the water is gone, then rest it under a lid",
    "bread": "Knead flour, water, yeast and salt, let the dough rise for an hour, and bake it in a hot oven",
    "soup": "Simmer onions, carrots and celery in stock for half an hour and season the soup with pepper",
    "curry": "Fry cumin and coriander, add chicken with coconut milk, and simmer the curry until it thickens",
    "salad": "Toss lettuce, tomatoes and cucumber with olive oil, vinegar and a pinch of salt",
}
LICENCES = {
    "mit": "Permission is hereby granted, free of charge, to any person obtaining a copy of this software",
    "bsd": "Redistributions of source code must retain the above copyright notice and this list of conditions",
    "gpl": "This program is free software: redistribute it under the terms of the General Public License",
    "apache": "Each contributor grants you a perpetual, worldwide, royalty-free copyright licence",
    "cc": "Licensees may copy, distribute and display the work if they give the author credit",
}
ASKED = {
    "how long do I boil rice in salted water": "rice",
    "bake bread dough with yeast": "bread",
    "chicken curry with coconut milk": "curry",
    "redistribution of source code with the copyright notice": "bsd",
    "permission to copy software free of charge": "mit",
    "give the author credit for the work": "cc",
}


def vault_of(texts, **facts):
    vault = Vault(":memory:", clock=lambda: NOW)
    vault.add_many({"id": name, "title": name, "description": text, **facts} for name, text in texts.items())
    return vault


@pytest.mark.parametrize("profile", ["septet", "seven-signals", "six-signals"])
def test_a_question_has_confidence_where_its_answer_is_and_nowhere_else(profile):
    with vault_of(COOKING) as cooking, vault_of(LICENCES) as licences:
        for question, answer in ASKED.items():
            own, other = (cooking, licences) if answer in COOKING else (licences, cooking)
            found = own.search(question, profile=profile)
            assert found.ids[0] == answer and found[0].confidence > 0.5, (question, found[0].confidence)
            assert other.search(question, profile=profile).confidence < 0.5, question


def test_nothing_is_no_answer():
    with vault_of(COOKING) as vault:
        assert vault.search("quantum chromodynamics").confidence < 0.05
        assert vault.search("").confidence == 0.0
    with Vault(":memory:") as empty:
        found = empty.search("rice")
        assert (found.confidence, list(found), found.to_dict()["confidence"]) == (0.0, [], 0.0)


def test_facts_do_not_enter():
    with (
        vault_of(COOKING, severity="critical", created_at=NOW) as important,
        vault_of(COOKING, severity="suggestion", created_at=NOW - 3e8) as old,
    ):
        for question in [*ASKED, "rice"]:
            one, other = important.search(question), old.search(question)
            assert one.confidence == other.confidence
            assert {h.id: h.confidence for h in one} == {h.id: h.confidence for h in other}


def test_what_is_under_min_confidence_is_left_out_wherever_it_ranks():
    with vault_of({**COOKING, **LICENCES}) as vault:
        every = vault.search("boil rice with chicken and salt", limit=10)
        for least in (0.0, 0.01, 0.3, 0.5, 0.9, 1.0):
            kept = vault.search("boil rice with chicken and salt", limit=10, min_confidence=least)
            assert kept.ids == [hit.id for hit in every if hit.confidence >= least]
            assert kept.confidence == every.confidence
        dropped = min(every, key=lambda hit: hit.confidence)
        why = vault.explain("boil rice with chicken and salt", dropped.id, min_confidence=0.9)
        assert not why.found and "under min_confidence 0.9" in why.reason and why.confidence == dropped.confidence
        for wrong in (-0.1, 1.1, float("nan"), "high"):
            with pytest.raises(QueryError, match="min_confidence"):
                vault.search("rice", min_confidence=wrong)


def test_the_limit_does_not_move_the_confidence_of_results():
    with vault_of(COOKING) as vault:
        assert len({vault.search("salt and water", limit=limit).confidence for limit in (1, 2, 5, 10)}) == 1


def test_raw_values_are_those_before_signals_were_made_of_them():
    with vault_of(COOKING) as vault:
        vault.update("rice", vector=[1.0, 0.0])
        vault.update("bread", vector=[1.0, 1.0])
        hits = {hit.id: hit for hit in vault.search("boil rice", query_vector=[1.0, 0.0])}
        assert hits["rice"].raw["cosine"] == pytest.approx(1.0) and hits["rice"].raw["bm25"] > 0
        assert hits["bread"].raw["cosine"] == pytest.approx(0.5**0.5) and hits["bread"].raw["bm25"] == 0.0
        assert hits["rice"].raw["tfidf"] is None
        documented = vault.search("boil rice", profile="seven-signals")[0]
        assert documented.raw["tfidf"] == documented.signals["semantic"] and documented.raw["cosine"] is None
        assert (
            json.loads(json.dumps(vault.search("boil rice").to_dict()))["hits"][0]["raw"].keys()
            == documented.raw.keys()
        )
        scan = vault.search("boil rice", mode="scan")
        assert scan.to_dict()["hits"][0]["confidence"] == scan[0].confidence


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_cosines_are_judged_by_those_of_the_space_itself(shift):
    """Some models' vectors share a direction, so that all cosines are high."""
    rng = np.random.default_rng(4)
    common = np.ones(256) * shift / 16
    rows = rng.normal(size=(400, 256)) / 16 + common
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many({"id": str(i), "title": f"t{i}", "vector": row} for i, row in enumerate(rows))
        near = vault.search("?", query_vector=rows[7] + rng.normal(size=256) / 80, legs="vector")
        far = vault.search("?", query_vector=rng.normal(size=256) / 16 + common, legs="vector")
    assert near.ids[0] == "7" and near.confidence > 0.9 and far.confidence < 0.7
    assert near.confidence == near[0].confidence


def test_before_full_text_is_in_memory_the_same_confidence(monkeypatch, tmp_path):
    """Of all, and of each hit as far as the order is the same: trigrams and word feedback are known in memory alone."""
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as vault:
        vault.add_many({"id": n, "title": n, "description": t, "tags": ["kitchen"]} for n, t in COOKING.items())
        wanted = {question: vault.search(question) for question in ASKED}
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    same = 0
    for question, known in wanted.items():
        with Vault(tmp_path / "v.db", clock=lambda: NOW) as vault:
            found = vault.search(question)
        assert found.confidence == pytest.approx(known.confidence, abs=1e-9)
        if found.ids == known.ids:
            same += 1
            assert [h.confidence for h in found] == pytest.approx([h.confidence for h in known], abs=1e-9)
    assert same >= 3


def test_every_profile_says_how_evidence_becomes_confidence():
    assert len({profile.confidence for profile in BUILTIN.values()}) == 1


def test_no_hit_is_surer_than_one_that_stands_before_it():
    """A number that contradicts the place would say nothing; severity moves places, and is no evidence."""
    with vault_of({**COOKING, **LICENCES}, severity="suggestion") as vault:
        vault.update("salad", severity="critical")
        for question in [*ASKED, "salt", "onions in a pan with salt and oil"]:
            confidences = [hit.confidence for hit in vault.search(question, limit=10)]
            assert confidences == sorted(confidences, reverse=True), question


@pytest.mark.parametrize("size", [20, 200])
def test_a_word_that_stands_in_passing_is_less_sure_than_one_that_an_entry_is_about(size):
    plain = {
        f"n{n}": f"Notes on the topic {n}: how it is set up, what it costs and who looks after it" for n in range(size)
    }
    about = {"kettle": "The kettle is descaled every month; a kettle that whistles is replaced", **plain}
    about["n1"] += ", and where the saucepan hangs"
    with vault_of(about) as vault:
        assert vault.search("kettle").confidence > 0.5 > vault.search("saucepan").confidence


def test_words_that_are_certain_are_not_overruled_by_a_model_that_does_not_know_the_language():
    """Cosines of another language are near each other, and high, whatever is asked."""
    rng = np.random.default_rng(3)
    common = rng.normal(size=64)
    near = lambda: common + 0.6 * rng.normal(size=64)  # noqa: E731
    with vault_of(COOKING) as vault:
        for name in COOKING:
            vault.update(name, vector=near())
        asked = {question: vault.search(question, query_vector=near()) for question in ASKED}
        own = [found.confidence for question, found in asked.items() if ASKED[question] in COOKING]
        foreign = [found.confidence for question, found in asked.items() if ASKED[question] not in COOKING]
    assert min(own) > 0.5 > max(foreign)
