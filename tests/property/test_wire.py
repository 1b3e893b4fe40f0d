"""What travels between a client and a server comes out as it went in, to the last bit."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import Entry, QueryError, Span
from septet.client.answers import entry_of
from septet.query.filters import parse_where
from septet.tiers.remote.answers import answered
from septet.tiers.remote.packing import floats, floats_of, wholes, wholes_of
from septet.tiers.remote.plans import filter_data, filters_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(TEXTS, st.integers(-(2**63), 2**63 - 1), FINITE.filter(lambda n: abs(n) < 1e15), st.booleans())
LEAVES = st.one_of(
    st.fixed_dictionaries(
        {"attrs.x": st.one_of(SCALARS, st.fixed_dictionaries({"$in": st.lists(SCALARS, max_size=4)}))}
    ),
    st.fixed_dictionaries({"domain": st.fixed_dictionaries({"$ne": TEXTS})}),
    st.fixed_dictionaries({"severity": st.fixed_dictionaries({"$lte": st.sampled_from(["warning", "critical"])})}),
    st.fixed_dictionaries({"valid_until": st.fixed_dictionaries({"$exists": st.booleans()})}),
)
WHERE = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$nor": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=6,
)


def travelled(value):
    return json.loads(json.dumps(value, allow_nan=False))


@given(WHERE)
def test_filters_come_out_as_they_went_in(where):
    filters = parse_where(where)
    back = filters_of(travelled({name: filter_data(one) for name, one in filters.items()}))
    # As text: 1 and True, 1 and 1.0 are equal to Python.
    assert repr(back) == repr(filters)


@given(st.lists(st.floats(width=64), max_size=20))
def test_numbers_come_out_to_the_last_bit(values):
    array = np.array(values, dtype=np.float64)
    assert floats_of(travelled(floats(array))).tobytes() == array.tobytes()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_whole_numbers_come_out_as_they_went_in(values):
    assert wholes_of(travelled(wholes(values))) == values


@given(TEXTS, TEXTS, st.lists(TEXTS), st.dictionaries(TEXTS, SCALARS), FINITE, st.none() | FINITE, st.none() | TEXTS)
def test_entries_come_out_as_they_went_in(id, title, tags, attrs, created_at, valid_until, parent):
    entry = Entry(
        id=id, title=title, tags=tuple(tags), attrs=attrs, created_at=created_at, valid_until=valid_until,
        parent=parent, span=Span("a", 1, 2) if tags else None,
    )  # fmt: skip
    back = entry_of(travelled(entry.to_dict()))
    assert (back, repr(back)) == (entry, repr(entry))


class Passing:
    """A session in which everything passes."""

    def any_passing(self, filters):
        return [True] * len(filters)


def test_filters_that_an_entry_might_pass_come_in_checked():
    asked = {"filters": [filter_data(one) for one in parse_where({"attrs.n": 5, "kind": "entry"}).values()]}
    assert answered(Passing(), "any_passing", asked) == [True, True]
    for wrong in (None, 5, "text", [5], [["compare", "row", "$eq", 1]], [["holds", "a OR b:c", []]]):
        with pytest.raises(QueryError):
            answered(Passing(), "any_passing", {"filters": wrong})
