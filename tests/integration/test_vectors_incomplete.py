"""While some entries have no vector yet: what words find keeps its place, and the search says what it estimated."""

import numpy as np
import pytest

from septet import Federation, Vault

NOW = 1_700_000_000.0
WORDS = (
    "amber basin cedar delta ember fjord grove heath inlet jetty knoll ledge marsh notch ocean plain quay ridge".split()
)


def title(i):
    return f"{WORDS[i % 18]} {WORDS[(i * 7 + 3) % 18]} {WORDS[(i // 18 + i * 5) % 18]} number{i}"


def vector_of(text):
    """A text as the sum of its words' directions, so that near texts have near vectors."""
    parts = [np.random.default_rng(sum(map(ord, word)) * 7919 + len(word)).normal(size=32) for word in text.split()]
    return np.sum(parts, axis=0).astype(np.float32)


def vault_of(count, share, **options):
    vault = Vault(":memory:", clock=lambda: NOW, **options)
    chosen = np.random.default_rng(5).permutation(count) < round(share * count)
    vault.add_many(
        {
            "id": f"e{i}",
            "title": title(i),
            "description": f"about the {WORDS[i % 7]} and the {WORDS[i % 5]}",
            "created_at": NOW,
        }
        | ({"vector": vector_of(title(i))} if chosen[i] else {})
        for i in range(count)
    )
    return vault


def ask(vault, text, **options):
    return vault.search(text, query_vector=vector_of(text), **options)


#: Those that estimate the cosines of what has no vector yet.
estimating = pytest.mark.parametrize("profile", ["septet", "markdown-memory"])


@estimating
@pytest.mark.parametrize("share", [0.0, 0.004, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0])
def test_an_entry_is_found_by_its_title_whatever_share_of_the_entries_has_vectors(share, profile):
    with vault_of(250, share, profile=profile) as vault:
        found = [ask(vault, title(i)).ids[0] if share else vault.search(title(i)).ids[0] for i in range(0, 250, 10)]
    assert found == [f"e{i}" for i in range(0, 250, 10)]


@estimating
@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_a_new_entry_whose_title_is_the_query_comes_first_before_it_is_embedded(share, profile):
    with vault_of(200, share, profile=profile) as vault:
        for text in ("amber basin", "Amber, quay!", "harbour lights", "東京都の天気", "đường về nhà", "getUserName"):
            vault.add(
                id="new",
                title=text if "N" in text else text.upper(),
                description="what was written down about it today",
            )
            plain = text.replace(",", "").replace("!", "")
            assert ask(vault, plain).ids[0] == "new"
            assert ask(vault, plain, where={"id": {"$ne": "new"}}).ids[:1] != ["new"]


@estimating
def test_text_matches_of_a_tier_without_vectors_stay_above_weak_matches_of_a_tier_with_them(profile):
    weak = Vault(":memory:", clock=lambda: NOW)
    weak.add_many({"id": f"w{i}", "title": f"zinc {i}", "vector": vector_of(title(i))} for i in range(300))
    words = vault_of(300, 0)
    with weak, words, Federation({"agent": weak, "project": words}) as both:
        for i in range(0, 300, 30):
            found = ask(both, title(i), profile=profile)
            assert found.ids[0] == f"e{i}", found
            last = max(place for place, hit in enumerate(found) if hit.tier == "project" and title(i) in hit.title)
            assert all(hit.tier == "project" for hit in found[:last])


@pytest.mark.parametrize("missing", [0, 1, 30, 59])
def test_a_note_says_how_many_entries_have_no_vector(missing):
    with vault_of(60, 0) as vault:
        for i in range(60 - missing):
            vault.update(f"e{i}", vector=vector_of(title(i)))
        vault.remember("a memory is no entry that lacks a vector")
        notes = {note.code: note for note in ask(vault, title(1)).notes}
        assert ("vectors_incomplete" in notes) == (missing > 0)
        if missing:
            assert notes["vectors_incomplete"].cause.startswith(f"{missing} of 60 entries have no vector")
        # What is estimated is not missing.
        assert not ask(vault, title(1)).degraded


def test_explain_shows_an_estimate_as_an_estimate():
    with vault_of(60, 0.5) as vault:
        raw = {hit.id: hit.raw for hit in ask(vault, title(3), limit=60)}
        late, known = (next(i for i, r in raw.items() if (r["cosine"] is None) is wanted) for wanted in (True, False))
        one, other = (vault.explain(title(3), i, query_vector=vector_of(title(3)), limit=60) for i in (late, known))
    assert one.estimated == ("vector",) and "(estimated: it has no vector yet)" in str(one)
    assert one.signals["vector"] > 0 and one.raw["cosine"] is None and one.to_dict()["estimated"] == ["vector"]
    assert other.estimated == () and "estimated" not in str(other) and other.raw["cosine"] is not None


def test_the_documented_profiles_estimate_nothing():
    with vault_of(60, 0.5) as vault:
        for hit in ask(vault, title(3), limit=60, profile="seven-signals"):
            assert (hit.signals["vector"] == 0.0) or hit.raw["cosine"] is not None


@pytest.mark.parametrize(
    ("query", "near"), [("東京都の天気", "東京の旅"), ("đường về nhà", "đường dài"), ("getUserName", "get it")]
)
def test_a_title_of_pairs_accents_or_parts_is_known_as_the_query(query, near):
    with vault_of(200, 1.0) as vault:
        vault.add(id="near", title=near, vector=vector_of(query))
        vault.add(id="new", title=query, description="what was written down about it today")
        assert ask(vault, query).ids[0] == "new"
