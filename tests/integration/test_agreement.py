"""Vectors that do not tell what is near: words decide, and the search says so."""

import random

import numpy as np
import pytest

from septet import Vault
from septet._core import Sample
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.view import RULE

DIMENSIONS = 32
TOPICS = 30
OTHERS = "about note page some thing this that with many more".split()


def told_of(topic, pick):
    """A text with a few words of its topic among those of all."""
    words = [f"word{topic}x{n}" for n in pick.sample(range(8), 5)] + pick.sample(OTHERS, 5)
    pick.shuffle(words)
    return " ".join(words)


def filled(count, broken=0.0, common=0.0, missing=0.0, **options):
    """A vault whose vectors follow the topic of each entry, but for a share that have nothing to do with it."""
    pick, rng = random.Random(4), np.random.default_rng(4)
    of_topic = rng.standard_normal((TOPICS, DIMENSIONS))
    vault = Vault(":memory:", **options)
    items = []
    for n in range(count):
        vector = of_topic[n % TOPICS] + rng.standard_normal(DIMENSIONS) + common
        item = {"id": f"e{n}", "title": f"Entry {n}", "description": told_of(n % TOPICS, pick)}
        if pick.random() >= missing:
            item["vector"] = rng.standard_normal(DIMENSIONS) if pick.random() < broken else vector
        items.append(item)
    vault.add_many(items)
    return vault, of_topic + common


def agreement_of(vault):
    (vectors,) = vault._tier.manager.current.vectors.values()
    return vectors.sample.agreement


@pytest.mark.parametrize("common", [0.0, 2.0])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_vectors_of_a_model_agree_with_words_however_high_their_cosines_are(common, missing):
    vault, topics = filled(300, common=common, missing=missing)
    with vault:
        codes = {note.code for note in vault.search("word3x1 word3x2", query_vector=topics[3]).notes}
        assert agreement_of(vault) == 1.0 and "vectors_disagree" not in codes


@pytest.mark.parametrize("broken", [0.5, 1.0])
def test_words_decide_where_vectors_are_broken_and_the_search_says_so(broken):
    vault, topics = filled(600, broken)
    with vault:
        query = "word3x1 word3x2 about many"
        found, by_text = vault.search(query, query_vector=topics[3], limit=5), vault.search(query, limit=8)
        assert set(found.ids) <= set(by_text.ids)
        assert [note.code for note in found.notes] == ["vectors_disagree"]
        assert agreement_of(vault) == 0.0
        # Nobody is told who does not ask for words, and nothing decides where no word is found.
        for other in ({"legs": ["vector"]}, {"profile": "seven-signals"}):
            assert vault.search(query, query_vector=topics[3], **other).notes == ()
        nearest = vault.search(query, query_vector=topics[3], legs=["vector"]).ids
        assert vault.search("zzz", query_vector=topics[3]).ids == nearest


@pytest.mark.parametrize("count", [20, RULE.least_entries - 1])
def test_few_entries_tell_nothing(count):
    vault, topics = filled(count, 1.0)
    with vault:
        assert vault.search("word3x1 word3x2", query_vector=topics[3]).notes == ()
        assert agreement_of(vault) is None


def test_entries_that_share_no_rare_word_tell_nothing():
    rng = np.random.default_rng(1)
    with Vault(":memory:") as vault:
        vault.add_many({"title": f"own{n} note", "vector": rng.standard_normal(8)} for n in range(100))
        assert vault.search("own3 note", query_vector=np.ones(8)).notes == ()
        assert agreement_of(vault) == 1.0


def test_texts_that_stand_twice_make_no_vectors_agree():
    rng = np.random.default_rng(1)
    pick = random.Random(2)
    items = [{"title": told_of(n % TOPICS, pick), "vector": rng.standard_normal(8)} for n in range(200)]
    with Vault(":memory:") as vault:
        vault.add_many([*items, *items])
        assert vault.search("word3x1", query_vector=np.ones(8)).notes[0].code == "vectors_disagree"


def test_it_is_measured_again_when_a_quarter_came():
    vault, topics = filled(200, 1.0)
    with vault:
        vault.search("word3x1", query_vector=topics[3])
        assert agreement_of(vault) == 0.0
        pick, rng = random.Random(9), np.random.default_rng(9)

        def added(count):
            vault.add_many(
                {"title": told_of(n % TOPICS, pick), "vector": 9 * topics[n % TOPICS] + rng.standard_normal(DIMENSIONS)}
                for n in range(count)
            )
            vault.search("word3x1", query_vector=topics[3])
            return agreement_of(vault)

        assert added(40) == 0.0
        assert added(3_000) == 1.0


def test_what_was_measured_first_stays_until_too_many_rows_came():
    rows = np.eye(40, dtype=np.float32)
    keys, slots, alive = np.arange(40, dtype=np.uint32), np.arange(40, dtype=np.int64), np.ones(40, dtype=bool)
    sample = Sample(rows, keys, slots, alive)
    assert sample.agreement is None
    sample.agree(0.25)
    sample.agree(0.75)
    assert sample.agreement == 0.25
    none = np.empty(0, dtype=np.uint32)
    over = np.full(11, 2**32 - 1, dtype=np.uint32)
    assert Sample(rows, keys, slots, alive, sample).agreement == 0.25
    assert Sample(rows, keys, slots, alive, sample, population=50).agreement == 0.25
    assert Sample(rows, keys, slots, alive, sample, population=51).agreement is None
    assert Sample(rows, keys, slots, alive).agreement is None
    assert sample.kept(over, none) is None


def in_file(path, monkeypatch, broken=0.0):
    """The agreement that a sidecar has, and the one that a search measures without it."""
    pick, rng = random.Random(4), np.random.default_rng(4)
    of_topic = rng.standard_normal((TOPICS, DIMENSIONS))
    with Vault(path) as vault:
        for n in range(300):
            vector = rng.standard_normal(DIMENSIONS) + (0 if pick.random() < broken else 2) * of_topic[n % TOPICS]
            vault.add(id=f"e{n}", title=f"Entry {n}", description=told_of(n % TOPICS, pick), vector=vector)
        vault.optimize()
    with Vault(path, sidecar=False) as vault:
        vault.search("word3x1 word3x2", query_vector=of_topic[3])
        measured = agreement_of(vault)
    monkeypatch.setattr(ReadView, "_measured_agreement", None)
    with Vault(path) as vault:
        vault.search("word3x1 word3x2", query_vector=of_topic[3])
        return agreement_of(vault), measured


@pytest.mark.parametrize("broken", [0.0, 0.6, 1.0])
def test_the_agreement_is_measured_when_a_sidecar_is_written_as_a_search_measures_it(tmp_path, monkeypatch, broken):
    restored, measured = in_file(tmp_path / "vault.db", monkeypatch, broken)
    assert restored == measured is not None


def test_a_profile_without_balance_writes_no_agreement(tmp_path):
    with Vault(tmp_path / "vault.db", profile="seven-signals") as vault:
        rng = np.random.default_rng(4)
        vault.add_many(
            [{"title": f"Entry {n}", "description": "words", "vector": rng.standard_normal(4)} for n in range(50)]
        )
        vault.optimize()
    with Vault(tmp_path / "vault.db") as vault:
        vault.search("other", query_vector=[1.0, 0, 0, 0], profile="seven-signals")
        assert agreement_of(vault) is None
