"""Vectors of a root that is read in another way, and its chunks after edits, options and stops in any order."""

import random
from contextlib import suppress

import numpy as np
import pytest

from reindexed import (
    ENTRIES,
    LARGE,
    SMALL,
    STRESS_S,
    Stopped,
    fill,
    fresh,
    leftovers,
    note,
    picture,
    sound,
    stop_after,
    write,
)
from septet import CallableEmbedder, EmbeddingOptions, Vault
from septet.files import reindexing


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.septet") as made:
        yield made


@pytest.fixture
def each_file_alone(monkeypatch):
    monkeypatch.setattr(reindexing, "MOST_CHUNKS", 1)


# -- vectors -----------------------------------------------------------------------------------------------------------


def numbers(texts):
    return [[1.0, float(len(text) % 97), float(text.count("e"))] for text in texts]


@pytest.fixture
def asked():
    return []


@pytest.fixture
def embedded(tmp_path, asked):
    def embed(texts):
        if "away" in asked:
            raise OSError("away")
        asked.extend(texts)
        return numbers(texts)

    with Vault(tmp_path / "e.septet", embedder=CallableEmbedder(embed, model="test", dimensions=3)) as made:
        yield made


def hashes(vault):
    return {f"{e.title}\n{e.description}" + (f"\n{e.context}" if e.context else "") for e in vault}


def test_new_texts_have_their_vectors_before_the_switch_and_each_is_paid_once(embedded, asked, notes, monkeypatch):
    fill(notes, 8)
    write(notes, "short.md", "# Short\n\nA kingfisher dives.\n")
    embedded.sync(notes)
    assert embedded.embedding_status(wait_s=20).activity == "idle"
    old = hashes(embedded)
    at_switch = []
    switch = reindexing.Rebuild._switch
    monkeypatch.setattr(reindexing.Rebuild, "_switch", lambda own: (at_switch.append(len(asked)), switch(own))[1])
    assert embedded.sync(notes, chunking=SMALL).reindexed == ("notes",)
    new = hashes(embedded)
    assert at_switch == [len(old | new)] == [len(asked)] and sorted(asked) == sorted(old | new)
    assert all(space.missing == 0 for space in embedded.embedding_status().spaces)
    asked.clear()
    assert embedded.sync(notes, chunking=LARGE).reindexed == ("notes",)
    assert embedded.embedding_status(wait_s=20).activity == "idle" and asked == []


def test_new_texts_go_in_batches_within_their_bound(tmp_path, notes):
    sizes = []

    def embed(texts):
        sizes.append((len(texts), max(map(len, texts))))
        return numbers(texts)

    embedder = CallableEmbedder(embed, model="test", dimensions=3)
    options = EmbeddingOptions(batch_texts=5, batch_tokens=300)
    with Vault(tmp_path / "e.septet", embedder=embedder, embedding_options=options) as vault:
        fill(notes, 8)
        vault.sync(notes)
        assert vault.embedding_status(wait_s=20).activity == "idle"
        vault.sync(notes, chunking=SMALL)
        status = vault.embedding_status(wait_s=20)
        assert status.activity == "idle" and all(space.missing == 0 for space in status.spaces)
    assert all(count == 1 or (count <= 5 and count * -(-longest // 4) <= 300) for count, longest in sizes)
    assert {count for count, _ in sizes} > {1}


def test_a_provider_that_is_away_does_not_keep_the_switch(embedded, asked, notes):
    fill(notes, 8)
    embedded.sync(notes)
    assert embedded.embedding_status(wait_s=20).activity == "idle"
    asked.append("away")
    assert embedded.sync(notes, chunking=SMALL).reindexed == ("notes",)
    assert picture(embedded) == fresh(notes, SMALL)
    asked.clear()
    embedded.embed()
    assert all(space.missing == 0 for space in embedded.embedding_status().spaces)


def test_searches_of_another_process_find_the_new_chunks_by_their_vectors(embedded, notes, tmp_path):
    fill(notes, 8)
    embedded.sync(notes)
    assert embedded.embedding_status(wait_s=20).activity == "idle"
    probe = np.array([1.0, 12.0, 40.0], dtype=np.float32)
    with Vault(tmp_path / "e.septet", clock=lambda: 2e9) as other:
        assert other.search("heron", query_vector=probe, limit=5).hits
        embedded.sync(notes, chunking=SMALL)
        found = other.search("heron", query_vector=probe, limit=20).hits
    with Vault(tmp_path / "e.septet", read_only=True, clock=lambda: 2e9) as new:
        again = new.search("heron", query_vector=probe, limit=20).hits
        assert sound(embedded)
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in again]
    assert {hit.id for hit in found} <= {entry.id for entry in embedded}


@pytest.mark.parametrize("others", [0, 3, 60])
def test_everything_else_in_the_vault_is_found_as_before(tmp_path, notes, others):
    fill(notes, 8)
    with Vault(tmp_path / "v.septet", clock=lambda: 2e9) as vault:
        vault.sync(notes)
        vault.add_many({"title": f"Avocet {n}", "description": f"said {n} naïve 数据库"} for n in range(others))
        vault.remember("Bob feeds the avocet", "every day")
        vault.delete(vault.add(title="An avocet that is gone"))
        assert vault.sync(notes, chunking=SMALL).reindexed == ("notes",) and sound(vault)
        found = [(hit.id, hit.score) for hit in vault.search("avocet", limit=100).hits]
        assert len(found) == others and len(vault.recall("avocet").hits) == 1
        with Vault(":memory:", clock=lambda: 2e9) as other:
            exported = tmp_path / "e.jsonl"
            vault.export(exported)
            other.import_(exported)
            for query in ("avocet", "naive", "数据库", "heron sentence", "links"):
                wanted = sorted(
                    (hit.score, hit.id) for hit in other.search(query, limit=200, include_memories=True).hits
                )
                assert wanted == sorted(
                    (hit.score, hit.id) for hit in vault.search(query, limit=200, include_memories=True).hits
                )


def test_a_sidecar_that_was_made_before_gives_the_answers_of_after(tmp_path, notes):
    fill(notes, 8)
    file, probe = tmp_path / "v.septet", [1.0, 0.5, 0.25]

    def answers(**options):
        with Vault(file, clock=lambda: 2e9, **options) as vault:
            return [
                [(hit.id, hit.score) for hit in vault.search(query, limit=50, **more).hits]
                for query in ("heron sentence", "links", "fish")
                for more in ({}, {"profile": "seven-signals"}, {"query_vector": probe}, {"profile": "markdown-memory"})
            ]

    embedder = CallableEmbedder(numbers, model="test", dimensions=3)
    with Vault(file, embedder=embedder, clock=lambda: 2e9) as vault:
        vault.sync(notes)
        assert vault.embedding_status(wait_s=20).activity == "idle" and vault.optimize().entries == len(vault)
        before = answers()
        vault.sync(notes, chunking=SMALL)
    after = answers(sidecar=False)
    assert answers() == after != before
    with Vault(file, clock=lambda: 2e9) as vault:
        vault.optimize()
    assert answers() == after


# -- any order ---------------------------------------------------------------------------------------------------------


def act(rng, vault, folder, wanted):
    """Do something to the folder, the vault or a rebuild; return the chunking that is wanted then."""
    names = sorted(path.name for path in folder.iterdir())
    what = rng.choice(["edit", "edit", "add", "remove", "rename", "paths", "other", "stop", "stop", "sync"])
    if what == "edit" and names:
        write(folder, rng.choice(names), note(rng.randrange(9), f"does {rng.randrange(99)} things"))
    elif what == "add":
        write(folder, f"note{rng.randrange(30)}.md", note(rng.randrange(9)))
    elif what == "remove" and names:
        (folder / rng.choice(names)).unlink()
    elif what == "rename" and names:
        (folder / rng.choice(names)).rename(folder / f"renamed{rng.randrange(30)}.md")
    elif what == "paths" and names:
        vault.sync(paths=[folder / name for name in rng.sample(names, min(3, len(names)))])
    elif what in ("other", "stop"):
        wanted = rng.choice([SMALL, LARGE, ENTRIES]) if what == "other" else wanted
        with suppress(Stopped):
            vault.sync(folder, chunking=wanted, progress=stop_after(rng.randrange(1, 12)))
    elif what == "sync":
        vault.sync()
    return wanted


@pytest.mark.parametrize("seed", range(4 + int(STRESS_S * 2)))
def test_after_edits_options_and_stops_in_any_order_a_sync_makes_what_a_fresh_one_would(
    tmp_path, seed, each_file_alone
):
    rng, folder, wanted = random.Random(seed), tmp_path / "notes", LARGE
    fill(folder, 8)
    with Vault(tmp_path / "v.septet") as vault:
        vault.sync(folder, chunking=wanted)
        for _ in range(20):
            wanted = act(rng, vault, folder, wanted)
        assert vault.sync(folder, chunking=wanted).complete
        assert picture(vault) == fresh(folder, wanted) and leftovers(vault) == (0, 0) and sound(vault)
