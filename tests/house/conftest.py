"""The syntax trees that the rules of the house read."""

from __future__ import annotations

import gc

import pytest

from sources import ROOT, SOURCES, nodes_of, tree_of


@pytest.fixture(scope="session", autouse=True)
def trees():
    """Parse the package and the tests before the first rule."""
    # Millions of nodes that stay: the collector would look at each of them again and again.
    gc.disable()
    for path in SOURCES:
        nodes_of(path)
    for path in (ROOT / "tests").rglob("*.py"):
        tree_of(path)
    gc.freeze()
    gc.enable()
