"""The skill for agents that write code: in the Agent Skills format, and each of its blocks is a program of its own."""

import re
import subprocess
import sys
from importlib.resources import files

import pytest

from pages import ROOT, SKILL, Block, blocks_of, compared

PAGES = sorted(SKILL.rglob("*.md"))
PROGRAMS = [
    pytest.param(block, after, id=f"{page.stem}-{block.line}")
    for page in PAGES
    for block, after in zip(blocks_of(page), [*blocks_of(page)[1:], Block("", 0, "")])
    if block.language == "python"
]


@pytest.mark.parametrize(("block", "after"), PROGRAMS)
def test_a_block_of_the_skill_runs_alone_and_prints_what_it_shows(block, after, tmp_path):
    pytest.importorskip("tokenizers")
    done = subprocess.run([sys.executable, "-c", block.text], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert compared(done.stdout) == compared(after.text if after.language == "text" else "")


def test_the_front_matter_is_that_of_the_format():
    yaml = pytest.importorskip("yaml")
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    fields = yaml.safe_load(text.split("---\n")[1])
    assert fields["name"] == SKILL.name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert 1 <= len(fields["description"]) <= 1024 and "Use when" in fields["description"]
    assert fields.keys() <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def test_the_skill_is_short_and_names_each_of_its_references():
    lines = (SKILL / "SKILL.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 500
    linked = set(re.findall(r"\]\((references/[\w-]+\.md)\)", "\n".join(lines)))
    assert linked == {page.relative_to(SKILL).as_posix() for page in PAGES} - {"SKILL.md"}


def test_the_installed_package_has_the_skill_where_the_documentation_says():
    assert "files('septet') / '.agents/skills/septet'" in (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    assert (files("septet") / ".agents/skills/septet" / "SKILL.md").is_file()
