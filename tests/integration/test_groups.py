"""Results by parent: the best part stands for its group, the others come with it, and the limit counts groups."""

import numpy as np
import pytest

from septet import Federation, QueryError, Vault

WORDS = ("harbour", "violin", "glacier", "bakery")


def fill(vault, *, documents=6, parts=5, flat=4):
    """Documents of many parts that all match, and entries without a parent that match less."""
    for number in range(documents):
        text = "\n\n".join(
            f"Part {n} names the word " + "glacier " * (1 + (n + number) % 3) + "pad " * 30 for n in range(parts)
        )
        vault.add(id=f"doc{number}", title=f"Document {number}", description=text, split=40)
    vault.add_many(
        {"id": f"flat{n}", "title": f"Flat {n}", "description": "one glacier " + "pad " * 50} for n in range(flat)
    )


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db", clock=lambda: 1e9) as opened:
        fill(opened)
        yield opened


def of_group(hit):
    return hit.parent or hit.id


def twin(vault, query, limit, **options):
    """Groups as a plain search over everything gives them, cut afterwards."""
    groups = {}
    for hit in vault.search(query, limit=1_000, **options):
        groups.setdefault(of_group(hit), []).append(hit)
    return {key: groups[key] for key in list(groups)[:limit]}


@pytest.mark.parametrize("limit", [1, 2, 5, 9, 10, 50])
@pytest.mark.parametrize("where", [None, {"parent": {"$in": ["doc1", "doc3"]}}, {"parent": None}])
def test_groups_are_those_of_all_results_cut_afterwards(vault, limit, where):
    found = vault.search("glacier", limit=limit, where=where, group_by="parent")
    expected = twin(vault, "glacier", limit, where=where)
    assert [of_group(hit) for hit in found] == list(expected)
    for hit, group in zip(found, expected.values()):
        assert [hit.id, *(part.id for part in hit.parts)] == [one.id for one in group]
        scores = [hit.score, *(part.score for part in hit.parts)]
        assert scores == sorted(scores, reverse=True)
        assert all(part.parent == hit.parent and part.breakdown and not part.parts for part in hit.parts)


def test_entries_without_a_parent_are_groups_of_their_own(vault):
    found = vault.search("glacier", limit=50, group_by="parent")
    assert len(found) == 10
    assert {hit.id: hit.parts for hit in found if hit.parent is None} == {f"flat{n}": () for n in range(4)}
    assert {hit.parent for hit in found} == {None, *(f"doc{n}" for n in range(6))}


@pytest.mark.parametrize("parts", [40, 150, 400])
def test_the_limit_is_filled_however_many_parts_the_best_have(tmp_path, parts):
    with Vault(tmp_path / "v.db", clock=lambda: 1e9) as vault:
        fill(vault, documents=1, parts=parts, flat=12)
        found = vault.search("glacier", limit=10, group_by="parent")
        assert len(found) == 10
        assert [hit.parent for hit in found].count("doc0") == 1
        assert len(vault.search("glacier", limit=13, group_by="parent")) == 13
        assert len(vault.search("glacier", limit=100, group_by="parent")) == 13


def test_with_vectors_and_by_one_leg(tmp_path):
    rng = np.random.default_rng(3)
    with Vault(tmp_path / "v.db", clock=lambda: 1e9) as vault:
        vault.add_many(
            {"id": f"{parent}-{n}", "title": f"{WORDS[n % 4]} {parent}", "parent": parent, "vector": rng.normal(size=8)}
            for parent in ("a", "b", "c", "d")
            for n in range(30)
        )
        vector = rng.normal(size=8)
        for legs in (None, "text", "vector"):
            found = vault.search("glacier", query_vector=vector, legs=legs, limit=3, group_by="parent")
            expected = twin(vault, "glacier", 3, query_vector=vector, legs=legs)
            assert [(hit.parent, hit.id) for hit in found] == [(key, group[0].id) for key, group in expected.items()]


def test_a_federation_groups_over_its_tiers(tmp_path, vault):
    with Vault(tmp_path / "other.db", clock=lambda: 1e9) as other:
        other.add(id="near", title="A glacier", description="glacier glacier")
        other.add(id="doc1#9", title="More", description="a glacier as well " + "pad " * 20, parent="doc1")
        with Federation({"own": vault, "other": other}) as both:
            found = both.search("glacier", limit=8, group_by="parent")
            expected = twin(both, "glacier", 8)
            assert [of_group(hit) for hit in found] == list(expected)
            (doc1,) = [hit for hit in found if hit.parent == "doc1"]
            assert {hit.tier for hit in (doc1, *doc1.parts)} == {"own", "other"}


@pytest.mark.parametrize("profile", ["septet", "seven-signals"])
def test_memories_are_groups_too(vault, profile):
    vault.remember("A glacier was seen")
    found = vault.search("glacier", limit=50, include_memories=True, group_by="parent", profile=profile)
    assert [hit.kind for hit in found].count("memory") == 1
    assert len({of_group(hit) for hit in found}) == len(found) == 11


def test_a_light_result_names_its_parent_and_its_parts(vault):
    (hit,) = vault.search("glacier", limit=1, mode="scan", group_by="parent")
    assert hit.entry is None and len(hit.parts) == 4
    said = hit.to_dict()
    assert (said["parent"], [part["id"] for part in said["parts"]]) == (hit.parent, [part.id for part in hit.parts])
    (hit,) = vault.search("glacier", limit=1, group_by="parent")
    said = hit.to_dict()
    assert said["entry"]["parent"] == hit.parent and len(said["parts"]) == 4
    assert vault.load([hit.parent])[0].description.count("Part") == 5


@pytest.mark.parametrize("mode", ["full", "scan"])
@pytest.mark.parametrize("share", [0, 0.1, 0.4, 0.8, 1])
def test_a_budget_goes_to_the_best_of_each_group_first(vault, mode, share):
    def cost(hits):
        if mode == "full":
            return sum(-(-(hit.entry.text_chars + 2) // 4) for hit in hits)
        return None

    everything = vault.search("glacier", limit=5, mode=mode, group_by="parent")
    full = 5 * 1_000
    found = vault.search("glacier", limit=5, mode=mode, group_by="parent", max_tokens=max(1, int(share * full)))
    flat = [one for hit in found for one in (hit, *hit.parts)]
    if mode == "full":
        assert cost(flat) <= max(1, int(share * full))
    heads = {hit.id for hit in everything}
    assert set(found.ids) <= heads or share < 0.1
    if any(hit.parts for hit in found):
        assert found.ids == everything.ids
    if share == 1:
        assert [(hit.id, hit.parts) for hit in found] == [(hit.id, hit.parts) for hit in everything]
    if share == 0:
        assert not flat and "over_budget" in [note.code for note in found.notes]


def test_a_floor_ends_the_search_for_more(vault):
    best = vault.search("glacier", limit=1)[0].score
    found = vault.search("glacier", limit=50, min_score=best, group_by="parent")
    assert found and all(one.score >= best for hit in found for one in (hit, *hit.parts))


def test_many_queries_are_grouped_as_single_ones(vault):
    queries = ["glacier", "part names", "nothing of this", "document 3"]
    for found, query in zip(vault.search_many(queries, limit=3, group_by="parent"), queries):
        alone = vault.search(query, limit=3, group_by="parent")
        assert [(hit.id, [part.id for part in hit.parts]) for hit in found] == [
            (hit.id, [part.id for part in hit.parts]) for hit in alone
        ]


def test_an_explanation_says_what_came_of_each_part(vault):
    found = vault.search("glacier", limit=2, group_by="parent")
    for one in (found[0], *found[0].parts, found[1], *found[1].parts):
        told = vault.explain("glacier", one.id, limit=2, group_by="parent")
        assert told.found and told.score == one.score and "most of it from" in told.reason
    left_out = vault.search("glacier", limit=5, group_by="parent")[4]
    told = vault.explain("glacier", left_out.id, limit=2, group_by="parent")
    assert not told.found and "in a group after the 2 that were returned" in told.reason
    told = vault.explain("glacier", found[1].id, limit=2, group_by="parent", max_tokens=1)
    assert not told.found and "does not fit in max_tokens 1" in told.reason


@pytest.mark.parametrize("wrong", ["id", "", True, 1, ["parent"], "Parent"])
def test_only_parents_make_groups(vault, wrong):
    with pytest.raises(QueryError, match="group_by is"):
        vault.search("glacier", group_by=wrong)


def test_without_groups_no_hit_has_parts(vault):
    found = vault.search("glacier", limit=50)
    assert len(found) == 34 and not any(hit.parts for hit in found)
    assert vault.search("nothing of this", group_by="parent").hits == ()
