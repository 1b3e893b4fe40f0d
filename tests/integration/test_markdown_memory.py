"""The profile `markdown-memory` over whole searches, against a slow twin; and what its results never depend on."""

import hashlib
import math
import os
import random
from functools import cmp_to_key

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Federation, Vault
from septet.profiles import BUILTIN
from septet.ranking.cuts import word_set

DAY = 86_400.0
NOW = 1_760_000_000.0
PROFILE = "markdown-memory"
AGING = {
    "extends": PROFILE,
    "factors": {
        "recency": {"unless": {"col": "attrs.evergreen"}, "of": {"decay": {"col": "updated_age"}, "half_life": 30}},
        "importance": {"linear": {"clamp": {"col": "attrs.importance"}, "least": 1, "most": 10}, "times": 0.05,
                       "plus": 0.75},
    },
}  # fmt: skip
#: The same, with everything that was found as it was scored.
ALL = {"limit": 200, "min_score": -1e6}

CHUNKS = st.lists(
    st.fixed_dictionaries(
        {
            "words": st.lists(st.sampled_from("alpha beta gamma delta ếch 支付".split()), min_size=1, max_size=5),
            "angle": st.sampled_from([0.0, 0.4, 1.0, 1.6, 3.1]),
            "path": st.sampled_from(["a.md", "b.md", "memory/c.md"]),
            "line": st.integers(1, 3),
            "age": st.sampled_from([-3.0, 0.0, 1.0, 30.0, 10_000.0]),
            "evergreen": st.booleans(),
            "importance": st.none() | st.sampled_from([0, 1, 5, 10, 11]),
        }
    ),
    min_size=1,
    max_size=14,
)
QUERIES = st.sampled_from(["alpha", "beta gamma", "ếch", "支付", "nowhere", "alpha nowhere"])


def fields_of(chunk, number):
    attrs = {"evergreen": 1} if chunk["evergreen"] else {}
    if chunk["importance"] is not None:
        attrs["importance"] = chunk["importance"]
    updated = NOW - chunk["age"] * DAY
    return {
        "id": f"c{number:02d}",
        "title": "-",
        "kind": "chunk",
        "description": " ".join(chunk["words"]),
        "span": {"path": chunk["path"], "first_line": chunk["line"], "last_line": chunk["line"] + 4},
        "attrs": attrs,
        "created_at": updated,
        "updated_at": updated,
        "vector": [math.cos(chunk["angle"]), math.sin(chunk["angle"])],
    }


def vault_of(chunks, profile=PROFILE):
    vault = Vault(":memory:", clock=lambda: NOW, profile=profile)
    vault.add_many(fields_of(chunk, number) for number, chunk in enumerate(chunks))
    return vault


def twin(chunks, bm25, cosine, *, aging, with_vector, min_score, limit, diversity):
    """Return ids and scores as documented, from what words and vectors say of each chunk."""
    rows = []
    for number, chunk in enumerate(chunks):
        key = f"c{number:02d}"
        text = bm25[key] / (1 + bm25[key])
        fused = 0.7 * cosine[key] + 0.3 * text if with_vector else text
        if aging:
            fused *= 1.0 if chunk["evergreen"] else 0.5 ** (max(0.0, chunk["age"]) / 30)
            fused *= 1.0 if chunk["importance"] is None else 0.75 + 0.05 * min(10, max(1, chunk["importance"]))
        raised = max(fused, min(0.35, min_score)) if bm25[key] > 0 else fused
        if with_vector or bm25[key] > 0:
            rows.append((raised, fused, (chunk["path"], chunk["line"], key)))

    def compare(one, other):
        for at in (0, 1):
            # Vectors are stored as float32: what is alike but for its rounding is not equal, and differs by 1e-9.
            if not math.isclose(one[at], other[at], rel_tol=0, abs_tol=1e-13):
                return -1 if one[at] > other[at] else 1
        return -1 if one[2] < other[2] else 1

    rows = [row for row in sorted(rows, key=cmp_to_key(compare)) if row[0] >= min_score - 1e-12]
    if diversity and len(rows) > 1:
        rows = unlike(rows, chunks, diversity)
    return [(row[2][2], row[0]) for row in rows[:limit]]


def unlike(rows, chunks, diversity):
    """Maximal marginal relevance by the words of the chunks, as it is defined."""
    scores = [row[0] for row in rows]
    low, span = min(scores), max(scores) - min(scores)
    relevance = [(score - low) / span if span > 0 else 1.0 for score in scores]
    words = [word_set(" ".join(chunks[int(row[2][2][1:])]["words"])) for row in rows]
    left, order = list(range(len(rows))), []
    while left:

        def value(at):
            near = max((len(words[at] & words[done]) / len(words[at] | words[done]) for done in order), default=0.0)
            return (1 - diversity) * relevance[at] - diversity * near

        best = max(value(at) for at in left)
        chosen = next(at for at in left if value(at) >= best - 1e-13)
        order.append(chosen)
        left.remove(chosen)
    return [rows[at] for at in order]


@heavy()
@given(
    chunks=CHUNKS,
    query=QUERIES,
    angle=st.none() | st.sampled_from([0.0, 1.0, 2.5]),
    aging=st.booleans(),
    min_score=st.sampled_from([0.0, 0.35, 0.5, 1.0]),
    limit=st.sampled_from([4, 6, 200]),
    diversity=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_a_search_gives_what_a_slow_twin_gives(chunks, query, angle, aging, min_score, limit, diversity):
    vector = None if angle is None else [math.cos(angle), math.sin(angle)]
    with vault_of(chunks, AGING if aging else PROFILE) as vault:
        found = vault.search(query, query_vector=vector, **ALL)
        bm25 = {f"c{number:02d}": 0.0 for number in range(len(chunks))}
        cosine = dict(bm25)
        for hit in found:
            bm25[hit.id], cosine[hit.id] = hit.raw["bm25"] or 0.0, hit.raw["cosine"] or 0.0
        if vector is not None:
            assert len(found) == len(chunks)
        shown = vault.search(query, query_vector=vector, min_score=min_score, limit=limit, diversity=diversity)
        again = vault.search(query, query_vector=vector, min_score=min_score, limit=limit, diversity=diversity)
    asked = {"min_score": min_score, "limit": limit, "diversity": diversity}
    expected = twin(chunks, bm25, cosine, aging=aging, with_vector=vector is not None, **asked)
    assert again.ids == shown.ids
    assert [hit.score for hit in shown] == pytest.approx([score for _, score in expected], abs=1e-6)
    assert shown.ids == [key for key, _ in expected]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("query", ["alpha", "alpha beta", "nowhere"])
def test_equal_scores_have_the_same_order_in_a_vault_that_was_made_anew(seed, query):
    shuffled = random.Random(seed)
    rows = [
        {
            "id": hashlib.sha256(f"{number}".encode()).hexdigest()[:24],
            "title": "-",
            "description": ["alpha", "alpha beta", "beta"][number % 3],
            "vector": [1.0, float(number % 2)],
            "span": {"path": f"{number % 5}.md", "first_line": number + 1, "last_line": number + 1},
        }
        for number in range(20)
    ]
    orders = []
    for _ in range(3):
        shuffled.shuffle(rows)
        with Vault(":memory:", profile=PROFILE) as vault:
            for row in rows[:5]:
                # Slots that come and go change no order either.
                vault.add(**{**row, "description": "other words"})
            vault.add_many(rows)
            orders.append(vault.search(query, query_vector=[1.0, 0.5], limit=20).ids)
            assert vault.search(query, query_vector=[1.0, 0.5], limit=7).ids == orders[-1][:7]
    assert orders[0] == orders[1] == orders[2] and orders[0]


def dated(folder, ages):
    """Write a file for each age in days, named by its day or not at all."""
    from datetime import datetime, timezone

    (folder / "memory").mkdir(parents=True)
    for name, age in ages.items():
        day = "" if age is None else datetime.fromtimestamp(NOW - age * DAY, timezone.utc).date().isoformat()
        path = folder / "memory" / (f"{day}-{name}.md" if day else f"{name}.md")
        path.write_text("The otters sleep in the reeds.\n", encoding="utf-8")
        os.utime(path, (NOW, NOW))


@pytest.mark.parametrize("layout", ["memory", "folder"])
def test_the_age_of_a_dated_file_counts_from_its_day_and_undated_ones_never_age(tmp_path, layout):
    ages = {"today": 0, "yesterday": 1, "month": 30, "old": 10_000, "coming": -40, "undated": None}
    dated(tmp_path / "notes", ages)
    (tmp_path / "notes" / "MEMORY.md").write_text("The otters sleep in the reeds.\n", encoding="utf-8")
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.sync(tmp_path / "notes", layout=layout)
        recency = {"recency": AGING["factors"]["recency"]}
        profile = {"extends": PROFILE, "factors": recency, "floor": None}
        found = {hit.entry.span.path: hit for hit in vault.search("otters reeds", profile=profile, **ALL)}
        plain = vault.search("otters reeds", profile={"extends": PROFILE, "floor": None}, **ALL)
        assert len(found) == len(ages) + 1
        text = {hit.entry.span.path: hit.score for hit in plain}
        for path, hit in found.items():
            name = path.removesuffix(".md").rpartition("-")[2].rpartition("/")[2]
            age = ages.get(name)
            # The day begins at midnight: a file of today is a part of a day old.
            days = 0.0 if age is None else max(0.0, math.floor(age) + (NOW % DAY) / DAY)
            assert hit.score / text[path] == pytest.approx(0.5 ** (days / 30), rel=1e-9)
        kept = vault.search("otters reeds", profile={"extends": PROFILE, "factors": recency}, limit=50)
        assert len(kept) == len(ages) + 1, "what words found is kept, however old it is"


@pytest.mark.parametrize("with_vector", [False, True])
def test_a_query_that_nothing_answers_finds_nothing(with_vector):
    chunks = [{"words": ["alpha"], "angle": 0.0, "path": "a.md", "line": 1, "age": 0.0, "evergreen": False,
               "importance": None}]  # fmt: skip
    options = {"query_vector": [math.cos(1.5), math.sin(1.5)]} if with_vector else {}
    with vault_of(chunks) as vault:
        assert vault.search("nowhere", **options).ids == []
        assert vault.search("nowhere", min_score=0.0, **options).ids == (["c00"] if with_vector else [])
        assert vault.search("", **options).ids == []
        assert vault.search_many(["nowhere", "alpha"])[0].ids == []
    with Vault(":memory:", profile=PROFILE) as empty:
        assert empty.search("alpha", **options).ids == []


@pytest.mark.parametrize("least", [0.0, 0.2, 0.35, 0.9, 1.0])
def test_the_least_score_drops_what_is_under_it_and_words_are_raised_to_no_more_than_035(least):
    with Vault(":memory:", profile=PROFILE) as vault:
        vault.add_many({"id": f"w{i}", "title": f"heron {i}", "vector": [0.0, 1.0]} for i in range(3))
        vault.add(id="near", title="other", vector=[1.0, 0.0])
        vault.add(id="far", title="another", vector=[0.3, 1.0])
        found = vault.search("heron 1", query_vector=[1.0, 0.0], min_score=least, limit=10)
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        assert all(hit.score >= least for hit in found)
        assert ("near" in found.ids) == (least <= 0.7)
        assert ("far" in found.ids) == (least <= 0.7 * 0.3 / math.hypot(0.3, 1.0))
        assert set(found.ids) >= {"w0", "w1", "w2"} if least <= 0.35 else not {"w0", "w2"} & set(found.ids)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("profile", [PROFILE, AGING], ids=["plain", "aging"])
def test_a_tier_without_vectors_gives_its_part(share, profile):
    embedded = np.random.default_rng(3).permutation(100) < 100 * share

    def entries(tier, with_vectors):
        for i in range(100):
            vector = [1.0, i / 100] if with_vectors and embedded[i] else None
            yield {"id": f"{tier}{i}", "title": f"{tier} heron number n{i}", "updated_at": NOW, "created_at": NOW,
                   "vector": vector}  # fmt: skip

    with Vault(":memory:", clock=lambda: NOW) as near, Vault(":memory:", clock=lambda: NOW) as far:
        near.add_many(entries("near", True))
        far.add_many(entries("far", False))
        with Federation({"near": near, "far": far}, clock=lambda: NOW, profile=profile) as both:
            for i in (0, 1, 37, 99):
                for tier in ("near", "far"):
                    found = both.search(f"{tier} heron number n{i}", query_vector=[1.0, i / 100])
                    assert found.ids[0] == f"{tier}{i}"
                    assert all(hit.score >= 0.35 for hit in found)


@pytest.mark.parametrize("limit", [None, 1, 6, 49, 50, 51, 200, 1_000])
def test_each_leg_gives_four_candidates_a_result_and_two_hundred_at_most(limit):
    with Vault(":memory:", profile=PROFILE) as vault:
        vault.add_many({"id": f"h{i}", "title": f"heron {i}"} for i in range(300))
        named = {} if limit is None else {"limit": limit}
        assert vault.explain("heron", "h0", **named).candidates == min(200, 4 * (limit or 6))
        assert len(vault.search("heron", **named)) == min(200, limit or 6)


@pytest.mark.parametrize("query", ["plan", "Plan.md", "notes/old/plan.md", "old/plan.md", "old\\plan.md"])
@pytest.mark.parametrize("least", [0.0, 0.35, 1.0])
@pytest.mark.parametrize("diversity", [0.0, 0.3])
def test_a_file_that_is_named_comes_first_whatever_its_age_and_the_least_score(tmp_path, query, least, diversity):
    for name, text in {"old/plan.md": "Reeds.", "new/other.md": "A plan of plans, plan md, old plan."}.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n", encoding="utf-8")
        os.utime(path, (NOW - 9_000 * DAY, NOW - 9_000 * DAY) if "old" in name else (NOW, NOW))
    with Vault(":memory:", clock=lambda: NOW, profile=AGING) as vault:
        vault.sync(tmp_path / "notes")
        found = vault.search(query, min_score=least, diversity=diversity)
        assert found[0].entry.span.path == "old/plan.md"
        assert found[0].score == 1.0 and len(found) == (1 if least == 1.0 else 2)
        assert sum(found[0].breakdown.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["septet", "seven-signals", "six-signals"])
def test_profiles_that_change_no_scores_have_none_of_the_changes(name):
    chunks = [{"words": ["alpha", "beta"][: 1 + i % 2], "angle": 0.3 * i, "path": f"{i}.md", "line": 1, "age": 1.0 * i,
               "evergreen": False, "importance": None} for i in range(9)]  # fmt: skip
    with vault_of(chunks, name) as vault:
        found = vault.search("alpha beta", query_vector=[1.0, 0.0], limit=9)
        # Those that a profile has beside its signals change what only a link brought.
        named = {**found.weights, **dict.fromkeys(BUILTIN[name].factors, 0.0)}
        for hit in found:
            assert hit.breakdown.keys() == named.keys()
            assert not any(hit.breakdown[factor] for factor in BUILTIN[name].factors)
            assert hit.score == pytest.approx(sum(hit.breakdown.values()), abs=1e-12)
            assert not {"floor", "pinned"} & hit.breakdown.keys()
        assert found.ids == vault.search("alpha beta", query_vector=[1.0, 0.0], limit=9, min_score=0.0).ids
