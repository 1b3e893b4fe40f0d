"""Filters let through the same entries on PostgreSQL as in SQLite."""

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import heavy
from postgres_copies import copy
from septet import Vault
from septet.postgres.store.store import PostgresStore
from septet.postgres.tables import candidates
from septet.postgres.tables.conditions import filtered
from septet.postgres.tables.fragments import FINDABLE
from septet.postgres.tables.phrases import Among, settled
from septet.query.filters import Holds, parse_where
from septet.query.options import DEFAULTS
from septet.query.plan import make_plan
from septet.sqlite.tables import conditions as local_candidates
from twins.filter_cases import CASES, ENTRIES, NULLS, PARTS
from twins.filters import DRAWN, FILTERS


@pytest.fixture(scope="module")
def store(postgres):
    with_name = PostgresStore(postgres.dsn(), "filters")
    yield with_name
    with_name.close()


@pytest.fixture
def both(store):
    """A local vault, and what makes the other one hold the same."""
    with Vault(":memory:", clock=lambda: 1_000.0) as local:
        yield local, lambda: copy(local, store)


def ids(store, where, *, plan=None):
    """The ids of the entries that pass on PostgreSQL."""
    with store.reading() as read:
        filters = settled(read, parse_where(where) if plan is None else plan.filters)
        if plan is None:
            passing = filtered(filters)
            sql = f"SELECT e.row FROM septet.entries e WHERE e.vault = %s AND {FINDABLE} AND {passing.sql}"
            rows = [row for (row,) in read.sql.execute(sql, (read.vault.number, *passing.parameters))]
        else:
            every = [i for (i,) in read.sql.execute("SELECT id FROM septet.entries WHERE vault = %s", (read.vault[0],))]
            rows = candidates.passing_rows(read, plan._replace(filters=filters), every)
        sql = "SELECT id FROM septet.entries WHERE vault = %s AND row = ANY(%s)"
        return sorted(i for (i,) in read.sql.execute(sql, (read.vault.number, rows)))


def local_ids(local, where, *, plan=None):
    """The ids of the entries that pass in SQLite."""
    with local._store.reading() as read:
        if plan is None:
            from septet.sqlite.tables.conditions import filtered as translated

            rows = local_candidates.rows_where(read, translated(parse_where(where)))
        else:
            every = [i for (i,) in read.sql.execute("SELECT id FROM entries")]
            rows = local_candidates.passing_rows(read, plan, every)
        return sorted(i for (row,) in ((r,) for r in rows) for (i,) in read.sql.execute(
            "SELECT id FROM entries WHERE row = ?", (row,)
        ))  # fmt: skip


@pytest.fixture(scope="module")
def table(postgres):
    name = PostgresStore(postgres.dsn(), "filter cases")
    with Vault(":memory:", clock=lambda: 1_000.0) as local:
        local.add_many([{"title": f"Word {e['id']}", **e} for e in ENTRIES])
        copy(local, name)
    yield name
    name.close()


@pytest.mark.parametrize(("where", "wanted"), [*CASES, *NULLS, *PARTS], ids=repr)
def test_each_operator_lets_through_what_it_says(table, where, wanted):
    assert "".join(ids(table, where)) == wanted


@heavy()
@given(DRAWN, st.lists(FILTERS, min_size=4, max_size=4))
def test_random_filters_let_the_same_random_entries_through(both, store, entries, wheres):
    local, copied = both
    # PostgreSQL stores no NUL.
    assume("\0" not in "".join(texts_in(entries)))
    local.delete(where={"kind": {"$exists": True}})
    local.add_many([{"id": str(i), "title": "word", "created_at": 0, **e} for i, e in enumerate(entries)])
    copied()
    for where in wheres:
        assert ids(store, where) == local_ids(local, where), (where, entries)


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in (*value, *value.values()):
            yield from texts_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts_in(inner)


ODD_NUMBERS = [
    0, 1, 1.0, -0.0, True, 1.5, 0.1, 1 / 3, 0.30000000000000004, 5e-324, 2**53, 2**53 + 1, float(2**53), 2**60,
    float(2**60), 10**18, 1e18, 2**63 - 1, -(2**63), float(2**63), -float(2**63), 1e22, 1e308, "1", "x", None,
]  # fmt: skip
BEYOND = [10**22, 10**400, -(10**400), [1, 2.0, "x", None, True, [3]], {"a": 1}, []]


def test_numbers_are_compared_exactly_whether_they_are_integers_or_doubles(both, store):
    local, copied = both
    local.add_many([{"id": str(i), "title": "w", "attrs": {"n": n}} for i, n in enumerate([*ODD_NUMBERS, *BEYOND])])
    copied()
    for number in ODD_NUMBERS:
        wheres = [number, {"$ne": number}, {"$in": [number, "q", 7]}, {"$all": [number]}, {"$all": [number, 1]}]
        if number is not None and number is not True:
            wheres += [{operator: number} for operator in ("$gt", "$gte", "$lt", "$lte")]
        for condition in wheres:
            where = {"attrs.n": condition}
            assert ids(store, where) == local_ids(local, where), where


TEXTS = [
    "Straße", "STRASSE", "ſtraße", "ﬀi", "ﬃ", "ffi", "İstanbul", "i̇", "ΌΣΟΣ", "όσος", "Kelvin", "ŉ", "ʼn", "ΐ", "ǰ",
    "ﬅ", "100%_", "a\\'b", "日本語", "😀",
]  # fmt: skip


def test_case_is_folded_as_python_folds_it_in_every_field(both, store):
    local, copied = both
    local.add_many(
        [{"id": str(i), "title": t, "description": t, "attrs": {"t": [t]}, "tags": [t]} for i, t in enumerate(TEXTS)]
    )
    copied()
    parts = {t[i:j] for t in TEXTS for i, j in product(range(len(t)), range(len(t) + 1)) if i < j <= i + 2}
    for part in sorted(parts | {"ss", "S", "ι", "", "a\0"}):
        for field in ("title", "attrs.t", "tags"):
            where = {field: {"$contains": part}}
            assert ids(store, where) == local_ids(local, where), where


@pytest.mark.parametrize("name", ["0", "-1", " 1", "+1", "é", "sp ace", "'", "$", "[0]", "%s", "back\\slash"])
def test_attrs_may_have_any_name_and_no_name_is_a_place_in_a_list(both, store, name):
    local, copied = both
    local.add(id="named", title="word", attrs={name: 1, "in": {name: {name: 1}}, "list": [1, 2, {name: 1}]})
    copied()
    for path in (name, f"in.{name}.{name}", f"list.{name}", f"list.2.{name}", f"{name}.x"):
        for condition in (1, {"$exists": True}, None):
            where = {f"attrs.{path}": condition}
            assert ids(store, where) == local_ids(local, where), where


def test_no_value_with_nul_is_taken_for_the_part_before_it(both, store):
    local, copied = both
    texts = ["general", "general\1", "generalx", "genera"]
    local.add_many([{"id": str(i), "title": "w", "domain": t, "attrs": {"k": t}} for i, t in enumerate(texts)])
    copied()
    for field, text in product(("domain", "attrs.k"), ("general\0", "general\0x", "\0")):
        for operator in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"):
            where = {field: {operator: text}}
            assert ids(store, where) == local_ids(local, where), where
        for values in ([text], [text, "general"]):
            for operator in ("$in", "$nin", "$all"):
                where = {field: {operator: values}}
                assert ids(store, where) == local_ids(local, where), where


def test_a_filter_at_its_bounds_is_answered(table):
    assert "".join(ids(table, {"$or": [{"attrs.n": {"$gt": i}} for i in range(1_000)]})) == "ab"
    assert "".join(ids(table, {"id": {"$in": ["a"] * 1_000_000}})) == "a"
    assert "".join(ids(table, {"$or": [{"id": "a"}] * 100_000})) == "a"
    deep = {"id": "a"}
    for _ in range(15):
        deep = {"$not": {"$and": [deep, {"attrs.n": {"$lt": 5}}]}}
    assert ids(table, deep)


# -- words -------------------------------------------------------------------------------------------------------------

WORDS = ["renew", "renewal", "Crème", "creme", "general", "generate", "the", "light", "日本語", "語", "e-mail", "mail"]
some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
WORDED = st.lists(
    st.fixed_dictionaries(
        {"title": some_words, "description": some_words, "context": some_words},
        optional={"kind": st.just("memory"), "tags": st.lists(st.sampled_from(WORDS), max_size=2)},
    ),
    min_size=1,
    max_size=8,
)


@heavy()
@given(WORDED, some_words, st.sampled_from(["must", "must_not", "phrase", "prefix"]), st.booleans())
def test_words_and_phrases_and_beginnings_let_the_same_entries_through(both, store, entries, asked, name, memories):
    local, copied = both
    local.delete(where={"kind": {"$exists": True}})
    local.add_many([{"id": f"e{i}", **e} for i, e in enumerate(entries)])
    copied()
    options = {**DEFAULTS, "words": {name: asked}, "include_memories": memories}
    plan = make_plan("word", now=1_000.0, profile="septet", options=options)
    assert ids(store, None, plan=plan) == local_ids(local, None, plan=plan)


def test_only_phrases_are_looked_up_before_a_search(both, store):
    local, copied = both
    local.add_many([{"id": "a", "title": "light is general"}, {"id": "b", "title": "general", "description": "light"}])
    copied()
    with store.reading() as read:
        plain = {"must": Holds('"light"', ())}
        assert settled(read, plain) is plain
        found = settled(read, {"phrase": Holds('"light is" OR "general"', ())})["phrase"]
        assert [len(part.rows) for part in found.parts if isinstance(part, Among)] == [1]
        assert [part.match for part in found.parts if isinstance(part, Holds)] == ['"general"']


@pytest.mark.parametrize("kinds", [None, ["memory"], ["entry", "memory"]], ids=repr)
@pytest.mark.parametrize("expired", [False, True])
def test_validity_and_kinds_and_splits_count_as_in_a_local_vault(both, store, kinds, expired):
    local, copied = both
    ends = [None, 999.0, 1_000.0, 1_001.0]
    local.add_many(
        {"id": f"{kind}{i}", "title": "word", "kind": kind, "valid_from": start, "valid_until": end}
        for kind in ("entry", "memory")
        for i, (start, end) in enumerate(product(ends, ends))
        if start is None or end is None or start < end
    )
    local.add(id="long", title="word", description="Some words. " * 400, split=50)
    local.delete("entry0")
    copied()
    options = {**DEFAULTS, "kinds": kinds, "include_expired": expired}
    plan = make_plan("word", now=1_000.0, profile="septet", options=options)
    found = ids(store, None, plan=plan)
    assert found == local_ids(local, None, plan=plan)
    assert "entry0" not in found and "long" not in found
    with store.reading() as read, local._store.reading() as own:
        held = candidates.rows_of(read, ["long", "entry1", "entry0", "none", "a\0"])
        assert set(held) == {"long", "entry1"}
        every = [*held, "memory3"]
        assert candidates.valid_ids(read, plan, every) == local_candidates.valid_ids(own, plan, every)
        for entry_id in every:
            (row,), (local_row,) = (
                [*of(which, [entry_id]).values()]
                for of, which in ((candidates.rows_of, read), (local_candidates.rows_of, own))
            )
            for memories in (False, True):
                assert candidates.filters_passed(read, plan, row, memories=memories) == local_candidates.filters_passed(
                    own, plan, local_row, memories=memories
                )
