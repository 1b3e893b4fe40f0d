"""Tests of `integration/test_sync_sessions.py` that take seconds."""

import pytest

from integration.test_sync_sessions import line, talk
from septet import Vault


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "agent"
    made.mkdir()
    (made / "s.jsonl").write_text(talk(0, 40), encoding="utf-8")
    return made


def test_a_line_of_any_length_costs_no_other(tmp_path, folder):
    path = folder / "s.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(line("toolResult", "output " * 1_500_000))
        file.write(line("user", "long " * 400_000))
        file.write("[" * 200_000 + "\n")
        file.write('{"type":"message","message":{"role":["user"],"content":"a list"}}\n')
    with path.open("ab") as file:
        file.write(b"\0" * 70 * 2**20 + b"\n" + line("user", "the last loon").encode())
    with Vault(tmp_path / "v.db") as vault:
        report = vault.sync(folder)
        said = [one.reason for one in report.skipped]
        assert "is not JSON (is nested too deeply)" in said[0] and "has more than 64 MB" in said[1] and len(said) == 2
        assert not [e for e in vault if "output" in e.description]
        assert [e.span.first_line for e in vault if "the last loon" in e.description] != []
        assert vault.search("last loon").hits and sum(e.description.count("long") for e in vault) >= 400_000
