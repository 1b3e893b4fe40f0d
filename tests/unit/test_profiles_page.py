"""docs/profiles.md names every part of a profile, with its default."""

import re
from pathlib import Path

import pytest

from septet.ranking.fusion import _KINDS
from septet.ranking.profile import COLUMNS, Cuts, TextRules

PAGE = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|")]
EXAMPLES = "".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
DEFAULTS = [("text", *one) for one in TextRules().to_dict().items()] + [
    ("cuts", *one) for one in Cuts().to_dict().items()
]


def table(section):
    """Return the rows of the table of a section: the names in the first cell, and the default in the last."""
    first = next(at for at, row in enumerate(ROWS) if row.startswith(f"| `{section}.`"))
    for row in ROWS[first + 2 :]:
        cells = row.strip("| ").split(" | ")
        if cells[-1] == "default":
            return
        yield re.findall("`([a-z0-9_]+)`", cells[0]), cells[-1]


@pytest.mark.parametrize("name", sorted({*COLUMNS, *_KINDS, "factors", "floor", "pinned"}))
def test_every_column_expression_and_pass_is_in_a_table_and_every_expression_in_an_example(name):
    assert any(f"`{name}`" in row or f'`{{"{name}"' in row for row in ROWS)
    assert name not in _KINDS or f'"{name}": ' in EXAMPLES


@pytest.mark.parametrize(("section", "name", "value"), DEFAULTS)
def test_every_text_rule_and_cut_is_in_its_table_with_its_default(section, name, value):
    (told,) = [default for names, default in table(section) if name in names]
    for one in value.values() if isinstance(value, dict) else [value]:
        shown = {"None": "none", "True": "true", "False": "false"}.get(
            str(one), f"{one:g}" if isinstance(one, float) else str(one)
        )
        assert re.search(rf"(?<![\d.]){re.escape(shown)}(?![\d.])", told)
