"""One place says which version this is: Cargo.toml."""

import re
from pathlib import Path

import septet

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
KINDS = {".py", ".pyi", ".rs", ".sql"}
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]


def test_the_package_has_the_version_of_the_crate():
    assert septet.__version__ == VERSION


def test_the_project_takes_its_version_from_the_crate():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"]
    assert "version" not in project


def test_no_other_source_holds_the_number():
    sources = [p for folder in ("python", "rust") for p in (ROOT / folder).rglob("*.*") if p.suffix in KINDS]
    quoted = re.compile(rf"[\"']v?{re.escape(VERSION)}[\"']")
    found = [p for p in (*sources, ROOT / "pyproject.toml", ROOT / "Makefile") if quoted.search(p.read_text("utf-8"))]
    assert found == []
