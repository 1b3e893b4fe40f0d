"""How many entries hold each term: memory and SQLite count the same, whatever was written, removed or restored."""

import random
from contextlib import closing

import pytest

from septet import Federation, Vault
from septet.sqlite.tables import fulltext
from septet.sqlite.tier.read_view import open_read_view

NOW = 1_760_000_000.0
WORDS = "alpha beta gamma running runs getUserName getuser user name Straße 数据库 索引 ゴム naïve Đường the 42".split()
#: Words of entries, of grams, of both, of none, and one that is asked for twice.
QUERIES = [*WORDS, " ".join(WORDS), "user user names", "数据库索引", "absent", "数 据 a b", "½ x²y", ""]


def entry(rng, number):
    return {
        "id": f"e{number}",
        "title": " ".join(rng.choices(WORDS, k=rng.randrange(4))) or "x",
        "description": " ".join(rng.choices(WORDS, k=rng.randrange(6))),
        "tags": rng.sample(WORDS, rng.randrange(3)),
        "kind": rng.choice(["entry", "entry", "chunk", "memory"]),
        "valid_until": rng.choice([None, None, NOW - 1, NOW + 1]),
        "created_at": 1.0,
    }


def counts_in_memory(vault):
    """Return what memory counts, which must be what SQLite counts."""
    seen = set()
    for query in QUERIES:
        for profile in ("septet", "seven-signals"):
            plan = vault._plan(query, {"profile": profile})
            with closing(open_read_view(vault._store, vault._tier.manager, plan)) as view:
                entries, holding = view.snapshot.corpus.term_counts(plan.query.terms, plan.query.grams)
                wanted = fulltext.counts(view.read, plan, {})
                found = entries, dict(zip(plan.query.terms, holding, strict=True))
                assert found == wanted[:2], (query, profile)
                seen.update(holding)
    return seen


def built(vault):
    vault.search("alpha")
    vault._tier.manager.do("build", vault._store)
    vault.search("alpha")


def change(rng, vault, step):
    """Write, rewrite, delete or purge."""
    if step % 5 == 4:
        vault.purge()
    vault.add_many(entry(rng, rng.randrange(80)) for _ in range(rng.randrange(12)))
    vault.delete([f"e{rng.randrange(80)}" for _ in range(rng.randrange(4))])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("entries", [0, 1, 60])
def test_memory_counts_what_sqlite_counts_through_every_change(seed, entries):
    rng = random.Random(seed)
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.add_many(entry(rng, i) for i in range(entries))
        built(vault)
        seen = counts_in_memory(vault)
        for step in range(8):
            change(rng, vault, step)
            seen |= counts_in_memory(vault)
    assert len(seen) > 5


@pytest.mark.parametrize("changes", [0, 1, 4])
def test_memory_counts_the_same_over_a_sidecar_and_what_came_after_it(tmp_path, changes):
    rng = random.Random(3)
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as vault:
        vault.add_many(entry(rng, i) for i in range(60))
        vault.optimize()
        wanted = counts_in_memory(vault)
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as vault:
        for step in range(changes):
            change(rng, vault, step)
        vault.search("alpha")
        assert vault._tier.manager.restored
        found = counts_in_memory(vault)
    assert changes or found == wanted


def counted_by_sql(monkeypatch):
    """The terms that SQLite is asked to count from now on."""
    asked, count = [], fulltext._rows_holding
    monkeypatch.setattr(fulltext, "_rows_holding", lambda *given: asked.append(given[1:]) or count(*given))
    return asked


@pytest.fixture
def two():
    rng = random.Random(1)
    with Vault(":memory:", clock=lambda: NOW) as one, Vault(":memory:", clock=lambda: NOW) as other:
        for vault in (one, other):
            vault.add_many(entry(rng, i) for i in range(30))
        with Federation({"agent": one, "team": other}) as federation:
            yield federation, one, other


def test_a_federation_asks_sqlite_for_no_count_once_full_text_is_in_memory(two, monkeypatch):
    federation, *vaults = two
    before = [(h.id, h.tier, h.score) for h in federation.search("alpha user 数据库", limit=20)]
    for vault in vaults:
        built(vault)
    asked = counted_by_sql(monkeypatch)
    after = [(h.id, h.tier, h.score) for h in federation.search("alpha user 数据库", limit=20)]
    assert asked == []
    assert after == before
    assert len(after) > 5


def test_until_then_sqlite_counts_a_term_once_a_generation(two, monkeypatch):
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    federation, one, _ = two
    asked = counted_by_sql(monkeypatch)
    # Nothing is built in the background meanwhile.
    monkeypatch.setattr(type(one._tier.manager), "schedule", lambda *_: None)
    federation.search("alpha beta")
    assert sorted(asked) == [("alpha", True)] * 2 + [("beta", True)] * 2
    federation.search("beta gamma alpha")
    assert asked[4:] == [("gamma", True)] * 2
    federation.search("beta alpha")
    assert asked[6:] == []
    one.add(id="new", title="gamma")
    federation.search("gamma")
    assert asked[6:] == [("gamma", True)]


def test_a_phrase_is_counted_by_sqlite_though_full_text_is_in_memory(two, monkeypatch):
    federation, one, other = two
    one.add(id="hindi", title="हिन्दी खोज")
    built(one)
    built(other)
    asked = counted_by_sql(monkeypatch)
    assert federation.search("हिन्दी").ids == ["hindi"]
    assert len(asked) == 2
    assert federation.search("हिन्दी").ids == ["hindi"]
    assert len(asked) == 2


def test_what_is_remembered_of_terms_has_a_bound(two, monkeypatch):
    federation, one, _ = two
    monkeypatch.setattr(type(one._tier.manager), "schedule", lambda *_: None)
    monkeypatch.setattr(fulltext, "MOST_COUNTS", 3)
    wanted = [(h.id, h.score) for h in federation.search("alpha beta gamma user name", limit=9)]
    assert [(h.id, h.score) for h in federation.search("alpha beta gamma user name", limit=9)] == wanted
    plan = one._plan("alpha beta gamma user name", {})
    with closing(open_read_view(one._store, one._tier.manager, plan)) as view:
        known = {}
        found = fulltext.counts(view.read, plan, known)
    assert len(known) <= 3
    assert list(found.holding) == ["alpha", "beta", "gamma", "user", "name"]
