"""What ``where`` lets through: the same entries as a slow reading of the same filter in Python."""

from dataclasses import FrozenInstanceError
from datetime import datetime
from functools import reduce

import pytest

from septet import QueryError, Vault
from septet.query.filters import parse_where
from twins.filter_cases import CASES, ENTRIES, NULLS, PARTS


@pytest.fixture(scope="module")
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add_many([{"title": f"Word {e['id']}", **e} for e in ENTRIES])
        yield made


def found(vault, where):
    return "".join(sorted(vault.search("word", where=where, limit=100).ids))


@pytest.mark.parametrize(("where", "ids"), CASES, ids=repr)
def test_each_operator_lets_through_what_it_says(vault, where, ids):
    assert found(vault, where) == ids


@pytest.mark.parametrize(("where", "ids"), NULLS, ids=repr)
def test_null_among_alternatives_means_what_equality_with_null_means(vault, where, ids):
    assert found(vault, where) == ids


def test_an_object_in_attrs_is_no_list_of_its_values(vault):
    assert found(vault, {"attrs.deep.er": "yes"}) == ""
    assert found(vault, {"attrs.deep.er": {"$ne": "yes"}}) == "abcde"


@pytest.mark.parametrize("key", ["back\\slash", "a\tb", "line\nfeed"], ids=repr)
def test_attrs_with_escaped_characters_in_their_names_can_be_filtered(key):
    with Vault(":memory:") as made:
        made.add(id="x", title="word", attrs={key: 1})
        assert found(made, {f"attrs.{key}": 1}) == "x"


@pytest.mark.parametrize("key", ["é", "日本", "sp ace", "'", "$", "[0]", "🙂", "-"])
def test_attrs_may_have_any_other_name(key):
    with Vault(":memory:") as made:
        made.add(id="x", title="word", attrs={key: 1})
        assert found(made, {f"attrs.{key}": 1}) == "x"
        assert found(made, {f"attrs.{key}": 2}) == ""


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("text", "where is str"),
        ({"colour": "x"}, "unknown field 'colour'"),
        ({"attrs": {"team": "core"}}, "unknown field 'attrs'"),
        ({"attrs.": 1}, "not a path"),
        ({"attrs.a..b": 1}, "not a path"),
        ({"attr.team": 1}, "unknown field 'attr.team'"),
        ({5: "x"}, "key 5"),
        ({"$xor": []}, r"unknown operator '\$xor'"),
        ({"id": {"$regex": "x"}}, r"unknown operator '\$regex' on id"),
        ({"id": {5: "x"}}, "unknown operator 5 on id"),
        ({"id": {}}, "empty condition"),
        ({"id": ["a"]}, r"\$in"),
        ({"id": 5}, "id cannot be compared with 5"),
        ({"id": True}, "cannot be compared with True"),
        ({"id": b"a"}, "cannot be compared"),
        ({"id": "\ud800"}, "UTF-8"),
        ({"tags": 5}, "tags cannot be compared"),
        ({"tags": {"$gt": "a"}}, "cannot order"),
        ({"attrs.n": {"$gt": None}}, "cannot order"),
        ({"attrs.n": {"$gt": True}}, "cannot order"),
        ({"attrs.n": {"$contains": 5}}, "requires text"),
        ({"attrs.n": {"$exists": 1}}, "true or false"),
        ({"attrs.n": {"$in": "abc"}}, "requires a list"),
        ({"attrs.n": {"$in": {"a": 1}}}, "requires a list"),
        ({"attrs.n": 2**63}, "64-bit"),
        ({"attrs.n": float("nan")}, "nan: NaN equals nothing and is in no order; wanted a finite number"),
        ({"attrs.n": {"$in": [1.0, float("nan")]}}, "nan: NaN equals nothing"),
        ({"attrs.n": {"$lt": float("inf")}}, "inf: no number is infinite; wanted a finite number"),
        ({"first_line": float("nan")}, "first_line is compared with nan: NaN equals nothing"),
        pytest.param({"attrs.n": object()}, "cannot be compared", id="an object"),
        ({"updated_at": "2026-13-01"}, "updated_at is '2026-13-01': wanted an ISO date"),
        ({"updated_at": ""}, "updated_at is ''"),
        ({"updated_at": {"$in": ["2026-01-01", "soon"]}}, "updated_at is 'soon'"),
        ({"updated_at": {"$gte": datetime(2026, 1, 1)}}, "without a time zone"),
        ({"updated_at": {"$contains": "x"}}, "updated_at"),
        ({"$and": []}, "non-empty list"),
        ({"$or": {"id": "a"}}, "non-empty list"),
        ({"$or": "text"}, "non-empty list"),
        ({"$or": [{}]}, "not a filter"),
        ({"$not": []}, "not a filter"),
        ({"$or": [{"colour": 1}]}, "unknown field 'colour'"),
    ],
    ids=ascii,
)
def test_a_filter_that_cannot_be_understood_is_a_query_error(vault, where, message):
    with pytest.raises(QueryError, match=message):
        vault.search("word", where=where)


@pytest.mark.parametrize(("where", "ids"), PARTS, ids=repr)
def test_all_conditions_of_one_part_must_hold_in_whatever_order_they_stand(vault, where, ids):
    def reversed_(part):
        if isinstance(part, dict):
            return {key: reversed_(value) for key, value in reversed(part.items())}
        return [reversed_(one) for one in part] if isinstance(part, list) else part

    assert found(vault, where) == ids
    assert found(vault, reversed_(where)) == ids


def wrapped(operator, depth, inner):
    return reduce(lambda part, _: {operator: part if operator == "$not" else [part]}, range(depth), inner)


@pytest.mark.parametrize("operator", ["$and", "$or", "$nor", "$not"])
def test_filters_may_be_nested_32_levels_deep_and_no_deeper(vault, operator):
    for depth in (1, 2, 16, 31, 32):
        turned = operator in ("$nor", "$not") and depth % 2
        assert found(vault, wrapped(operator, depth, {"id": "a"})) == ("bcde" if turned else "a")
    with pytest.raises(QueryError, match="nested deeper than 32"):
        vault.search("word", where=wrapped(operator, 33, {"id": "a"}))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "operators",
    [["$and"], ["$or"], ["$nor"], ["$and", "$or"], ["$and", "$nor", "$or"], ["$nor", "$not", "$and"]],
    ids=str,
)
def test_filters_with_several_parts_may_be_nested_as_deep(vault, operators, first):
    part, passing = {"id": "a"}, set("a")
    for depth, operator in enumerate((operators * 32)[:32]):
        # What stands beside says nothing, or the same.
        beside = {"$and": {"title": {"$exists": True}}, "$or": {"id": "z"}, "$nor": {"id": "z"}}.get(operator)
        part = {operator: part if beside is None else [part, beside] if first else [beside, part]}
        passing = set("abcde") - passing if operator in ("$nor", "$not") else passing
        if depth in (0, 1, 9, 24, 30, 31):
            assert found(vault, part) == "".join(sorted(passing))


@pytest.mark.parametrize("outside", [0, 1, 31, 32])
def test_negations_inside_a_field_count_with_what_is_around_it(vault, outside):
    most = 33 - outside
    deepest = wrapped("$and", outside, {"id": wrapped("$not", most, {"$eq": "a"})})
    assert found(vault, deepest) == ("bcde" if most % 2 else "a")
    with pytest.raises(QueryError, match="nested deeper than 32"):
        vault.search("word", where=wrapped("$and", outside, {"id": wrapped("$not", most + 1, {"$eq": "a"})}))


@pytest.mark.parametrize("number", [-(2**63), -(2**62) - 1, -(2**32), -1, 0, 1, 2**53 + 1, 2**62 + 1, 2**63 - 1])
def test_numbers_are_compared_along_the_whole_range_of_64_bits(number):
    with Vault(":memory:") as made:
        made.add_many({"id": f"{n}", "title": "word", "attrs": {"n": n}} for n in (number, 5))
        assert found(made, {"attrs.n": number}) == f"{number}"
        assert found(made, {"attrs.n": {"$in": [number]}}) == f"{number}"


@pytest.mark.parametrize("number", [-(2**63) - 1, -(2**64), 2**63, 2**64, 10**30])
def test_integers_beyond_64_bits_are_query_errors(vault, number):
    for condition in (number, {"$in": [1, number]}, {"$lt": number}):
        with pytest.raises(QueryError, match="64-bit"):
            vault.search("word", where={"attrs.n": condition})


def test_a_filter_that_was_made_cannot_be_changed():
    (some,) = parse_where({"$or": [{"id": "a"}, {"$not": {"id": "b"}}, {"id": {"$gt": "a", "$lt": "c"}}]}).values()
    one, no, both = some.parts
    for part, name in ((some, "parts"), (one, "value"), (no, "part"), (both, "parts")):
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, None)


def test_nesting_has_a_limit_that_is_an_error(vault):
    deep = reduce(lambda inner, _: {"$and": [inner]}, range(40), {"id": "a"})
    with pytest.raises(QueryError, match="nested deeper than 32"):
        vault.search("word", where=deep)


@pytest.mark.parametrize("depth", [400, 3_000])
def test_negations_inside_a_field_have_a_limit_too(vault, depth):
    deep = reduce(lambda inner, _: {"$not": inner}, range(depth), {"$eq": "a"})
    with pytest.raises(QueryError, match="nested"):
        vault.search("word", where={"id": deep})


@pytest.mark.parametrize(
    "where",
    [
        {"tags": {"$in": ["http", *(f"t{i}" for i in range(1_500))]}},
        {"attrs.team": {"$in": ["core", "web", *(f"t{i}" for i in range(1_500))]}},
        {"attrs.n": {"$in": [1, *range(100, 1_600)]}},
        {"$or": [{"id": i} for i in ("a", "b", *(f"x{i}" for i in range(1_500)))]},
        {"$and": [{"tags": "http"}] * 1_500},
        {"id": {"$in": ["a", "b", *(f"x{i}" for i in range(300_000))]}},
    ],
    ids=["tags", "attrs text", "attrs number", "or", "and", "ids"],
)
def test_lists_of_alternatives_may_be_long(vault, where):
    assert found(vault, where) == "ab"


def test_a_time_beyond_every_float_is_a_query_error(vault):
    with pytest.raises(QueryError, match="updated_at"):
        vault.search("word", where={"updated_at": {"$lt": 10**400}})


@pytest.mark.parametrize(
    "options",
    [
        {"domain": "\ud800"},
        {"kinds": ["\ud800"]},
        {"boost_tags": ["\ud800"]},
        {"where": {"attrs.\ud800": 1}},
    ],
    ids=ascii,
)
def test_a_lone_surrogate_in_an_option_is_a_query_error(vault, options):
    try:
        vault.search("word", **options)
    except QueryError as fault:
        assert next(iter(options)) in str(fault)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": True},
        {"limit": 1.0},
        {"limit": "5"},
        {"max_tokens": 0},
        {"mode": "fast"},
        {"domain": 5},
        {"boost_tags": "http"},
        {"boost_tags": [5]},
        {"kinds": []},
        {"kinds": 5},
        {"kinds": [5]},
        {"legs": []},
        {"legs": "bm25"},
        {"min_score": "high"},
        {"min_score": float("nan")},
        {"profile": "unknown"},
        {"query_vector": [float("nan")]},
        {"query_vector": [[1.0]]},
    ],
    ids=repr,
)
def test_an_option_that_cannot_be_understood_is_an_error_that_names_it(vault, options):
    with pytest.raises((QueryError, ValueError), match=next(iter(options))):
        vault.search("word", **options)


@pytest.mark.parametrize("options", [{"boost_tags": 5}, {"legs": 5}, {"legs": [[]]}], ids=repr)
def test_a_scalar_where_a_list_is_wanted_is_a_query_error(vault, options):
    with pytest.raises(QueryError, match=next(iter(options))):
        vault.search("word", **options)


def test_tags_from_a_generator_count_or_are_refused(vault):
    try:
        results = vault.search("word", boost_tags=(t for t in ["http"]), where={"id": "a"})
    except QueryError:
        return
    assert results[0].signals["tag_overlap"] == 0.5


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, "emn"),
        ({"kinds": "entry"}, "emn"),
        ({"kinds": ["chunk"]}, "mn"),
        ({"domain": "security"}, "n"),
        ({"domain": "security", "kinds": ["chunk"]}, "n"),
        ({"where": {"attrs.team": "core"}}, "em"),
        ({"where": {"attrs.team": "core"}, "kinds": "chunk"}, "m"),
        ({"where": {"attrs.team": "none"}}, ""),
    ],
    ids=repr,
)
def test_memories_pass_every_filter_but_the_one_on_kinds(options, ids):
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add(id="e", title="word", attrs={"team": "core"})
        made.remember("word", id="m", attrs={"team": "core"})
        made.remember("word", id="n", domain="security")
        assert "".join(sorted(made.search("word", include_memories=True, **options).ids)) == ids
        assert set(made.search("word", **options).ids) <= {"e"}


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"created_at": "2026-01-01"}, "b"),
        ({"created_at": {"$ne": "2026-01-01T00:00:00Z"}}, "ac"),
        ({"created_at": {"$gt": "2026-01-01"}}, "c"),
        ({"created_at": {"$gte": "2026-01-01"}}, "bc"),
        ({"created_at": {"$lt": "2026-01-01T01:00:00+01:00"}}, "a"),
        ({"created_at": {"$lte": "2026-01-01 00:00"}}, "ab"),
        ({"created_at": {"$in": ["2026-01-01", "2026-06-01T12:00:00.5Z"]}}, "bc"),
        ({"created_at": {"$nin": ["2026-01-01", 1_780_315_200.5]}}, "a"),
        ({"$or": [{"created_at": "2026-01-01"}, {"created_at": "2025-12-31"}]}, "ab"),
        ({"created_at": {"$not": {"$gte": "2026-01-01"}}}, "a"),
        ({"valid_until": {"$lt": "2027-01-01"}}, "c"),
    ],
    ids=repr,
)
def test_a_time_is_compared_with_iso_text_as_with_the_seconds_that_it_means(where, ids):
    times = {"a": 1_767_139_200.0, "b": 1_767_225_600.0, "c": 1_780_315_200.5}
    with Vault(":memory:", clock=lambda: 1.78e9) as made:
        for id, at in times.items():
            made.add(id=id, title=f"word {id}", created_at=at, valid_until=1_790_000_000.0 if id == "c" else None)
        assert found(made, where) == ids
        assert "".join(sorted(made.entries(where).ids)) == ids
