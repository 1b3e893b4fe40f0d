"""`septet serve` as its users meet it: a process, signals, a token, MCP."""

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

pytest.importorskip("typer")
pytest.importorskip("uvicorn")

from commands import FOREIGN
from consoles import CONSOLE, STOPS, home_at
from septet import Vault
from serving import ask

TOKEN = "0123456789abcdef-0123456789"
SEARCH = b'POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 19\r\n\r\n{"query":"cookies"}'


@pytest.fixture
def home(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many([{"id": f"e{number}", "title": f"Entry {number} of cookies"} for number in range(200)])
    return tmp_path


def environment(home, **more):
    kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
    return {**kept, **home_at(home), **more}


@contextmanager
def served(home, *arguments, **more):
    """Run `septet serve` at a free port; give its URL and the process."""
    command = [sys.executable, "-m", "septet", "serve", "--port", "0", *arguments]
    options = {"cwd": home, "env": environment(home, **more), "stderr": subprocess.PIPE, "text": True, **CONSOLE}
    with subprocess.Popen(command, **options) as process:
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if line.startswith("serving "):
                    break
            assert said and said[-1].startswith("serving "), said
            yield said[-1].split()[-1], process
        finally:
            process.kill()


def refused(home, *arguments, **more):
    command = [sys.executable, "-m", "septet", "serve", "--port", "0", *arguments]
    options = {"cwd": home, "env": environment(home, **more), "capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run(command, **options)
    return done.returncode, done.stderr


@pytest.mark.parametrize("stop", STOPS)
def test_it_answers_until_it_is_stopped_and_ends_well(home, stop):
    with served(home, "--vault", "v.db") as (url, process):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        assert ask.post(f"{url}v1/search", json={"query": "cookies", "limit": 1}).json()["hits"]
        assert "<title>" in ask.get(url).text
        stop(process)
        said = process.stderr.read()
        assert process.wait(30) == 0
    *lines, last = said.splitlines()
    assert last == "stopped"
    assert [json.loads(line)["route"] for line in lines] == ["/v1/search", "page"]
    assert "cookies" not in said
    with Vault(home / "v.db") as vault:
        assert vault.count() == 200


def test_clients_that_leave_do_not_end_it(home):
    # Other commands end when the reader of their output goes.
    with served(home, "--vault", "v.db", "--access-log", "off") as (url, process):
        at = urlsplit(url)
        for _ in range(20):
            with socket.create_connection((at.hostname, at.port), 20) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
                sock.sendall(SEARCH)
        assert ask.get(f"{url}healthz").status_code == 200
        assert process.poll() is None


def test_the_token_comes_from_a_file_or_the_environment_and_is_never_shown(home):
    (home / "token").write_text(f"{TOKEN}\n")
    (home / "token").chmod(0o600)
    for arguments, more in [(("--token-file", "token"), {}), ((), {"SEPTET_TOKEN": TOKEN})]:
        with served(home, "--vault", "v.db", "--log-queries", *arguments, **more) as (url, process):
            assert ask.get(f"{url}v1/stats").status_code == 401
            assert ask.get(f"{url}v1/stats", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
            process.terminate()
            assert TOKEN not in process.stderr.read()
            assert TOKEN not in " ".join(process.args)


@pytest.mark.parametrize(
    ("arguments", "more", "code", "said"),
    [
        (("--host", "0.0.0.0"), {}, 2, "'0.0.0.0' is reachable from other machines: set a token"),
        (("--token-file", "none"), {}, 3, "--token-file none"),
        (("--token-file", "empty"), {}, 2, "empty contains no token"),
        ((), {"SEPTET_TOKEN": " "}, 2, "SEPTET_TOKEN contains no token"),
        (("--token", "secret"), {}, 2, "No such option"),
        (("--access-log", "no/such/folder/log"), {}, 3, "cannot be written"),
        (("--host", "nonesuch.invalid", "--token-file", "good"), {}, 3, "cannot listen at nonesuch.invalid:0"),
        (("--deadline", "0"), {}, 2, "deadline_s is 0"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_line(home, arguments, more, code, said):
    (home / "empty").write_text("\n")
    (home / "good").write_text(TOKEN)
    found = refused(home, "--vault", "v.db", *arguments, **more)
    assert found[0] == code
    assert said in found[1] and "Traceback" not in found[1]


def test_a_port_that_is_taken_is_named(home):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, said = refused(home, "--vault", "v.db", "--port", port)
    assert (code, f"cannot listen at 127.0.0.1:{port}" in said) == (3, True)


def test_tiers_of_a_configuration_are_served_for_reading(home):
    with Vault(home / "team.db") as vault:
        vault.add(id="t", title="Cookies of the team")
    (home / "septet.toml").write_text('[tiers.agent]\npath = "v.db"\n[tiers.team]\npath = "team.db"\n')
    with served(home, "--config", "septet.toml", "--read-only") as (url, _):
        assert set(ask.get(f"{url}v1/status").json()["tiers"]) == {"agent", "team"}
        answer = ask.post(f"{url}v1/entries", json={"title": "x"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read_only")


def test_without_the_extra_it_says_what_to_install(home):
    (home / "uvicorn.py").write_text("raise ModuleNotFoundError(\"No module named 'uvicorn'\", name='uvicorn')")
    code, said = refused(home, "--vault", "v.db", PYTHONPATH=str(home))
    assert (code, said) == (2, "septet: `septet serve` needs the extra: pip install 'septet[server]'\n")
