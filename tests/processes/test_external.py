"""Tests of `integration/test_external.py` that start processes."""

import json
import subprocess
import sys

import pytest

from children import forked
from integration.test_external import Other
from septet import Vault
from septet.client import ExternalFirst


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add_many({"id": f"v{n}", "title": f"rotate crops {n}", "domain": "farm"} for n in range(12))
        yield made


def test_another_program_over_its_command_line(vault, tmp_path):
    answers = [{"docid": "n1", "file": "notes/a.md", "title": "Keys", "text": "rotate keys in May", "score": 0.8}]
    program = tmp_path / "program.py"
    program.write_text(f"import sys; assert sys.argv[1] != 'crash'; print({json.dumps(answers)!r})", encoding="utf-8")

    def ask(query, limit):
        command = [sys.executable, str(program), query, str(limit)]
        said = subprocess.run(command, capture_output=True, check=True, timeout=20).stdout
        return [
            {"id": r["docid"], "title": r["title"], "description": r["text"], "source": r["file"], "score": r["score"]}
            for r in json.loads(said)
        ]

    memory = ExternalFirst(ask, vault, name="program", timeout_s=20, rest_s=0)
    assert memory.search("keys").ids == ["n1"]
    crashed = memory.search("crash")
    assert "program raised CalledProcessError" in crashed.notes[0].cause
    assert memory.search("keys").ids == ["n1"]


def test_a_child_of_a_fork_searches_too(vault):
    memory = ExternalFirst(Other(), vault)

    def search():
        assert memory.search("rotate").ids == ["x1", "x2"]

    with memory._breaker._lock.hold():
        assert forked(search)
