"""Tests of `integration/test_opening.py` that start servers."""

import os

import pytest

from integration.test_opening import asked, vault_at, written
from septet import ReadOnly, Vault
from septet.service.opening import opened
from serving import serving


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith(("SEPTET_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_a_tier_of_another_server_is_searched_and_written_unless_it_is_for_reading(tmp_path, monkeypatch):
    token = "t" * 32
    monkeypatch.setenv("TEAM_TOKEN", token)
    vault_at(tmp_path / "a.db", "a build of mine")
    with Vault(tmp_path / "t.db") as team, serving(team, token=token) as url:
        team.add(title="t build of the team", id="t")
        text = f'[tiers.agent]\npath = "a.db"\n[tiers.team]\nurl = "{url}"\ntoken_env = "TEAM_TOKEN"\n'
        with opened(config=written(tmp_path / "c.toml", text)) as served:
            hits = asked(served, "search", query="build")["hits"]
            assert {hit["id"]: hit["tier"] for hit in hits} == {"a": "agent", "t": "team"}
            asked(served, "remember", text="For all of us", tier="team")
            assert team.count() == 2
        with opened(config=written(tmp_path / "c.toml", f"{text}read_only = true\n")) as served:
            assert [hit["id"] for hit in asked(served, "search", query="team build", limit=1)["hits"]] == ["t"]
            for name, request in (
                ("remember", {"text": "x", "tier": "team"}),
                ("update", {"id": "t", "title": "x"}),
                ("delete", {"ids": ["t"]}),
                ("feedback", {"query": "build", "id": "t", "action": "accepted"}),
            ):
                with pytest.raises(ReadOnly):
                    asked(served, name, **request)
            assert team.count() == 2


def test_a_server_that_does_not_answer_is_a_note_and_the_other_tiers_answer(tmp_path):
    vault_at(tmp_path / "a.db", "a build of mine")
    text = '[tiers.agent]\npath = "a.db"\n[tiers.team]\nurl = "http://127.0.0.1:9"\ntimeout_s = 2\n'
    with opened(config=written(tmp_path / "c.toml", text)) as served:
        found = asked(served, "search", query="build")
        assert [hit["id"] for hit in found["hits"]] == ["a"]
        assert [(note["code"], note["tier"]) for note in found["notes"]] == [("tier_failed", "team")]
        assert asked(served, "status")["entries"] == 1
