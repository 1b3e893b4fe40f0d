"""The table of bounds in docs/operations.md is what the code has."""

from docs.bounds_in_code import PAGE, bounds, written


def test_the_table_of_bounds_is_that_of_the_code():
    page = PAGE.read_text()
    assert written(page) == page, "run: python tests/docs/bounds_in_code.py"


def test_bounds_of_python_and_of_rust_are_found():
    found = {(place, name): value for place, name, value in bounds()}
    assert found["rust/core/src/walk/rules", "MOST_RULES"] == 5_000
    assert found["index/checks", "MOST_ROWS"] == found["index/checks", "MOST_IDS"] == 100_000_000
    assert found["inputs/documents", "MAX_BYTES"] == 262_144
    assert found["embedding/pipeline", "MAX_LOST_S"] == 60
