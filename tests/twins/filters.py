"""Filters drawn at random, and what they let through, slowly in Python."""

from hypothesis import strategies as st

#: SQLite's JSON ends a text at NUL, and ``\1`` to ``\3`` stand in for it there.
TEXTS = ["a", "b", "A", "B", "a\0", "a\0b", "\0", "\1", "a\1", "a\1\2", "a\2", "\1\3", "\\u0000", 'a"\\']
TEXT = st.one_of(st.sampled_from("abAB"), st.sampled_from(TEXTS))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([-1.5, 0.0, 1.0]), TEXT)
KNOWN = st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from([-1.5, 0.0, 1.0]), TEXT)
#: Tags have no control characters; they are compared with whatever is given.
TAG = st.sampled_from(["a", "b", "A", "B", "\\u0000", 'a"\\'])
ATTRS = st.fixed_dictionaries(
    {},
    optional={
        "x": st.one_of(SCALARS, st.lists(SCALARS, max_size=3)),
        "y": SCALARS,
        "o": st.dictionaries(st.just("z"), SCALARS),
    },
)
DRAWN = st.lists(
    st.fixed_dictionaries(
        {"domain": TEXT, "tags": st.lists(TAG, max_size=3), "updated_at": st.integers(1, 4), "attrs": ATTRS}
    ),
    max_size=6,
)
ORDER = ["$gt", "$gte", "$lt", "$lte"]


def condition(equal, listed, ordered, contains=True):
    parts = [
        st.builds(lambda o, v: {o: v}, st.sampled_from(["$eq", "$ne"]), equal),
        st.builds(lambda o, v: {o: v}, st.sampled_from(["$in", "$nin", "$all"]), st.lists(listed, max_size=5)),
        st.builds(lambda v: {"$exists": v}, st.booleans()),
    ]
    if contains:
        parts.append(st.builds(lambda v: {"$contains": v}, TEXT))
    if ordered is not None:
        parts.append(st.builds(lambda o, v: {o: v}, st.sampled_from(ORDER), ordered))
    one = st.one_of(parts)
    return st.one_of(one, st.builds(lambda a, b: {**a, **b}, one, one), st.builds(lambda a: {"$not": a}, one))


NUMBERS = st.one_of(st.integers(-2, 2), st.sampled_from([-1.5, 0.0]), TEXT)
#: Equalities of one field, which become one comparison.
EQUAL = st.one_of(
    st.lists(st.builds(lambda v: {"domain": v}, TEXT), min_size=1, max_size=5),
    st.lists(st.builds(lambda v: {"tags": v}, TAG), min_size=1, max_size=5),
    st.lists(st.builds(lambda f, v: {f: v}, st.sampled_from(["attrs.x", "attrs.y"]), SCALARS), min_size=1, max_size=5),
)
LEAF = st.one_of(
    st.builds(lambda o, parts: {o: parts}, st.sampled_from(["$and", "$or", "$nor"]), EQUAL),
    st.builds(lambda c: {"domain": c}, condition(TEXT, TEXT, TEXT)),
    st.builds(lambda c: {"tags": c}, condition(TEXT, TEXT, None)),
    st.builds(
        lambda c: {"updated_at": c}, condition(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), contains=False)
    ),
    st.builds(
        lambda f, c: {f: c}, st.sampled_from(["attrs.x", "attrs.y", "attrs.o.z"]), condition(SCALARS, KNOWN, NUMBERS)
    ),
)
FILTERS = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.builds(
            lambda o, parts: {o: parts},
            st.sampled_from(["$and", "$or", "$nor"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=5,
)
MISSING = object()


def value_of(entry, name):
    if not name.startswith("attrs."):
        # An empty list of tags counts as no tags; in attrs it is a value.
        return tuple(entry[name]) if name == "tags" else entry[name]
    value = entry["attrs"]
    for part in name.split(".")[1:]:
        value = value.get(part, MISSING) if isinstance(value, dict) else MISSING
    return value


def same(a, b):
    return isinstance(a, bool) == isinstance(b, bool) and isinstance(a, str) == isinstance(b, str) and a == b


def ordered(a, operator, b):
    if isinstance(a, (bool, dict, type(None))) or isinstance(a, str) != isinstance(b, str):
        return False
    return {"$gt": a > b, "$gte": a >= b, "$lt": a < b, "$lte": a <= b}[operator]


def holds(value, operator, operand):
    if operator == "$exists":
        return (value is not MISSING and value != ()) == operand
    if operator in ("$ne", "$nin"):
        return not holds(value, {"$ne": "$eq", "$nin": "$in"}[operator], operand)
    if operator == "$all":
        return all(holds(value, "$eq", one) for one in operand)
    if operator == "$in":
        return any(holds(value, "$eq", one) for one in operand)
    if operator == "$not":
        return not all(holds(value, o, v) for o, v in operand.items())
    if operand is None:
        return value is MISSING or value is None
    members = value if isinstance(value, (list, tuple)) else [value]
    members = [m for m in members if m is not MISSING and m is not None and not isinstance(m, list)]
    if operator == "$contains":
        return any(isinstance(m, str) and operand.casefold() in m.casefold() for m in members)
    if operator == "$eq":
        return any(same(m, operand) for m in members)
    return any(ordered(m, operator, operand) for m in members)


def slowly(entry, where):
    for key, value in where.items():
        if key in ("$and", "$or", "$nor"):
            results = [slowly(entry, part) for part in value]
            passed = all(results) if key == "$and" else any(results) if key == "$or" else not any(results)
        elif key == "$not":
            passed = not slowly(entry, value)
        else:
            asked = value if isinstance(value, dict) else {"$eq": value}
            passed = all(holds(value_of(entry, key), o, v) for o, v in asked.items())
        if not passed:
            return False
    return True
