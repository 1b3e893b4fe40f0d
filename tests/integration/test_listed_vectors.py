"""Vaults whose vectors are in lists: exact searches stay exact, searches with a recall note what they may miss."""

import random

import numpy as np
import pytest

from septet import Federation, StoreError, TierError, Vault
from septet.service.opening import opened as served
from septet.sqlite.snapshot import maintenance, state
from sidecars import files, folder_of, until

NOW = 1_760_000_000.0
DIMENSIONS = 24
WORDS = "alpha beta gamma delta epsilon zeta".split()


@pytest.fixture(autouse=True)
def small_spaces_have_lists(monkeypatch):
    monkeypatch.setattr(maintenance, "LEAST_LISTED", 500)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "v.db"


def opened(path, **options):
    return Vault(path, clock=lambda: NOW, **options)


def vectors(n, seed=1):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((40, DIMENSIONS))
    return (centres[rng.integers(0, 40, n)] + 0.4 * rng.standard_normal((n, DIMENSIONS))).tolist()


def entries(n, seed=1, prefix="e"):
    rng = random.Random(seed)
    for number, vector in enumerate(vectors(n, seed)):
        yield {
            "id": f"{prefix}{number}",
            "title": " ".join(rng.choices(WORDS, k=3)),
            "kind": rng.choice(["entry", "entry", "note", "memory"]),
            "severity": rng.choice(["warning", "critical"]),
            "valid_until": rng.choice([None, None, None, NOW - 1, NOW + 1]),
            "attrs": {"rare": rng.random() < 0.01},
            "created_at": 1.0,
            "vector": vector,
        }


OPTIONS = [
    {"legs": "vector"},
    {},
    {"where": {"severity": "critical"}},
    {"legs": "vector", "where": {"attrs.rare": True}},
    {"include_memories": True},
    {"include_expired": True, "legs": "vector"},
]


def answers(vault, queries=8, limit=15):
    rankings = []
    for number, vector in enumerate(vectors(queries, seed=77)):
        for options in OPTIONS:
            results = vault.search(WORDS[number % 6], query_vector=vector, limit=limit, **options)
            assert "approximate" not in [note.code for note in results.notes]
            rankings.append([(hit.id, hit.score, hit.breakdown) for hit in results])
    return rankings


def codes_of(vault):
    (rows,) = vault._tier.manager.current.vectors.values()
    return rows.codes


def unlisted(path):
    """Answers of a vault without lists."""
    with opened(path, sidecar=False, read_only=True) as vault:
        rankings = answers(vault)
        assert codes_of(vault).lists == 0
        return rankings


@pytest.mark.parametrize("seed", range(4))
def test_exact_searches_are_the_same_with_lists_through_changes_of_all_kinds(path, seed):
    rng = random.Random(seed)
    with opened(path) as vault:
        vault.add_many(entries(1_500, seed))
        vault.optimize()
        answers(vault)
        assert codes_of(vault).lists > 10
        for turn in range(3):
            ids = [f"e{number}" for number in rng.sample(range(1_500), 120)]
            vault.delete(ids[:60])
            vault.add_many({**entry, "id": id} for id, entry in zip(ids[60:], entries(60, 90 + turn), strict=True))
            vault.add_many(entries(rng.choice([5, 200]), seed + 10 * turn, f"more{turn}-"))
            assert answers(vault) == unlisted(path)
            if turn == 1:
                vault.optimize()
                assert answers(vault) == unlisted(path)
        assert codes_of(vault).lists > 10


def all_are_in_lists(path, **options):
    """A later process answers as one without lists, and has every vector in one."""
    with opened(path, **options) as vault:
        assert answers(vault) == unlisted(path)
        assert codes_of(vault).lists > 10
        assert codes_of(vault).unlisted == 0


def test_a_later_process_has_the_lists(path):
    with opened(path) as vault:
        vault.add_many(entries(1_500))
        vault.optimize()
    for options in ({}, {"mapped": False}, {"read_only": True}):
        all_are_in_lists(path, **options)


def test_lists_absorb_additions_in_the_background_of_searches(path):
    with opened(path) as vault:
        vault.add_many(entries(1_500))
        vault.optimize()
        before = files(path)
        vault.add_many(entries(60, 3, "few"))
        answers(vault)
        assert codes_of(vault).unlisted == 60, "less than a twentieth is only compared"
        vault.add_many(entries(60, 4, "more"))
        assert answers(vault) == unlisted(path)
        until(lambda: codes_of(vault).unlisted == 0 and not vault._tier.manager.busy)
        assert files(path) != before
        assert answers(vault) == unlisted(path)
    all_are_in_lists(path, read_only=True)


def test_lists_split_and_merge_where_the_vectors_went(path):
    with opened(path) as vault:
        vault.add_many(entries(1_500))
        vault.optimize()
        answers(vault)
        lists = codes_of(vault).lists
        near = vectors(1)[0]
        vault.add_many(
            {"id": f"near{i}", "title": "alpha", "vector": np.add(near, i / 1e4).tolist()} for i in range(700)
        )
        vault.optimize()
        assert codes_of(vault).lists > lists
        vault.delete([f"e{number}" for number in range(800)])
        vault.add_many(entries(120, 5, "last"))
        vault.optimize()
        assert codes_of(vault).unlisted == 0
        assert answers(vault) == unlisted(path)


def test_optimize_makes_new_lists_once_the_vectors_have_doubled(path):
    with opened(path, sidecar=False) as vault:
        vault.add_many(entries(600))
        vault.optimize()
        answers(vault)
        assert codes_of(vault).lists > 0
        vault.add_many(entries(1_000, 2, "more"))
        vault.optimize()
        assert codes_of(vault).unlisted == 0
        assert answers(vault) == unlisted(path)


def test_a_sidecar_without_lists_is_replaced_by_one_that_has_them(path, monkeypatch):
    with monkeypatch.context() as earlier, opened(path) as vault:
        earlier.setattr(maintenance, "LEAST_LISTED", 10_000)
        vault.add_many(entries(1_500))
        vault.optimize()
        answers(vault)
        assert codes_of(vault).lists == 0
    before = files(path)
    with opened(path) as vault:
        vault.optimize()
        assert files(path) != before
        written = files(path)
        vault.optimize()
        assert files(path) == written, "what is up to date is not written again"
    with opened(path, read_only=True) as vault:
        assert answers(vault) == unlisted(path)
        assert codes_of(vault).lists > 10


@pytest.mark.parametrize("name", ["1-ffffffffffff.arrays", "1-1-ffffffffffff.arrays"])
def test_an_earlier_sidecar_of_one_generation_that_stays_is_not_opened(path, monkeypatch, name):
    with monkeypatch.context() as earlier, opened(path) as vault:
        earlier.setattr(maintenance, "LEAST_LISTED", 10_000)
        vault.add_many(entries(1_500))
        vault.optimize()
    (old,) = folder_of(path).glob("*.arrays")
    kept = old.read_bytes()
    with opened(path) as vault:
        vault.optimize()
        # A killed writer leaves it, and so does Windows while a process has it open.
        (folder_of(path) / name).write_bytes(kept)
        written = files(path)
        vault.optimize()
        assert files(path) == written
    with opened(path, read_only=True) as vault:
        answers(vault)
        assert codes_of(vault).lists > 10


@pytest.mark.parametrize("part", ["order", "runs", "extents", "means", "calibration", "rows"])
def test_damaged_lists_mean_an_exact_search(path, part):
    with opened(path) as vault:
        vault.add_many(entries(1_500))
        vault.optimize()
        (name,) = files(path)
        file = folder_of(path) / name
        column = vault._tier.manager.current.file.column(f"space1.codes.lists/{part}").tobytes()
    content = bytearray(file.read_bytes())
    at = content.index(column)
    content[at : at + 4] = b"\x07\xff\xff\x7f"
    file.write_bytes(content)
    with opened(path, recall=0.9) as vault:
        for vector in vectors(3):
            vault.search("alpha", query_vector=vector)
        until(lambda: vault._tier.manager.damaged)
        until(lambda: not vault._tier.manager.busy)
        vault._tier.manager.recall = 1.0
        assert answers(vault) == unlisted(path)


def test_lists_return_when_arrays_are_rebuilt_after_many_removals(path, monkeypatch):
    monkeypatch.setattr(state, "LEAST_SLOTS", 500)
    with opened(path) as vault:
        vault.add_many(entries(3_000))
        vault.optimize()
        answers(vault)
        for first in (0, 1_050):
            vault.delete([f"e{number}" for number in range(first, first + 1_050)])
            answers(vault)
        assert len(codes_of(vault)) == 900, "dead slots were most of all"
        vault.search("alpha")
        until(lambda: codes_of(vault).lists > 0)
        assert answers(vault) == unlisted(path)
    with opened(path, read_only=True) as vault:
        answers(vault)
        assert codes_of(vault).lists > 0


def test_a_vault_in_memory_has_lists_after_optimize():
    with opened(":memory:") as vault:
        vault.add_many(entries(1_500))
        before = answers(vault)
        assert vault.optimize().path is None
        assert answers(vault) == before
        assert codes_of(vault).lists > 10


def test_small_spaces_have_no_lists(path):
    with opened(path) as vault:
        vault.add_many(entries(400))
        vault.optimize()
        answers(vault)
        assert codes_of(vault).lists == 0


def nearest(vault, vector, limit=10):
    results = vault.search("", query_vector=vector, legs="vector", limit=limit)
    return [(hit.id, hit.score) for hit in results], [note for note in results.notes if note.code == "approximate"]


def test_a_recall_is_reached_on_average_and_what_may_be_missing_is_noted(path):
    with opened(path) as vault:
        vault.add_many(entries(8_000))
        vault.optimize()
    with opened(path, read_only=True) as exact, opened(path, read_only=True, recall=0.9) as vault:
        hits, certain = 0, 0
        for vector in vectors(60, seed=9):
            best, none = nearest(exact, vector)
            near, notes = nearest(vault, vector)
            assert not none
            assert len(near) == len(best) == 10
            hits += len({id for id, _ in near} & {id for id, _ in best})
            if not notes:
                certain += 1
                assert near == best
            else:
                assert notes[0].tier == "vault"
                assert "recall=1" in notes[0].cure
        assert codes_of(vault).lists > 10
        assert hits >= 0.88 * 600
        assert certain < 60


@pytest.mark.parametrize("page", [{"limit": 700}, {"limit": 10, "offset": 395}])
def test_a_place_that_an_earlier_stage_decided_by_lists_is_noted(path, page):
    with opened(path) as vault:
        vault.add_many(entries(4_000))
        vault.optimize()
    with opened(path, read_only=True) as exact, opened(path, read_only=True, recall=0.1) as vault:
        answers = [
            [each.search("", query_vector=vector, legs="vector", **page) for each in (exact, vault)]
            for vector in vectors(10, seed=5)
        ]
    approximate = [[note for note in near.notes if note.code == "approximate"] for _, near in answers]
    assert all(len(notes) < 2 for notes in approximate)
    assert any(approximate)
    assert all(notes or best.ids == near.ids for notes, (best, near) in zip(approximate, answers, strict=True))


def test_filters_give_as_many_entries_as_are_wanted_whatever_their_share(path):
    with opened(path, recall=0.9) as vault:
        vault.add_many(entries(4_000))
        vault.optimize()
        for where in ({"severity": "critical"}, {"attrs.rare": True}, {"id": {"$in": [f"e{i}" for i in range(12)]}}):
            passing = len(vault.search("", query_vector=vectors(1)[0], legs="vector", limit=5_000, where=where))
            for vector in vectors(5, seed=6):
                results = vault.search("", query_vector=vector, legs="vector", limit=10, where=where)
                assert len(results) == min(10, passing)


def test_additions_and_removals_are_seen_whatever_the_recall(path):
    with opened(path, recall=0.5) as vault:
        vault.add_many(entries(2_000))
        vault.optimize()
        for number, vector in enumerate(vectors(20, seed=8)):
            vault.add(id=f"new{number}", title="late", vector=vector)
            assert nearest(vault, vector, 1)[0][0][0] == f"new{number}"
            vault.delete(f"new{number}")
            assert nearest(vault, vector, 1)[0][0][0] != f"new{number}"


def test_several_queries_are_as_certain_as_each_alone(path):
    with opened(path, recall=0.9) as vault:
        vault.add_many(entries(4_000))
        vault.optimize()
        queries = vectors(12, seed=4)
        together = vault.search_many(["alpha"] * 12, query_vectors=queries)
        for vector, results in zip(queries, together, strict=True):
            alone = vault.search("alpha", query_vector=vector)
            assert [hit.id for hit in results] == [hit.id for hit in alone]
            assert [note.code for note in results.notes] == [note.code for note in alone.notes]


def test_a_federation_names_the_tier_that_may_miss_vectors(path, tmp_path):
    with opened(path, recall=0.5) as team, opened(tmp_path / "own.db") as own:
        team.add_many(entries(4_000))
        own.add_many(entries(600, 2, "own"))
        for vault in (team, own):
            vault.optimize()
        both = Federation({"own": own, "team": team})
        notes = [
            note
            for vector in vectors(10, seed=5)
            for note in both.search("alpha", query_vector=vector).notes
            if note.code == "approximate"
        ]
        assert {note.tier for note in notes} == {"team"}


@pytest.mark.parametrize("recall", [0, -1, 1.5, float("nan"), "much", True])
def test_a_recall_outside_its_range_is_refused(path, recall):
    with pytest.raises(StoreError, match="recall is"):
        opened(path, recall=recall)


def test_a_tier_of_a_configuration_has_a_recall(path, tmp_path):
    with opened(path) as vault:
        vault.add_many(entries(8_000))
        vault.optimize()
    config = tmp_path / "config.toml"
    config.write_text('[tiers.agent]\npath = "v.db"\nrecall = 0.5\n')
    with served(config=config, read_only=True) as memory:
        notes = [
            note.code
            for vector in vectors(10, seed=5)
            for note in memory.blocking.search("", query_vector=vector, legs="vector").notes
        ]
        assert "approximate" in notes
    config.write_text('[tiers.team]\nurl = "https://memory.example.org"\nrecall = 0.5\n')
    with pytest.raises(TierError, match="recall belongs to a tier with a path"), served(config=config):
        pass
