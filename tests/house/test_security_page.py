"""The page on security names tests that are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)


@pytest.mark.parametrize(("file", "test"), NAMED, ids=lambda part: Path(part).stem)
def test_a_test_that_the_page_names_is_there(file, test):
    defined = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))) if hasattr(node, "name")}
    assert not test or test in defined


def test_each_boundary_says_what_shows_it_and_what_is_not_done():
    sections = re.split(r"^### ", PAGE.split("## Boundaries", 1)[1], flags=re.MULTILINE)[1:]
    for section in sections:
        title = section.splitlines()[0]
        assert "- **Does:**" in section and "- **Does not:**" in section, title
        assert "- **Shown by:**" in section or title == "The package itself", title
