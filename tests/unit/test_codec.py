"""Values as JSON and back: what is omitted, what is copied, and that nothing is lost."""

import json
from types import MappingProxyType

import pytest

from septet import Entry, Span
from septet.model.codec import as_json, value_of
from septet.model.entry import Version
from septet.model.explanation import Explanation, LegReport, Remedy
from septet.model.links import Link
from septet.model.pages import Facets, Page
from septet.notes import Note

ENTRY = Entry(id="a", title="A", tags=("x", "y"), attrs={"deep": [{"n": 1}]}, span=Span("a.md", 1, 2), valid_from=0.0)
EXPLANATION = Explanation(
    id="a",
    query="words",
    found=False,
    rank=None,
    limit=10,
    candidates=30,
    score=None,
    reason="It does not match.",
    tier="main",
    breakdown={"semantic": 0.5},
    signals={"semantic": None},
    estimated=("vector",),
    confidence=0.25,
    raw={"cosine": None},
    weights={"semantic": 1.0},
    filters={"domain": True},
    legs=(LegReport("text", True, 1, 2, 2, 3.5, "words"),),
    notes=(Note("no_vectors", "There are none.", tier="main"),),
    remedy=Remedy(changes={"limit": 20}, rank=11, text="Raise the limit."),
)


@pytest.mark.parametrize(
    "value",
    [
        ENTRY,
        Link("a", "b", "related", ""),
        Page((ENTRY,), None),
        Version(entry=ENTRY, replaced_at=1.0, call="update", changed=("title",)),
        EXPLANATION,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_comes_back_equal(value):
    back = value_of(type(value), json.loads(json.dumps(as_json(value))))
    assert (back, repr(back)) == (value, repr(value))


def test_empty_optional_fields_are_omitted_and_zero_is_not():
    data = Entry(id="a", title="A", valid_until=0.0, parent="").to_dict()
    assert not data.keys() & {"attrs", "span", "valid_from", "source"}
    assert (data["valid_until"], data["parent"], data["tags"]) == (0.0, "", [])


def test_attrs_of_the_deepest_nesting_are_copied():
    attrs = {}
    for _ in range(499):
        attrs = {"inner": attrs}
    data = Entry(id="a", title="A", attrs=attrs).to_dict()
    assert data["attrs"] == attrs
    assert data["attrs"] is not attrs


def test_sets_and_foreign_mappings_become_lists_and_dicts():
    value = as_json(MappingProxyType({"ids": {"a"}, "links": [Link("a", "b", "t", "")]}))
    assert value == {"ids": ["a"], "links": [{"source": "a", "target": "b", "type": "t", "note": ""}]}


def test_a_mapping_with_a_form_of_its_own_keeps_it():
    facets = Facets("domain", (("ops", 2),), total=2, missing=0, distinct=1, other=0)
    assert as_json({"domain": facets})["domain"]["values"] == [{"value": "ops", "count": 2}]
