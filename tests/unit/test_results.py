"""Hits and entries that a search fills in a shorter way are those that their constructors make."""

import dataclasses
import pickle

import pytest

from septet import Entry, Hit
from septet.entry import Span, entry_of
from septet.results import hit_of

ENTRY = Entry(id="a", title="b", tags=("c",), attrs={"d": 1}, created_at=2.0, span=Span("p", 1, 2))
HIT = Hit(
    id="a", title="b", score=0.5, type="note", domain="d", severity="s", tags=("t",), kind="entry", snippet="n",
    token_estimate=3, tier="project", breakdown={"x": 0.5}, signals={"x": None}, entry=ENTRY,
)  # fmt: skip


def values(made):
    return [getattr(made, field.name) for field in dataclasses.fields(made)]


@pytest.mark.parametrize(("made", "of"), [(ENTRY, entry_of), (HIT, hit_of)], ids=["entry", "hit"])
def test_what_is_filled_in_is_what_the_constructor_makes(made, of):
    filled = of(*values(made))
    assert type(filled) is type(made)
    assert filled == made
    assert repr(filled) == repr(made)
    assert filled.to_dict() == made.to_dict()
    assert pickle.loads(pickle.dumps(filled)) == made
    with pytest.raises(dataclasses.FrozenInstanceError):
        filled.title = "other"


@pytest.mark.parametrize(("made", "of"), [(ENTRY, entry_of), (HIT, hit_of)], ids=["entry", "hit"])
def test_a_field_too_few_or_too_many_is_an_error(made, of):
    for wrong in (values(made)[1:], [*values(made), None]):
        with pytest.raises(ValueError, match="values to unpack"):
            of(*wrong)
