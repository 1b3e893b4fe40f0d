"""docs/policy.md names every knob of the policy, with its default, its bounds and its variables."""

from pathlib import Path

import pytest

from septet.retrieval.planning.knobs import SECRETS, THEIRS
from septet.retrieval.planning.policy import PRESETS, Policy, knobs

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]


def default_of(value):
    if isinstance(value, tuple):
        return ", ".join(f"`{word}`" for word in value)
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, bool) or value is None:
        return "none" if value is None else str(value).lower()
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"


def bounds_of(one):
    if one.kind == "number":
        return f"{one.least:g} to {one.most:g}"
    if one.kind == "whole":
        return f"{one.least:,} to {one.most:,}"
    if one.kind == "choice":
        return ", ".join(f"`{choice}`" for choice in one.choices)
    text = f"1 to {one.most} characters" if one.most else "text"
    return {"switch": "true, false", "address": "http(s)", "words": "words", "text": text}[one.kind]


def row_of(name):
    """Return the row of a knob as the page has it."""
    one = knobs()[name]
    documented = ", ".join("yes" if other == THEIRS + one.variable else f"`{other}`" for other in one.names[1:])
    variable = f"`{one.variable}`" + (", inverted" if one.inverted else "")
    cells = (f"`{name}`", default_of(getattr(Policy(), name)), bounds_of(one), variable, documented, one.about)
    return f"| {' | '.join(cells)} |"


def keys_of():
    return [f"| `{name}` | {', '.join(f'`{variable}`' for variable in names)} |" for name, names in SECRETS.items()]


@pytest.mark.parametrize("name", list(knobs()))
def test_every_knob_has_its_row(name):
    assert row_of(name) in ROWS


def test_the_page_has_no_row_of_anything_else():
    assert {*(row_of(name) for name in knobs()), *keys_of()} == set(ROWS)


def test_the_page_tells_what_the_preset_of_septet_changes():
    said = PAGE.split("**Presets.**")[1].split("\n\n")[0]
    for name, value in PRESETS["septet"].items():
        assert f"`{name}` is {default_of(value)}" in " ".join(said.split())
    assert len(PRESETS["septet"]) == 4
