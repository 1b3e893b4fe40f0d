"""Paths below a root, and the folders that say something of all that is in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet.files.roots import within

NAMES = st.lists(st.sampled_from(["a", "ab", "b.md", ".."]), max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("path", "place", "is_within"),
    [
        ("birds/owls.md", "birds", True),
        ("birds/owls.md", "birds/owls.md", True),
        ("birds/owls.md", "", True),
        ("birds/owls.md", "bird", False),
        ("birds", "birds/owls.md", False),
        ("../other/owls.md", "../other", True),
        ("../others/owls.md", "../other", False),
    ],
)
def test_a_file_is_within_its_folders_and_not_within_one_whose_name_begins_alike(path, place, is_within):
    assert within(path, {place}) is is_within


@given(NAMES, st.sets(NAMES))
def test_what_is_within_one_of_many_places_is_found_by_comparing_each(path, places):
    assert within(path, places) == any(not one or path == one or path.startswith(f"{one}/") for one in places)
