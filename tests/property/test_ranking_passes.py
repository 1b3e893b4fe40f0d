"""Balance and smoothing give what their definitions say, whatever share of the candidates has vectors."""

import math
from dataclasses import replace

import numpy as np
import pytest

from septet import Vault
from septet.profiles import BUILTIN, Balance, Smoothing

NOW = 1_700_000_000.0
SEPTET = BUILTIN["septet"]
PLAIN = replace(SEPTET, name="plain", balance=None, smoothing=None, cuts=replace(SEPTET.cuts, factor=1))
WORDS = "amber basin cedar delta ember fjord grove heath".split()


def vault_of(rng, count, missing):
    vault = Vault(":memory:", clock=lambda: NOW)
    rows = rng.normal(size=(count, 12)) + rng.normal(size=(4, 12))[rng.integers(0, 4, count)]
    vault.add_many(
        {"id": str(i), "title": " ".join(rng.choice(WORDS, 4)), "created_at": NOW}
        | ({} if rng.random() < missing else {"vector": rows[i].astype(np.float32)})
        for i in range(count)
    )
    return vault, rows / np.linalg.norm(rows, axis=1, keepdims=True)


def search(vault, profile, vector):
    return {h.id: h for h in vault.search("amber heath", query_vector=vector, limit=60, profile=profile)}


def agreement(hits, cosines, deviation):
    """The part of their weight that vectors keep: by how far the best by words stand out."""
    best = sorted(hits, key=lambda hit: (-hit.raw["bm25"], int(hit.id)))[:20]
    standing = [(hit.raw["cosine"] - cosines.mean()) / deviation for hit in best if hit.raw["bm25"] > 0]
    return min(max(np.mean(standing) - 0.3, 0.01), 1.0) if len(standing) >= 10 else 1.0


@pytest.mark.parametrize("seed", range(8))
def test_words_count_as_often_as_the_best_cosine_stands_out_little(seed):
    rng = np.random.default_rng(seed)
    vault, rows = vault_of(rng, 200, 0)
    query = (rows[5] + rng.normal(size=12) * seed / 8).astype(np.float32)
    with vault:
        plain = vault.search("amber heath", query_vector=query, limit=200, profile=PLAIN)
        found = vault.search("amber heath", query_vector=query, limit=30, profile=replace(PLAIN, balance=Balance()))
    cosines = rows @ (query / np.linalg.norm(query))
    doubt = 5 * (1 - len(cosines) / 256)
    deviation = math.sqrt((((cosines - cosines.mean()) ** 2).sum() + doubt * 0.1**2) / (len(cosines) + doubt))
    z = (cosines.max() - cosines.mean()) / deviation
    times = min(max(1.1 * math.sqrt(2 * math.log(len(cosines))) / z, 0.25), 4)
    words, vectors = plain.weights["semantic"], plain.weights["vector"]
    vectors_kept = vectors * agreement(plain, cosines, deviation)
    wanted = (words + vectors) * times * words / (times * words + vectors_kept)
    assert found.weights["semantic"] == pytest.approx(wanted, rel=1e-4)
    assert sum(found.weights.values()) == pytest.approx(sum(plain.weights.values()))
    for hit in found:
        assert sum(hit.breakdown.values()) == pytest.approx(hit.score)


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_candidates_share_with_the_nearest(seed, missing):
    rng = np.random.default_rng(seed + 10)
    vault, rows = vault_of(rng, 60, missing)
    query = rows[5].astype(np.float32)
    # Without the exceptions.
    always = Smoothing(neighbours=3, lead=1.0, covered=1.0, prominence=0.0)
    with vault:
        if missing == 1.0:
            vault.update("5", vector=query)
        plain = search(vault, PLAIN, query)
        smooth = search(vault, replace(PLAIN, smoothing=always), query)
    assert plain.keys() == smooth.keys()
    known = [i for i, hit in plain.items() if hit.raw["cosine"] is not None]
    share = 0.4 * max(0.0, 5 * len(known) / len(plain) - 4)
    if share:
        cosines = rows[[int(i) for i in known]] @ (query / np.linalg.norm(query))
        doubt = 5 * (1 - len(cosines) / 256)
        deviation = math.sqrt((((cosines - cosines.mean()) ** 2).sum() + doubt * 0.1**2) / (len(cosines) + doubt))
        share *= agreement([hit for hit in plain.values() if hit.raw["cosine"] is not None], cosines, deviation)
    for entry, hit in smooth.items():
        others = sorted((i for i in known if i != entry), key=lambda i: -float(rows[int(i)] @ rows[int(entry)]))[:3]
        for name in ("semantic", "vector"):
            own = plain[entry].signals[name]
            wanted = own
            if entry in known and others:
                wanted = (1 - share) * own + share * np.mean([plain[i].signals[name] for i in others])
            assert hit.signals[name] == pytest.approx(wanted, abs=1e-6)
        assert sum(hit.breakdown.values()) == pytest.approx(hit.score)


def test_who_asks_for_one_thing_is_told_of_one_thing():
    rng = np.random.default_rng(1)
    vault, rows = vault_of(rng, 60, 0)
    query = rows[5].astype(np.float32)
    with vault:
        plain = search(vault, PLAIN, query)
        for unless in ({"lead": 0.0}, {"covered": 0.0}, {"prominence": 100.0}):
            near = Smoothing(**{"lead": 1.0, "covered": 1.0, "prominence": 0.0} | unless)
            found = search(vault, replace(PLAIN, smoothing=near), query)
            moved = [i for i in plain if found[i].signals["vector"] != plain[i].signals["vector"]]
            assert bool(moved) == (unless == {"covered": 0.0} and max(h.raw["bm25"] for h in plain.values()) == 0)
