"""`septet retrieve` and `septet plan`: what they print and exit with; the envelope is that of Python."""

import json

import pytest

from commands import Commands
from septet import Vault
from septet.retrieval import Envelope

QUERY = "token refresh"


@pytest.fixture
def run(tmp_path, monkeypatch):
    pytest.importorskip("typer")
    commands = Commands(tmp_path, monkeypatch)
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="auth", title="Token refresh", description="The auth token is refreshed before it expires.")
        vault.add(id="talk", title="Monday", description="The token refresh failed again.", kind="message")
    source = tmp_path / "src"
    source.mkdir()
    (source / "tokens.py").write_text("def refresh_token():\n    pass\n")
    return commands


@pytest.mark.parametrize("profile", ["septet", "recall", "planned-retrieval"])
def test_hits_are_printed_with_their_corpora_and_lists(run, profile):
    code, out, err = run("retrieve", QUERY, "--profile", profile)
    assert code == 0
    assert "Token refresh" in out and "auth" in out
    lists = {"recall": "knowledge.text", "planned-retrieval": "memory.text", "septet": "memory.hybrid"}
    assert lists[profile] in out
    assert err == "" or err.startswith("note ")


def test_the_envelope_is_the_object_that_python_returns(run, tmp_path):
    code, out, _ = run("retrieve", QUERY, "--json", "-n", "1")
    told = json.loads(out)
    assert code == 0 and len(told["hits"]) == 1
    with Vault(tmp_path / "v.db", read_only=True) as vault, vault.retriever() as retriever:
        same = retriever.retrieve(QUERY, limit=1).envelope
    assert told["envelope"].keys() == same.to_dict().keys()
    # Times, and a score that the age of an entry lowers.
    timed = {"took_ms": 0.0, "waves": (), "top_score": None, "search_diagnostics": {}}
    own = Envelope.from_dict({**told["envelope"], **timed})
    assert own == Envelope.from_dict({**same.to_dict(), **timed})


def test_a_plan_is_printed_and_replayed(run, tmp_path):
    code, out, _ = run("plan", "where is refresh_token defined", "--repo", "src")
    assert code == 0
    assert out.startswith("code_navigation") and "asks symbol_proximity, repo_inventory" in out
    code, out, _ = run("plan", QUERY, "--json")
    (tmp_path / "plan.json").write_text(out)
    code, out, _ = run("retrieve", QUERY, "--replay", "plan.json", "--json")
    assert code == 0
    assert json.loads(out)["plan"] == json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "whole.json").write_text(out)
    assert run("retrieve", QUERY, "--replay", "whole.json", "--plan")[0] == 0


def test_a_repository_is_searched_where_it_is_named(run):
    code, out, _ = run("retrieve", "where is refresh_token defined", "--repo", "src")
    assert code == 0
    assert "symbol_proximity" in out and "tokens.py#L1" in out


def test_an_entry_is_explained(run):
    code, out, _ = run("retrieve", QUERY, "--explain", "auth")
    assert code == 0 and out.startswith("found: ")
    code, out, _ = run("retrieve", QUERY, "--explain", "nobody", "--json")
    assert code == 0 and json.loads(out)["found"] is False


def test_nothing_found_is_said_and_exits_with_one(run):
    assert run("retrieve", "zzzz")[0] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--profile", "best"], "profile"),
        (["--corpus", "nowhere"], "nowhere"),
        (["--mode", "words"], "mode"),
        (["--scope", "session"], "NAME=VALUE"),
        (["--replay", "none.json"], "none.json"),
        (["--expand"], "expansion"),
        (["--config", "none.toml"], "none.toml"),
        (["--timeout", "0"], "timeout_s"),
    ],
)
def test_what_cannot_be_is_said_and_exits_with_two(run, options, said):
    code, out, err = run("retrieve", QUERY, *options)
    assert (code, out) == (2, "")
    assert said in err


def test_the_users_file_configures_retrievals_beside_embedding(run, tmp_path):
    folder = tmp_path / ".config" / "septet"
    folder.mkdir(parents=True)
    text = '[embedding]\nprovider = "none"\n[retrieval]\nprofile = "recall"\n[search]\nrecallLimit = 3\n'
    (folder / "config.toml").write_text(text)
    assert json.loads(run("retrieve", QUERY, "--json")[1])["profile"] == "recall"
    assert json.loads(run("retrieve", QUERY, "--json", "--profile", "septet")[1])["profile"] == "septet"


def test_variables_of_the_environment_change_a_retrieval(run, monkeypatch):
    def top(out):
        return json.loads(out)["hits"][0]["score"]

    _, before, _ = run("retrieve", QUERY, "--json", "--profile", "planned-retrieval")
    monkeypatch.setenv("SEPTET_SEARCH_RRF_K", "9")
    _, after, _ = run("retrieve", QUERY, "--json", "--profile", "planned-retrieval")
    assert top(before) != top(after)
    monkeypatch.setenv("SEPTET_SEARCH_RRF_K", "9999")
    code, _, err = run("retrieve", QUERY)
    assert code == 2 and "SEPTET_SEARCH_RRF_K is 9999: wanted a number from 1 to 500" in err


def test_parts_of_a_file_that_nothing_reads_are_named(run, tmp_path):
    file = tmp_path / "own.json"
    file.write_text('{"search": {"recallLimit": 5}, "policy": {"qdrantUrl": "http://127.0.0.1:1"}}')
    _, _, err = run("retrieve", QUERY, "--config", str(file))
    assert "the block search is not read by the profile septet: set the profile recall" in err
    assert "policy.qdrant_url has no effect: only a custom corpus" in err
    assert "set docs in the block corpora to its path" in err
    _, _, err = run("retrieve", QUERY, "--config", str(file), "--profile", "recall")
    assert "the block search" not in err and "search.embeddings" not in err
    file.write_text('{"search": {"embeddings": {"enabled": true}}, "policy": {"tantivyIndexRoot": "docs"}}')
    _, _, err = run("retrieve", QUERY, "--config", str(file), "--profile", "recall")
    assert "search.embeddings has no effect" in err and "add the block embedding with provider voyage" in err
    assert "policy.tantivy_index_root has no effect" in err
