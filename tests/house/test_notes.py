"""Every code of a note is one of the list, every one of the list is used and documented."""

import ast
from typing import get_args

from septet import NoteCode, notes
from sources import SOURCES, nodes_of

#: Calls that name a code, and the position of the argument.
NAMING = {"Note": 0, "fail": 1}


def codes_of(path):
    for node in nodes_of(path):
        if isinstance(node, ast.Call):
            position = NAMING.get(getattr(node.func, "id", getattr(node.func, "attr", "")), len(node.args))
            code = node.args[position] if position < len(node.args) else None
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                yield code.value


def test_the_sources_use_the_codes_of_the_list_and_no_others():
    assert {code for path in SOURCES for code in codes_of(path)} == set(get_args(NoteCode))


def test_every_code_is_documented_in_order():
    rows = [line for line in notes.__doc__.splitlines() if line.startswith("``")]
    assert [row.split("``")[1] for row in rows] == sorted(get_args(NoteCode))
    assert all(row.split("``")[2].strip() for row in rows)


def test_codes_that_degrade_are_codes():
    assert set(get_args(NoteCode)) >= notes.DEGRADING
