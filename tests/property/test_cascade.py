"""The cascade: all words of a query by their beginnings, else fewer, else any; from memory as from SQLite."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Federation, Vault, _core
from septet.profiles import resolve
from septet.query.parse import parse
from septet.sqlite.tier.read_view import ReadView

NOW = 1_760_000_000.0
COLUMNS = ("id", "title", "description", "context", "tags")
#: Words that begin like each other, in their stems too.
WORDS = """auth authentication authors token tokens tokenizer refresh refreshing refreshed gate gates gateway general
generate flow flows db ci café caféteria größe 日本語 日本 x9 9 мир миры and or not the""".split()

texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
entries = st.fixed_dictionaries(
    {
        "title": texts.filter(bool),
        "description": texts,
        "context": texts,
        "tags": st.lists(st.sampled_from(WORDS), max_size=2, unique=True),
        "domain": st.sampled_from("ab"),
        "valid_until": st.sampled_from([None, None, NOW - 1, NOW + 1]),
        "created_at": st.just(1.0),
    }
)
vaults = st.lists(entries, min_size=1, max_size=25)
queries = st.lists(st.sampled_from([*WORDS, "zebra", "what"]), min_size=1, max_size=7).map(" ".join)
weights = st.fixed_dictionaries(
    {
        "id": st.sampled_from([0, 0, 1.5]),
        "title": st.sampled_from([6, 0.1]),
        "description": st.sampled_from([2, 0]),
        "context": st.sampled_from([0, 0.3]),
        "tags": st.sampled_from([3, 1]),
    }
)
profiles = st.builds(
    lambda weights, min_terms: {"extends": "recall", "text": {"weights": weights, "min_terms": min_terms}},
    weights,
    st.sampled_from([None, 1, 2, 3, 5]),
)


def steps_of(query, min_terms):
    """The steps, as they are documented: names, words, and whether all of them are wanted."""
    stop = resolve("recall").text.stop_words
    words = [w for w in query.split() if w not in stop and (len(w) > 1 or w >= "\u3000")]
    if not words:
        return []
    steps, left = [("all", words, True)], sorted(words, key=len)
    while min_terms is not None and len(words) > 1 and len(left) > min_terms:
        left = left[1:]
        steps.append((f"{len(left)} of {len(words)}", left, True))
    return steps if len(words) == 1 else [*steps, ("any", words, False)]


def stems(text):
    return [term.decode() for term in _core.index_terms(text)]


def holds(entry, word, columns):
    """Whether a column of an entry has a word that begins with another, both as the index has them."""
    (stem,) = stems(word)
    texts = {name: " ".join(entry[name]) if name == "tags" else entry[name] for name in columns}
    return any(term.startswith(stem) for text in texts.values() for term in stems(text))


def passing(entry, domain):
    return (domain is None or entry["domain"] == domain) and (
        entry["valid_until"] is None or entry["valid_until"] > NOW
    )


def table_of(given):
    """The entries in a table of FTS5 alone."""
    table = sqlite3.connect(":memory:")
    names = ", ".join(COLUMNS)
    table.execute(f"CREATE VIRTUAL TABLE t USING fts5({names}, tokenize = 'porter unicode61 remove_diacritics 2')")
    rows = [(at, e["id"], e["title"], e["description"], e["context"], " ".join(e["tags"])) for at, e in given]
    table.executemany("INSERT INTO t (rowid, id, title, description, context, tags) VALUES (?, ?, ?, ?, ?, ?)", rows)
    return table


def by_hand(given, query, profile, domain):
    """The name of the step that answers, and each of its entries with its score by FTS5, best first."""
    rules = profile["text"]
    columns = [name for name in COLUMNS if rules["weights"][name]]
    known = dict(given)
    given_weights = ", ".join(repr(float(rules["weights"][name])) for name in COLUMNS)
    with closing(table_of(given)) as table:
        for name, words, every in steps_of(query, rules["min_terms"]):
            some = all if every else any
            found = {
                row
                for row, entry in given
                if passing(entry, domain) and some(holds(entry, word, columns) for word in words)
            }
            if not found:
                continue
            match = (" AND " if every else " OR ").join(f'"{word}" *' for word in words)
            sql = f"SELECT rowid, -bm25(t, {given_weights}) AS score FROM t WHERE t MATCH ? ORDER BY score DESC, rowid"
            scored = table.execute(sql, (f"{{{' '.join(columns)}}} : ({match})",)).fetchall()
            return name, [(known[row]["id"], score) for row, score in scored if row in found], len(found)
    return None, [], 0


def answered(found):
    return found.matched_by, [(hit.id, hit.raw["bm25"]) for hit in found], found.total


def both_ways(vault, query, **options):
    """The answers from memory and from SQLite."""
    from_memory = vault.search(query, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReadView, "needs_fts5", lambda _, plan: plan.asks_text)
        return from_memory, vault.search(query, **options)


@heavy()
@given(vaults, st.lists(st.tuples(queries, profiles, st.sampled_from([None, "a"])), min_size=1, max_size=6))
def test_the_first_step_with_an_answer_is_the_answer_with_the_scores_of_fts5(given, asked):
    numbered = [(at + 1, {**entry, "id": f"e{at}"}) for at, entry in enumerate(given)]
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many([entry for _, entry in numbered])
        for query, profile, domain in asked:
            wanted = by_hand(numbered, query, profile, domain)
            options = {"profile": profile, "domain": domain, "limit": 50}
            for found in both_ways(vault, query, **options):
                assert answered(found) == wanted
            for found in both_ways(vault, query, **{**options, "limit": 2}):
                assert (found.ids, found.total) == ([id for id, _ in wanted[1][:2]], wanted[2])


@heavy()
@given(vaults, queries, profiles, st.booleans())
def test_memory_and_sqlite_tell_the_same_of_confidence_facets_and_ranks(given, query, profile, everything):
    kinds = ["entry", "memory"]
    numbered = [{**entry, "id": f"e{at}", "kind": kinds[at % 3 == 1], "context": ""} for at, entry in enumerate(given)]
    options = {"profile": profile, "limit": 30, "facets": ["domain"], "include_expired": everything}
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many(numbered)
        one, other = both_ways(vault, query, **options)
        assert answered(one) == answered(other)
        assert one.facets == other.facets
        assert one.confidence == pytest.approx(other.confidence, abs=1e-12)
        assert [hit.confidence for hit in one] == pytest.approx([hit.confidence for hit in other], abs=1e-12)
        assert sum(one.facets["domain"].values()) == one.total if one.matched_by else one.total == 0
        told = {"profile": profile, "include_expired": everything}
        for place, hit in enumerate(one[:3]):
            leg = vault.explain(query, hit.id, **told).legs[0]
            assert (leg.rank, leg.of, leg.value) == (place + 1, one.total, hit.raw["bm25"])
            assert repr(one.matched_by) in leg.detail


@heavy()
@given(vaults, queries, profiles, st.data())
def test_vectors_bring_entries_that_the_step_does_not_find_and_do_not_change_the_others(given, query, profile, data):
    some = st.lists(st.integers(1, 9), min_size=2, max_size=2)
    numbered = [{**entry, "id": f"e{at}", "vector": data.draw(some)} for at, entry in enumerate(given)]
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many(numbered)
        alone = vault.search(query, profile=profile, legs="text", limit=50)
        scores = {hit.id: hit.raw["bm25"] for hit in alone}
        for found in both_ways(vault, query, profile=profile, query_vector=[1, 3], limit=50):
            assert (found.matched_by, found.total) == (alone.matched_by, alone.total)
            vague = any(note.code == "query_too_vague" for note in found.notes)
            valid = {entry["id"] for entry in numbered if passing(entry, None)}
            assert set(found.ids) == (set() if vague else valid)
            assert {hit.id: hit.raw["bm25"] for hit in found} == {id: scores.get(id, 0.0) for id in found.ids}


@heavy()
@given(vaults, queries, profiles, st.integers(1, 10))
def test_ranks_of_two_lists_are_fused_as_documented(given, query, profile, limit):
    numbered = [{**entry, "id": f"e{at}", "vector": [1 + at, 30]} for at, entry in enumerate(given)]
    profile = {**profile, "cuts": {"minimum": 1}}
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many(numbered)
        asked = {"profile": profile, "query_vector": [1, 3], "limit": limit}
        lists = [vault.search(query, **asked, legs=leg) for leg in ("text", "vector")]
        if any(note.code == "query_too_vague" for note in lists[0].notes):
            return
        wanted = {}
        for one in lists:
            for rank, hit in enumerate(one):
                wanted[hit.id] = wanted.get(hit.id, 0.0) + 1 / (60 + rank)
        found = vault.search(query, **asked)
        best = sorted(wanted.values(), reverse=True)[:limit]
        assert [hit.score for hit in found] == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("few", [1, 2, 3, 4, 6, 64, 65, 100])
def test_the_steps_of_a_query_go_down_to_the_least_and_are_none_of_a_long_one(few):
    words = [f"w{'o' * (at % 4)}{at}" for at in range(few)]
    steps = parse(" ".join(words), resolve("recall").text).steps
    names = [step.name for step in steps]
    if few == 1:
        assert names == ["all"]
    elif few > 64:
        assert names == ["any"]
    else:
        assert names == ["all", *(f"{left} of {few}" for left in range(few - 1, 2, -1)), "any"]
    assert all(len(step.words) == few for step in steps if step.name in ("all", "any"))


def test_a_federation_tells_the_strictest_step_of_its_tiers():
    with Vault(":memory:") as one, Vault(":memory:") as other:
        one.add(id="some", title="token bucket")
        other.add(id="all", title="auth tokens refreshed")
        with Federation({"one": one, "other": other}) as both:
            found = both.search("refresh auth token", profile="recall")
            assert (set(found.ids), found.matched_by) == ({"some", "all"}, "all")
            assert [note.code for note in found.notes] == []
            assert both.search("bucket of refreshing", profile="recall").matched_by == "any"
            assert both.search("zebra", profile="recall").matched_by is None


def test_a_vague_query_finds_nothing_by_vectors_neither_unless_they_alone_are_asked():
    with Vault(":memory:") as vault:
        vault.add(id="it", title="What is this", vector=[1, 0])
        for query in ("what is this", "a b c", "THE"):
            found = vault.search(query, profile="recall", query_vector=[1, 0])
            assert (found.ids, found.total, found.matched_by) == ([], 0, None)
            assert [note.code for note in found.notes] == ["query_too_vague"]
            asked = {"profile": "recall", "query_vector": [1, 0], "legs": "vector"}
            assert vault.search(query, **asked).ids == ["it"]
        told = vault.search_many(["what", "this", "flow"], profile="recall", query_vectors=[[1, 0]] * 3)
        assert [one.ids for one in told] == [[], [], ["it"]]
        assert [note.code for note in vault.search("?!", profile="recall").notes] == ["no_terms"]


def test_words_asked_for_beside_the_query_are_words_of_the_cascade():
    with Vault(":memory:") as vault:
        vault.add(id="both", title="auth token", description="gateway")
        vault.add(id="one", title="auth flow")
        for words in ({"must": "token"}, {"prefix": "tok"}, {"phrase": "auth token"}):
            found = vault.search("auth", profile="recall", words=words)
            assert (found.ids, found.matched_by) == (["both"], "all"), words
        assert vault.search("auth tok", profile="recall", words={"prefix": True}).ids == ["both"]
        assert vault.search("what is", profile="recall", words={"must": "gateway"}).ids == ["both"]
        assert vault.search("auth", profile="recall", words={"must_not": "token"}).ids == ["one"]


def test_matches_of_hits_are_the_words_that_begin_so():
    with Vault(":memory:") as vault:
        vault.add(id="it", title="Authentication", description="refresh the Tokenizer")
        (hit,) = vault.search("auth refreshing token", profile="recall")
        told = [(match.field, match.term, match.start, match.end) for match in hit.matches]
        assert told == [
            ("title", "auth", 0, 14),
            ("description", "refreshing", 0, 7),
            ("description", "token", 12, 21),
        ]


@pytest.mark.parametrize("match", ["any", "all", "cascade"])
def test_a_list_of_stop_words_takes_the_place_of_the_documented_ones(match):
    text = {"match": match, "stop_words": ["Flow", "auth"], "typos": False}
    with Vault(":memory:") as vault:
        vault.add(id="flow", title="auth flow")
        vault.add(id="token", title="token of the flow")
        profile = {"extends": "septet", "text": text}
        assert vault.search("the FLOW of auth tokens", profile=profile, legs="text").ids == ["token"]
        nothing = vault.search("auth flow", profile=profile)
        assert sorted(nothing.ids) == ([] if match == "cascade" else ["flow", "token"])
