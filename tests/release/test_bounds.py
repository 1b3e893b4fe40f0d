"""The versions that Septet says it supports are those that something tests."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import bounds
import other_sqlite
from septet.sqlite.store.connection import OLDEST_SQLITE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
CRATE = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
OLDEST_RUST = re.findall(r'^rust-version = "([0-9.]+)"', CRATE, re.MULTILINE)[0]


def numbers(version):
    found = [int(part) for part in version.split(".")]
    return (*found, *[0] * (3 - len(found)))


def test_every_dependency_has_an_oldest_version_that_a_round_installs():
    extras = {"", *bounds.PROJECT["optional-dependencies"]} - bounds.LEFT_OUT
    assert {extra for one in bounds.ROUNDS["lowest"] for extra in one.held} == extras
    for one in bounds.ROUNDS["lowest"]:
        named = {bounds.lowest(wanted)[0] for extra in one.held for wanted in bounds.requirements(extra)}
        assert len(bounds.constraints(one.held)) == len(named)
        assert set(one.held) <= {"", *one.extras}


def test_the_newest_versions_of_every_extra_are_tested():
    assert {e for one in bounds.ROUNDS["newest"] for e in one.extras} == {
        *bounds.PROJECT["optional-dependencies"]
    } - bounds.LEFT_OUT


@pytest.mark.parametrize(
    ("wanted", "held"),
    [
        ("httpx>=0.27,<1", ("httpx", "httpx==0.27")),
        ("tomli>=2; python_version < '3.11'", ("tomli", "tomli==2")),
        ("psycopg[binary]>=3.2.13", ("psycopg", "psycopg==3.2.13")),
    ],
)
def test_a_requirement_is_held_at_its_lower_bound(wanted, held):
    assert bounds.lowest(wanted) == held


@pytest.mark.parametrize("wanted", ["numpy", "numpy<3", "numpy==1.23"])
def test_a_requirement_without_a_lower_bound_is_refused(wanted):
    with pytest.raises(ValueError, match="has no lower bound: write NAME>=VERSION"):
        bounds.lowest(wanted)


@pytest.mark.parametrize("pattern", [*bounds.ALL, *bounds.TOUCHING, *bounds.AGENTS, *other_sqlite.TESTS])
def test_each_test_that_is_named_exists(pattern):
    assert bounds.files(pattern) != []


def test_no_test_is_named_twice():
    found = bounds.all_files(("unit", "unit/test_engine.py", "*/test_mcp*.py", "*/test_mcp.py"))
    assert len(found) == len(set(found)) and bounds.files("unit")[0] in found
    assert not set(found) & {*bounds.files("unit/*.py")}


def test_a_machine_without_the_oldest_python_says_so():
    python, said = bounds.chosen("lowest", {(3, 12): Path("python3.12")}, (3, 10))
    assert python is None
    assert said == "SKIPPED lowest: this machine has no Python 3.10 (it has 3.12); a hosted run has"


def test_the_newest_python_is_taken_by_its_number():
    found = {(3, 9): Path("a"), (3, 13): Path("b"), (3, 10): Path("c")}
    assert bounds.chosen("newest", found, (3, 10))[0] == Path("b")
    assert bounds.chosen("lowest", found, (3, 10))[0] == Path("c")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_no_crate_asks_for_a_newer_rust_than_this_one_says():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    packages = [one for one in json.loads(done.stdout)["packages"] if one["source"]]
    assert len(packages) > 20
    newer = [one["name"] for one in packages if numbers(one["rust_version"] or "1") > numbers(OLDEST_RUST)]
    assert newer == []


def test_the_page_names_the_versions_that_are_enforced():
    for extra in {"", *bounds.PROJECT["optional-dependencies"]} - bounds.LEFT_OUT:
        for wanted in bounds.requirements(extra):
            name, held = bounds.lowest(wanted)
            assert f"| {name} | {held.partition('==')[2]} |" in PAGE
    assert f"| SQLite | {'.'.join(map(str, OLDEST_SQLITE))} |" in PAGE
    assert f"| Rust | {OLDEST_RUST} |" in PAGE
    assert f"| Python | {bounds.PROJECT['requires-python'].removeprefix('>=')} |" in PAGE
