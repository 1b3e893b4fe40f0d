"""`septet context`: the text for a prompt, and the reasons for each entry."""

import json

import pytest
from tests.commands import Commands

from septet import Vault

pytest.importorskip("typer")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="pin", title="Run the linter before a commit", tags=["always"])
        vault.add(id="db", title="Storage of orders", tags=["alias:pg"])
        vault.remember("Ann reviews changes of the payment service", id="ann")
    return Commands(tmp_path, monkeypatch)


def test_the_text_is_printed_and_the_reasons_on_request(septet):
    code, stdout, stderr = septet("context", "tune pg", "--max-tokens", "300")
    assert code == 0 and "linter" in stdout and "Storage" in stdout and stderr == ""
    code, stdout, stderr = septet("context", "tune pg", "--why")
    assert "pin: has the tag always, " in stderr and "db: the query has its name pg, " in stderr


def test_kinds_and_filters_narrow_it(septet):
    code, stdout, _ = septet("context", "who reviews the payment service", "--kind", "memory", "--json")
    assert [item["code"] for item in json.loads(stdout)["items"]] == ["matches"]
    code, stdout, stderr = septet("context", "tune pg", "--where", '{"domain": "other"}')
    assert (code, stdout) == (1, "") and "nothing found" in stderr
    code, _, stderr = septet("context", "tune pg", "--max-tokens", "0")
    assert code == 2 and "max_tokens is 0" in stderr


def test_a_budget_without_room_is_no_lack_of_answers(septet):
    code, stdout, stderr = septet("context", "tune pg", "--max-tokens", "1")
    assert (code, stdout) == (1, "") and "nothing printed: no room in 1 tokens" in stderr
