"""Listings, links, explanations and likeness on PostgreSQL answer as those of a local vault do."""

import json
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import heavy
from property.test_listing_twin import DRAWN, FACET, LIMIT, MOMENT, ORDER, agrees, held_by, pages_of
from septet import Federation, PostgresVault, Vault
from twins.filters import FILTERS


@pytest.fixture(scope="module")
def dsn(postgres):
    return postgres.dsn()


@pytest.fixture
def both(dsn, vault_name):
    """A local vault, and one on the server that holds the same."""
    with Vault(":memory:", clock=lambda: 10.0) as local, PostgresVault(dsn, vault_name, clock=lambda: 10.0) as remote:
        yield local, remote


@pytest.mark.parametrize("limit", [2**63 - 1, 2**63, 10**30])
def test_a_limit_may_be_larger_than_a_number_of_the_server(both, limit):
    for vault in both:
        vault.add_many([{"id": one, "title": "t", "tags": ["x"], "domain": "d"} for one in "ab"])
        assert [entry.id for entry in vault.entries(limit=limit)] == ["a", "b"]
        assert [len(vault.facets(field, limit=limit)) for field in ("domain", "tags")] == [1, 1]


def without_nul(value):
    return "\\u0000" not in json.dumps(value).replace("\\\\u0000", "")


@heavy()
@given(DRAWN, FILTERS, ORDER, MOMENT, FACET, LIMIT)
def test_pages_cursors_counts_and_facets_are_those_of_a_local_vault(
    both, entries, where, order_by, as_of, facet, limit
):
    # PostgreSQL stores no NUL.
    assume(without_nul(entries))
    for vault in both:
        vault.delete(*"abcdeéB")
        vault.add_many(entries)
    local, remote = both
    agrees(remote, held_by(local), where, order_by, as_of, facet, limit)
    field, by = facet
    asked = {"by": by, "limit": limit, "as_of": as_of}
    assert remote.facets(field, where, **asked).to_dict() == local.facets(field, where, **asked).to_dict()
    page, own = (vault.entries(where, order_by=order_by, as_of=as_of, limit=2) for vault in (remote, local))
    # Either vault goes on where the other one stopped.
    assert page.next == own.next
    assert sorted(e.id for e in remote) == sorted(e.id for e in local)


@heavy()
@given(DRAWN, DRAWN, FILTERS, ORDER, MOMENT, FACET, LIMIT, st.booleans())
def test_a_file_and_a_server_are_listed_as_one_whichever_is_the_higher(
    both, first, second, where, order_by, as_of, facet, limit, turned
):
    assume(without_nul([first, second]))
    for vault, entries in zip(both, (first, second)):
        vault.delete(*"abcdeéB")
        vault.add_many(entries)
    low, high = both[::-1] if turned else both
    federation = Federation({"team": low, "agent": high})

    def valid(e):
        return (e.valid_from is None or e.valid_from <= as_of) and (e.valid_until is None or as_of < e.valid_until)

    above = {e.id: e for e in held_by(high).values() if as_of is None or valid(e)}
    agrees(federation, {**held_by(low), **above}, where, order_by, as_of, facet, limit)
    assert {e.id: e for e in federation} == {**held_by(low), **held_by(high)}


def test_many_entries_with_equal_values_come_once_each_in_pages(both):
    items = [{"id": f"{i:03}é", "title": f"t{i % 3}", "created_at": i % 5, "attrs": {"n": i % 2}} for i in range(300)]
    for vault in both:
        vault.add_many(items)
    for order_by in ("created_at", ("title", "desc"), [("attrs.n", "desc"), "created_at"], ("id", "desc"), "path"):
        found, own = (pages_of(vault, 37, order_by=order_by)[0] for vault in both)
        assert [e.id for e in found] == [e.id for e in own]


def linked(vaults, links, count=60):
    for vault in vaults:
        vault.add_many({"id": f"e{i}", "title": f"word w{i % 7} entry number {i}"} for i in range(count))
        for source, target in links:
            vault.link(f"e{source}", f"e{target}")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"where": {"title": {"$contains": "1"}}}], ids=["all", "filtered"])
def test_links_bring_the_same_neighbours_with_the_same_scores(both, seed, options):
    pick = random.Random(seed)
    links = [tuple(pick.sample(range(60), 2)) for _ in range(80)]
    # One is a hub.
    links += [(0, i) if i % 2 else (i, 0) for i in range(1, 60)]
    linked(both, links)
    for query in ("w1 entry", "w0", "number 13", "w3 w4"):
        for profile in ("septet", "seven-signals"):
            own, found = (v.search(query, profile=profile, limit=8, **options) for v in both)
            assert [h.id for h in found] == [h.id for h in own]
            assert [h.score for h in found] == pytest.approx([h.score for h in own], abs=1e-9)


def test_what_is_walked_from_a_hub_of_many_links_are_the_newest(both):
    linked(both, [], count=900)
    for vault in both:
        vault.link_many([("e0", f"e{i}") for i in range(1, 900)])
    own, found = (v.search("w0 number 0", limit=20) for v in both)
    assert [(h.id, pytest.approx(h.score, abs=1e-9)) for h in found] == [(h.id, h.score) for h in own]


@pytest.mark.parametrize("options", [{}, {"where": {"id": {"$ne": "e3"}}}, {"query_vector": [1.0, 0.2]}], ids=repr)
def test_hits_and_misses_are_explained_alike(both, options):
    for vault in both:
        for i in range(30):
            vector = {"vector": [1.0, i / 10]} if i % 3 else {}
            vault.add(id=f"e{i}", title=f"word w{i % 4}", description=f"text {i}", **vector)
        vault.add(id="gone", title="word w1", valid_until=5.0)
        vault.add(id="m", title="word w1", kind="memory")
    for entry_id in ("e1", "e3", "e29", "gone", "m"):
        own, found = (v.explain("w1 text", entry_id, limit=2, **options).to_dict() for v in both)
        legs = [one.pop("legs") for one in (own, found)]
        assert (found["reason"], found["rank"], found["filters"]) == (own["reason"], own["rank"], own["filters"])
        for left, right in zip(*legs, strict=True):
            scores = left.pop("score", None), right.pop("score", None)
            assert right == left
            assert scores[1] == (None if scores[0] is None else pytest.approx(scores[0], abs=1e-9))


TEXTS = [
    "ducks swim",
    "Ducks walk slowly",
    "Straße nach Köln",
    "strasse",
    "e-mail from ducks",
    "日本語 テキスト",
    "½ ｄｕｃｋｓ",
    "water",
]


def test_the_nearest_by_words_are_exact_whatever_they_are_written_in(both):
    pick = random.Random(3)
    texts = TEXTS + [
        " ".join(pick.choices("ducks swim walk water pond lake Köln slowly".split(), k=9)) for _ in range(900)
    ]
    for vault in both:
        vault.add_many({"id": f"e{i}", "title": text} for i, text in enumerate(texts))
    for text in TEXTS:
        own, found = (v.similar(text=text, limit=12) for v in both)
        assert [h.score for h in found] == pytest.approx([h.score for h in own], abs=1e-9)
        assert [h.id for h in found] == [h.id for h in own]


def test_roles_and_instructions_rank_messages_alike(both):
    messages = [
        ("user", "The lease of the flat begins in May."),
        ("assistant", "The lease of the flat begins in May: sign it before."),
        ("user", "Always give dates as year, month and day."),
        (None, "A flat tyre."),
    ]
    for vault in both:
        for at, (role, text) in enumerate(messages):
            attrs = {} if role is None else {"role": role}
            vault.add(id=f"m{at}", title=text[:80], description=text, attrs=attrs, created_at=float(at))
    for query in ("when does the lease of the flat begin", "could you give me the date of the lease"):
        local, remote = (vault.search(query, profile="conversation") for vault in both)
        assert [hit.signals for hit in remote] == [pytest.approx(hit.signals) for hit in local]
        assert [(hit.id, pytest.approx(hit.score, abs=1e-9)) for hit in remote] == [(h.id, h.score) for h in local]
        assert {hit.signals["role"] for hit in local} >= {1.0, 0.4}


def test_times_of_questions_rank_messages_alike(both):
    day = 86_400
    messages = [
        ("user", "The lease of the flat begins in May.", 1.0),
        ("assistant", "Sign it before.", 90.0),
        ("user", "The lease of the flat ends in June.", 40.0 * day),
        ("user", "The lease of the flat is lost.", 41.0 * day),
    ]
    for vault in both:
        for at, (role, text, time) in enumerate(messages):
            vault.add(id=f"m{at}", title=text[:80], description=text, attrs={"role": role}, created_at=time)
    for query, signal, best in (
        ("what was said of the lease of the flat on February 10, 1970", "span", "m2"),
        ("what was said first of the lease of the flat", "order", "m0"),
        ("what was said most recently of the lease of the flat", "order", "m3"),
        ("a summary of the lease of the flat before", "answered", "m1"),
    ):
        local, remote = (vault.search(query, profile="conversation") for vault in both)
        assert [hit.signals for hit in remote] == [pytest.approx(hit.signals) for hit in local]
        assert [(hit.id, pytest.approx(hit.score, abs=1e-9)) for hit in remote] == [(h.id, h.score) for h in local]
        assert max(local, key=lambda hit: hit.signals[signal]).id == best
