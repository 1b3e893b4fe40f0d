"""`septet redact`: what it prints, what it exits with, and that a look changes nothing."""

import json
import subprocess
import sys

import pytest

from septet import Vault

TOKEN = "ghp_" + "Zq7x" * 9


@pytest.fixture
def run(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="one", description=f"use {TOKEN}")
        vault.add(id=TOKEN, title="two", description="badge 77")

    def call(*arguments):
        command = [sys.executable, "-m", "septet", "redact", "--vault", str(tmp_path / "v.db"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    return call


def test_a_look_counts_by_rule_and_changes_nothing(tmp_path, run):
    before = (tmp_path / "v.db").read_bytes()
    found = run("--dry-run")
    assert found.returncode == 0 and found.stdout.startswith("       1  github\n1 secret found in 1 entry, 1 left in ")
    assert TOKEN in found.stderr and "another id" in found.stderr
    assert (tmp_path / "v.db").read_bytes() == before


def test_secrets_are_masked_by_the_rules_of_a_file_too(tmp_path, run):
    (tmp_path / "rules.toml").write_text('[[add]]\nname = "badge"\npattern = "badge [0-9]+"\n')
    done = json.loads(run("--rules", str(tmp_path / "rules.toml"), "--json").stdout)
    assert done["redacted"] == {"github": 1, "badge": 1} and done["left"][0]["name"] == TOKEN
    with Vault(tmp_path / "v.db") as vault:
        assert [entry.description for entry in vault] == ["use ***", "***"]


@pytest.mark.parametrize(
    ("text", "said"), [('{"ad": []}', "contains no rules"), ('{"add": [["x", "("]]}', "pattern of rule")]
)
def test_a_file_of_rules_that_is_wrong_is_refused(tmp_path, run, text, said):
    (tmp_path / "rules.json").write_text(text)
    found = run("--rules", str(tmp_path / "rules.json"))
    assert found.returncode == 2 and said in found.stderr
    assert run("--rules", str(tmp_path / "none.json")).returncode == 2
