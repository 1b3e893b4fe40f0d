"""The list of differences is complete, names no case that was not recorded, and holds no dead excuse."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from golden.differences import CHOICES, GUARD, GUARD_MANAGED, LEFT_OUT, QUERIES, SWITCHES, TERMS, differs
from golden.loader import DATA, recording
from sources import text_of, tree_of

HERE = Path(__file__).parent
FILES = sorted(path.stem.removeprefix("soleri-") for path in DATA.glob("soleri-*.json"))
ABOUT = {"meta", "note", "corpus", "optionsNote", "columns"}
TABLES = (QUERIES, TERMS, GUARD, GUARD_MANAGED)


#: Recordings are compared here, and beside other servers where one is asked.
COMPARING = sorted({*HERE.glob("*.py"), *HERE.parent.glob("servers/test_recorded_*.py")} - {HERE / "differences.py"})


@cache
def marked() -> dict[str, list[str]]:
    """Return the tests marked by `differs`, by difference."""
    found: dict[str, list[str]] = {}
    for path in COMPARING:
        for node in ast.walk(tree_of(path)):
            for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "differs":
                    for name in mark.args:
                        found.setdefault(ast.literal_eval(name), []).append(node.name)
    return found


@pytest.mark.parametrize("name", [*SWITCHES, *CHOICES])
def test_every_difference_is_met_by_a_case_or_a_test_of_its_own(name):
    listed = [case for table in TABLES for case, names in table.items() if name in names]
    assert listed or marked().get(name)


@pytest.mark.parametrize("name", [*SWITCHES, *CHOICES, *LEFT_OUT])
def test_every_difference_has_a_reason(name):
    reason = {**SWITCHES, **CHOICES, **LEFT_OUT}[name]
    assert reason.endswith(".")
    assert len(reason.split()) > 6


def test_every_listed_name_is_known():
    for table in TABLES:
        assert all(names and names <= SWITCHES.keys() for names in table.values())
    with pytest.raises(ValueError, match="no listed difference"):
        differs("made-up")


def test_every_listed_query_was_recorded():
    recorded = {(c["config"]["name"], q["query"]) for c in recording("queries")["configs"] for q in c["queries"]}
    assert set(QUERIES) <= recorded
    assert set(TERMS) <= {case["raw"] for case in recording("fts")["rawQueries"]}


def sections() -> list[tuple[str, str]]:
    return [(name, section) for name in FILES for section in recording(name) if section not in ABOUT]


@pytest.mark.parametrize(("name", "section"), sections())
def test_every_recorded_section_is_compared_or_left_out_by_name(name, section):
    compared = any(f'"{section}"' in text_of(path) for path in COMPARING)
    assert compared or (name, section) in LEFT_OUT


def test_only_recorded_sections_are_left_out():
    assert set(LEFT_OUT) <= set(sections())
    assert FILES == ["corpus", "decay", "fts", "graph", "guard", "queries", "text", "vectors", "vocabulary", "weights"]
