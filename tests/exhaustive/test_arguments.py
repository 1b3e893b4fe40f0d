"""Tests of `unit/test_arguments.py` that take seconds."""

from __future__ import annotations

import pytest

import odd_values
from septet.inputs.arguments import shown


@pytest.mark.parametrize("name", odd_values.ALL)
def test_what_is_shown_of_any_value_is_short_and_printable(name):
    text = shown(odd_values.ALL[name]())
    assert text
    assert len(text) <= 1_000
    assert text.isprintable()
    text.encode("utf-8")
