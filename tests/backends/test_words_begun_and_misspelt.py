"""Typos, beginnings of words and cascades: a vault on PostgreSQL answers as one in SQLite does."""

import numpy as np
import pytest

from septet import Vault
from septet.postgres.tier.spaces import SpaceCache
from septet.postgres.tier.tier import PostgresTier
from septet.postgres.tier.vocabulary import words_from, words_near
from vector_world import postgres_world

NOW = 1_790_000_000.0
WORDS = """
    auth authentication authors author token tokens tokenizer refresh refreshing refreshed gate gates gateway
    general generate generous flow flows café caféteria größe grosse 日本語 東京タワー sha256 getUserName lightweight
    sqlite мир миры हिन्दी हिन्दू भाषा
""".split()
MISSPELT = [
    "authenticaton",
    "tokn",
    "refersh",
    "gatewya",
    "grösse",
    "sqllite",
    "lightwieght",
    "zebra",
    "mип",
    "cafe",
    "ab",
]
BEGUN = ["auth", "tok", "gen", "genera", "caf", "CAFÉ", "日", "東京", "s", "мир", "zeb", "getU"]


def entries(seed, n):
    rng, made = np.random.default_rng(seed), []

    def text(most):
        return " ".join(rng.choice(WORDS, int(rng.integers(0, most))))

    for at in range(n):
        one = {
            "id": f"e{at}",
            "title": f"{rng.choice(WORDS)} {text(3)}",
            "description": text(9),
            "context": text(3),
            "tags": sorted({str(one) for one in rng.choice(WORDS, 2)}),
            "domain": str(rng.choice(["a", "b"])),
            "created_at": 1.0,
        }
        if at % 7 == 0:
            one["valid_until"] = NOW - 1 if at % 2 else NOW + 1
        made.append(one)
    return made


@pytest.fixture(scope="module")
def both(postgres):
    """The same entries in a file's vault, and in one on a server."""
    world = postgres_world(postgres.dsn(), "words-begun", buckets=5)
    made = entries(3, 160)
    gone = [{"id": "gone", "title": "authentiction tokenn gatewaya", "created_at": 1.0}]
    world.add(*made, *gone)
    world.delete("gone")
    with Vault(":memory:", clock=lambda: NOW) as local:
        local.add_many(made)
        local.optimize()
        yield local, world.store
    world.store.close()


@pytest.fixture(scope="module")
def with_memories(postgres):
    """The same with memories among the entries."""
    words, made = ["kiwi", "plum", "plums", "auth", "gateway"], entries(5, 60)
    for at in range(40):
        memory = {
            "id": f"m{at}",
            "kind": "memory",
            "title": " ".join(words[at % 3 : at % 5]) or "note",
            "created_at": 1.0,
        }
        made.append(
            {**memory, "description": f"{words[at % 5]} {words[at % 4]} {words[at % 5] * (at % 2)}", "tags": ["x"]}
        )
    world = postgres_world(postgres.dsn(), "words-begun-memories", buckets=5)
    world.add(*made)
    with Vault(":memory:", clock=lambda: NOW) as local:
        local.add_many(made)
        local.optimize()
        yield local, world.store
    world.store.close()


def candidates_of(both, query, **options):
    """The candidates of both tiers for a plan."""
    local, store = both
    plan = local._plan(query, options)
    found = []
    for tier in (local._tier, PostgresTier("server", 0.0, store, SpaceCache())):
        session = tier.open([plan], 0)
        try:
            (one,) = session.candidates()
            found.append((one, session.ids(one.pool.rows), session.groups(one.pool.rows)))
        finally:
            session.close()
    return found


def assert_equal(both, query, **options):
    (one, ids, _), (other, others, _) = candidates_of(both, query, **options)
    assert others == ids
    assert (other.matches, other.step, other.whole) == (one.matches, one.step, one.whole)
    assert {word: [*near] for word, near in other.guesses.items()} == {
        word: [*near] for word, near in one.guesses.items()
    }
    columns = one.pool.columns
    assert other.pool.columns.keys() == columns.keys()
    for name, values in columns.items():
        np.testing.assert_allclose(other.pool.columns[name], values, rtol=1e-9, atol=1e-12, err_msg=name)
    return one


def test_words_near_a_misspelt_one_are_those_of_a_local_vault(both):
    local, store = both
    corpus = local._tier.manager.current.corpus
    with store.reading() as read:
        for edits in (1, 2):
            found = words_near(read, dict.fromkeys(MISSPELT, edits), 3, memories=False)
            assert found == {word: corpus.words_near(word, edits, 3) for word in MISSPELT}
    assert found["sqllite"][0][0] == "sqlite"
    assert not [word for some in found.values() for word, *_ in some if word in ("authentiction", "tokenn")]


def test_words_that_begin_with_letters_are_those_of_a_local_vault(both):
    local, store = both
    corpus = local._tier.manager.current.corpus
    with store.reading() as read:
        assert words_from(read, [], 3) == {}
        for most in (1, 3, 32):
            found = words_from(read, BEGUN, most)
            assert found == {letters: [word for word, *_ in corpus.words_from(letters, most)] for letters in BEGUN}
    assert len(found["gen"]) == 3


@pytest.mark.parametrize(
    "query", ["authenticaton token", "tokn refersh gatewya", "zebra", "grösse sqllite", "lightwieght"]
)
def test_guesses_at_misspelt_words_are_the_same(both, query):
    assert assert_equal(both, query, typos=True).guesses


@pytest.mark.parametrize(
    "options",
    [
        {"words": {"prefix": ["auth"]}},
        {"words": {"prefix": ["gen", "caf"]}, "domain": "a"},
        {"words": {"prefix": True}},
        {"words": {"prefix": ["zeb"]}},
        {"words": {"prefix": ["東京"]}},
    ],
)
def test_a_search_for_beginnings_of_words_finds_the_same(both, options):
    assert_equal(both, "token refre", **options)


@pytest.mark.parametrize("query", ["token -auth*", "gate* flow", "-tok* refreshing"])
def test_a_web_query_with_beginnings_finds_the_same(both, query):
    assert_equal(both, query, syntax="web")


@pytest.mark.parametrize("domain", [None, "a"])
@pytest.mark.parametrize(
    "query",
    [
        "auth",
        "auth token",
        "refresh gate general",
        "token tokens token",
        "auth tok refre gat gener",
        "zebra",
        "zebra auth",
        "café größe",
        "the of",
        "мир",
        "हिन्दी token",
        "हिन् भाषा",
        "zebra हिन्दी",
        "auth token flow sqlite lightweight sha256 gate generous",
    ],
)
def test_a_cascade_answers_with_the_same_step_and_scores(both, query, domain):
    assert_equal(both, query, profile="recall", **({"domain": domain} if domain else {}))


@pytest.mark.parametrize("profile", ["recall", "septet"])
def test_a_batch_of_queries_finds_what_each_finds_alone(both, profile):
    local, store = both
    queries = ["auth token", "the of", "हिन्दी gate", "zebra", "refresh general", "tokn"]
    plans = [local._plan(query, {"profile": profile}) for query in queries]
    session = PostgresTier("server", 0.0, store, SpaceCache()).open(plans, 0)
    try:
        together = session.candidates()
    finally:
        session.close()
    for query, one in zip(queries, together):
        _, (alone, *_) = candidates_of(both, query, profile=profile)
        assert (one.pool.rows, one.matches, one.step, one.guesses) == (
            alone.pool.rows,
            alone.matches,
            alone.step,
            alone.guesses,
        )


@pytest.mark.parametrize("weights", [{"context": 0.3, "id": 1.5}, {"description": 0, "title": 0.1}])
@pytest.mark.parametrize("min_terms", [None, 1, 2])
def test_a_cascade_counts_in_columns_that_have_a_weight(both, weights, min_terms):
    profile = {"extends": "recall", "text": {"weights": weights, "min_terms": min_terms}}
    for query in ("auth token gate flow", "refresh general мир", "token auth"):
        assert_equal(both, query, profile=profile)
        assert_equal(both, query, profile=profile, limit=2)


@pytest.mark.parametrize("query", ["auth token", "zebra kiwi", "gate plu", "kiwi", "kiwi kiwi plum auth"])
def test_memories_of_a_cascade_are_left_out_and_found_by_the_step_that_has_an_answer(with_memories, query):
    (one, *_), (other, *_) = candidates_of(with_memories, query, profile="recall")
    assert [note.code for note in other.notes] == [note.code for note in one.notes]
    assert [note.cause for note in other.notes] == [note.cause for note in one.notes]
    fixed = {"extends": "recall", "memory_score": 0.5}
    for profile in ("recall", fixed):
        one = assert_equal(with_memories, query, profile=profile, include_memories=True)
    (one, *_), (other, *_) = candidates_of(with_memories, query, profile=fixed, include_memories=True)
    assert ([memory.id for memory in other.memories], other.more) == ([memory.id for memory in one.memories], one.more)
    assert query != "kiwi" or one.more == 24


def test_a_cascade_without_an_answer_finds_nothing_and_says_no_step(both):
    (one, ids, _), (other, others, _) = candidates_of(both, "zebra yak", profile="recall")
    assert ids == others == [] and one.step is other.step is None
