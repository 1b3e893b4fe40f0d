"""The strict wave: entries that hold every word of a query come before those that hold some."""

import random
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Federation, Vault, _core
from septet.sqlite.tables import fulltext
from septet.sqlite.tier.read_view import open_read_view

NOW = 1_760_000_000.0
ALL = {"extends": "septet", "name": "all words", "text": {"match": "all"}}
ANY = {"extends": "septet", "name": "any word"}
PLAIN = {"extends": "seven-signals", "name": "all plain words", "text": {"match": "all"}}

#: Words of queries: each as an index term; where grams are searched, other spellings that stand for it too, and its
#: pieces, which do so together.
WORDS = {
    "alpha": ("alpha", [], []),
    "beta": ("beta", [], []),
    "Running": ("run", [], []),
    "getUserName": ("getusernam", [], ["get", "user", "name"]),
    "user": ("user", [], []),
    "café": ("cafe", [], []),
    "cafe": ("cafe", [], []),
    "Straße": ("straß", ["strass"], []),
    "đường": ("đuong", [], []),
    "東京タワー": ("東京タワー", [], ["東京", "京タ", "タワ", "ワー"]),
    "京タ": ("京タ", [], ["京タ"]),
    "결제를": ("결제를", [], ["결제", "제를"]),
    "мир": ("мир", [], []),
}
#: What else entries hold.
OTHERS = "gamma get name runs strasse duong 東京 タワー 結 결제가 МИР 東京タワーだ kiwi".split()

texts = st.lists(st.sampled_from([*WORDS, *OTHERS]), max_size=6).map(" ".join)
entries = st.fixed_dictionaries(
    {
        "title": texts.filter(bool),
        "description": texts,
        "tags": st.lists(st.sampled_from(["alpha", "beta", "мир"]), max_size=2, unique=True),
        "domain": st.sampled_from("ab"),
        "kind": st.sampled_from(["entry", "entry", "entry", "chunk", "memory"]),
        "valid_until": st.sampled_from([None, None, NOW - 1, NOW + 1]),
        "created_at": st.just(1.0),
    }
)
queries = st.lists(st.sampled_from(list(WORDS)), min_size=1, max_size=4)


def tokens_of(entry, *, grams):
    """Every index term of an entry, as a set."""
    fields = [entry["id"], entry["title"], entry["description"], *entry["tags"]]
    found = {term.decode() for text in fields for term in _core.index_terms(text)}
    if grams:
        found |= {t.decode() for text in fields for gram in _core.grams(text) for t in _core.index_terms(gram)}
    return found


def holds_all(entry, words, *, grams):
    """The rule, word by word."""
    tokens = tokens_of(entry, grams=grams)
    if not grams:
        return all(WORDS[word][0] in tokens for word in words)
    return all(
        tokens.intersection([own, *others]) or (pieces and tokens.issuperset(pieces))
        for own, others, pieces in map(WORDS.__getitem__, words)
    )


def in_order(read, plan, known, words):
    """All matches: those with every word first, then by the score for any word, then by row."""
    anyhow = plan._replace(query=plan.query._replace(needed=()))
    found = fulltext.candidates(read, anyhow, 10_000)
    whole = {row: holds_all(known[row], words, grams=plan.query.grams) for row in found.rows}
    ranked = sorted(zip(found.rows, found.scores), key=lambda one: (not whole[one[0]], -one[1], one[0]))
    return ranked, sum(whole.values())


@heavy()
@given(
    st.lists(entries, min_size=1, max_size=40),
    st.lists(queries, min_size=1, max_size=4),
    st.sampled_from([{}, {"domain": "a"}, {"include_memories": True}, {"include_expired": True}]),
    st.integers(1, 12),
    st.sampled_from([ALL, PLAIN]),
)
def test_both_ways_of_ranking_bring_whole_matches_first_and_then_the_best_of_the_others(
    stored, asked, options, limit, profile
):
    cuts = {"factor": 1, "minimum": 1, "guard_below": 0}
    profile = {**profile, "cuts": cuts}
    with Vault(":memory:", clock=lambda: NOW) as vault:
        stored = [{"id": f"e{i}", **one} for i, one in enumerate(stored)]
        vault.add_many(stored)
        vault.optimize()
        with vault._store.reading() as read:
            row_of = dict(read.sql.execute("SELECT id, row FROM entries").fetchall())
        known = {row_of[one["id"]]: one for one in stored}
        options = {**options, "limit": limit}
        plans = [vault._plan(" ".join(words), {**options, "profile": profile}) for words in asked]
        with closing(open_read_view(vault._store, vault._tier.manager, *plans)) as view:
            for plan, words, (pool, matches) in zip(plans, asked, view.candidates(0)):
                wanted, whole = in_order(view.read, plan, known, words)
                by_sql = fulltext.candidates(view.read, plan, plan.candidates)
                memories = plan.scores_memories and any(one["kind"] == "memory" for one in stored)
                assert by_sql.rows == [row for row, _ in wanted][:limit]
                assert by_sql.scores == [score for _, score in wanted][:limit]
                assert (by_sql.whole, by_sql.matches) == (whole, len(wanted))
                assert (view.whole[id(plan)], matches) == (whole, len(wanted))
                if not memories:
                    # In memory they share the statistics of entries, which FTS5 cannot.
                    assert pool.rows == by_sql.rows
                    assert pool.columns["bm25"].tolist() == pytest.approx(by_sql.scores, rel=1e-9)
                held = [float(holds_all(known[row], words, grams=plan.query.grams)) for row in pool.rows]
                if len(pool):
                    assert pool.columns["all_words"].tolist() == held
                    assert held == sorted(held, reverse=True)


def filled(count, seed=7, **fields):
    rng = random.Random(seed)
    words = [*WORDS, *OTHERS]
    vault = Vault(":memory:", clock=lambda: NOW)
    vault.add_many(
        {
            "id": f"e{i:04d}",
            "title": " ".join(rng.choices(words, k=4)),
            "description": " ".join(rng.choices(words, k=9)),
        }
        | fields
        for i in range(count)
    )
    return vault


@pytest.mark.parametrize("terms", [["alpha"], ["alpha", "beta"], ["gamma", "kiwi", "alpha", "мир"]])
def test_a_whole_match_has_the_score_that_fts5_gives_it_for_all_words_and_for_any(terms):
    with filled(600) as vault, vault._store.reading() as read:
        anyhow, strict = (
            dict(
                read.sql.execute(
                    "SELECT rowid, -bm25(entries_fts, 5.0, 10.0, 3.0, 2.0, 8.0) FROM entries_fts "
                    "WHERE entries_fts MATCH ?",
                    (joint.join(f'"{term}"' for term in terms),),
                ).fetchall()
            )
            for joint in (" OR ", " AND ")
        )
        assert strict.items() <= anyhow.items()
        weights = dict(zip(("id", "title", "description", "context", "tags"), (5.0, 10.0, 3.0, 2.0, 8.0)))
        profile = {**PLAIN, "text": {"match": "all", "weights": weights}}
        plan = vault._plan(" ".join(terms), {"limit": 600, "profile": profile})
        found = fulltext.candidates(read, plan, 600)
        assert dict(zip(found.rows[: found.whole], found.scores)) == strict
        assert dict(zip(found.rows, found.scores)) == anyhow


@pytest.mark.parametrize("limit", [1, 2, 5, 20, 100, 900])
def test_many_queries_and_single_ones_find_the_same_with_postings_and_without(limit, monkeypatch):
    asked = ["alpha beta", "getUserName café", "東京タワー alpha Running", "kiwi gamma name get", "absent alpha", "мир"]
    with filled(900) as vault:
        vault.optimize()
        several = vault.search_many(asked, limit=limit, profile=PLAIN)
        single = [vault.search(query, limit=limit, profile=PLAIN) for query in asked]
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    with filled(900) as vault:
        monkeypatch.setattr(type(vault._tier.manager), "schedule", lambda *_: None)
        by_fts5 = [vault.search(query, limit=limit, profile=PLAIN) for query in asked]
        assert vault._tier.manager.current.postings is None
    for one, two, three in zip(several, single, by_fts5):
        assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in two] == [(h.id, h.score) for h in three]
        assert one.total == two.total == three.total
        assert [n.code for n in one.notes] == [n.code for n in two.notes] == [n.code for n in three.notes]


def test_where_whole_matches_are_enough_nothing_else_is_a_candidate():
    cuts = {"factor": 1, "minimum": 1, "guard_below": 0}
    with Vault(":memory:", clock=lambda: NOW) as vault:
        # Rare words score more: by any word, half matches would come first.
        vault.add_many({"id": f"half{i}", "title": "omega omega omega"} for i in range(5))
        vault.add_many({"id": f"whole{i}", "title": "omega and much else beside sigma"} for i in range(8))
        vault.add_many({"id": f"other{i}", "title": "sigma"} for i in range(100))
        strict = {**ALL, "cuts": cuts}
        anyhow = {**ANY, "cuts": cuts}
        assert {hit.id[:4] for hit in vault.search("omega sigma", limit=5, profile=anyhow)} == {"half"}
        for limit, wanted in [(1, 1), (7, 7), (8, 8), (9, 8), (13, 8), (20, 8)]:
            found = vault.search("omega sigma", limit=limit, profile=strict)
            assert len(found) == limit and found.total == 113
            assert sum(hit.id.startswith("whole") for hit in found) == wanted


def test_explain_says_which_wave_found_an_entry_and_a_note_that_none_holds_every_word():
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="both", title="omega sigma")
        vault.add(id="one", title="omega")
        vault.add(id="none", title="kappa")
        details = {id: vault.explain("omega sigma", id, profile=ALL).legs[0].detail for id in ("both", "one", "none")}
        assert details["both"] == "matches omega, sigma; strict wave: every word"
        assert details["one"] == "matches omega; relaxed wave, behind 1 entry with every word"
        assert details["none"] == "holds none of omega, sigma"
        assert vault.explain("omega sigma", "one").legs[0].detail == "matches omega"
        assert vault.explain("omega sigma", "one", profile=ALL).legs[0].rank == 2
        codes = {
            q: [n.code for n in vault.search(q, profile=ALL).notes] for q in ("omega sigma", "omega kappa", "omega")
        }
        assert codes == {"omega sigma": [], "omega kappa": ["words_relaxed"], "omega": []}
        assert not vault.search("omega kappa", profile=ALL).degraded
        assert [n.code for n in vault.search("omega kappa").notes] == []


def test_each_tier_of_a_federation_has_its_waves():
    with Vault(":memory:", clock=lambda: NOW) as near, Vault(":memory:", clock=lambda: NOW) as far:
        near.add(id="some", title="omega")
        far.add(id="whole", title="omega sigma")
        with Federation({"near": near, "far": far}) as both:
            found = both.search("omega sigma", profile=ALL)
            assert set(found.ids) == {"some", "whole"} and found.ids[0] == "whole"
            assert [n.code for n in found.notes] == []
            assert [n.code for n in both.search("omega kappa", profile=ALL).notes] == ["words_relaxed"]


@pytest.mark.parametrize("apart", [True, False])
def test_memories_with_every_word_come_first_too(apart):
    score = {"memory_score": 0.5} if apart else {}
    cuts = {"factor": 1, "minimum": 1, "guard_below": 0}
    profile = {**(PLAIN if apart else ALL), **score, "cuts": cuts}
    with Vault(":memory:", clock=lambda: NOW) as vault:
        for i in range(4):
            vault.remember("omega omega omega", id=f"half{i}")
        vault.remember("omega, and much later, among other things, sigma", id="whole")
        found = vault.search("omega sigma", limit=1, profile=profile, include_memories=True)
        assert found.ids == ["whole"]
        assert len(vault.search("omega sigma", limit=9, profile=profile, include_memories=True)) == 5


def test_a_word_that_is_only_begun_is_not_needed_and_those_that_a_filter_asks_for_are():
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="a", title="omega lightweight")
        vault.add(id="b", title="sigma lightweight")
        vault.add(id="c", title="omega sigma")
        assert vault.search("omega lightw", words={"prefix": True}, profile=ALL).ids == ["a", "b"]
        assert vault._plan("omega lightw", {"words": {"prefix": True}, "profile": ALL}).query.needed == (
            (("omega",), ()),
        )
        assert vault.search("omega", words={"must": "sigma"}, profile=ALL).ids == ["c", "b"]
        assert vault.search("omega -sigma", syntax="web", profile=ALL).ids == ["a"]


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 200, 3_000])
def test_long_queries_are_searched_for_any_word(count):
    words = [f"word{i:04d}" for i in range(count)]
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add(id="first", title=words[0])
        vault.add(id="all", title="all", description=" ".join(words))
        plan = vault._plan(" ".join(words), {"profile": PLAIN})
        assert len(plan.query.needed) == (count if count <= 64 else 0)
        assert set(vault.search(" ".join(words), profile=PLAIN).ids) == {"first", "all"}
