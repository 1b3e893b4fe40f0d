"""The server as a process: over real standard streams, with clients that behave and clients that do not."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

from commands import Commands
from consoles import CONSOLE, STOPS, WINDOWS, home_at
from septet import Vault
from septet.inputs.documents import parse_document

TIMEOUT_S = 60
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
PROGRAMS = ["claude", "claude-code", "cline", "codex", "cursor", "gemini", "opencode", "vscode", "windsurf", "zed"]


@pytest.fixture
def environment(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEPTET_", "XDG_"))}
    return {**kept, **home_at(tmp_path / "home"), "COLUMNS": "200"}


@pytest.fixture
def path(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="Retry with backoff", description="Wait longer after each failure.", id="r1")
    return tmp_path / "v.db"


def talked(command, environment, talk, folder=None):
    """Start a server, and return what a talk of the SDK's client with it returns."""

    async def main():
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment, cwd=folder)
        async with mcp.Client(stdio_client(parameters)) as client:
            return await talk(client)

    return asyncio.run(asyncio.wait_for(main(), TIMEOUT_S))


class Raw:
    """A server, and lines to and from it."""

    def __init__(self, environment, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "septet", "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            **CONSOLE,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):
                stream.close()

    def send(self, *messages):
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self, id):
        while line := self.process.stdout.readline():
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == id:
                return message
        raise AssertionError(self.process.stderr.read().decode())

    def begin(self):
        self.send(INITIALIZE)
        info = self.answer(0)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return info

    def call(self, id, tool, **arguments):
        self.send(
            {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        )

    def ended(self):
        """The exit code, and what was written to both streams until then."""
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err.decode()


def test_the_sdks_client_talks_with_the_process_and_finds_what_it_stored_the_last_time(path, environment):
    command = [sys.executable, "-m", "septet", "mcp", "--vault", str(path)]

    async def first(client):
        result = await client.call_tool("remember", {"text": "Staging retries three times."})
        return result.structured_content["id"], [tool.name for tool in (await client.list_tools()).tools]

    async def second(client):
        found = await client.call_tool("search", {"query": "staging retries"})
        large = await client.call_tool("remember", {"text": "x" * 10_000_000})
        many = await asyncio.gather(*(client.call_tool("search", {"query": "retry"}) for _ in range(50)))
        return found.structured_content, large, many

    id, tools = talked(command, environment, first)
    assert len(tools) == 8
    found, large, many = talked(command, environment, second)
    assert id in [hit["id"] for hit in found["hits"]]
    assert large.is_error
    assert large.content[0].text.startswith("error query_error: the arguments have more than 1,000,000 bytes")
    assert not any(result.is_error for result in many)


def test_lines_that_are_no_messages_do_not_end_the_server(path, environment):
    with Raw(environment, "--vault", str(path), "--read-only") as server:
        server.send(b"", b"no json", b"[]", b'{"jsonrpc": "2.0"}', b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 5_000)
        assert server.begin()["serverInfo"]["name"] == "septet"
        server.send(b"null", {"jsonrpc": "2.0", "id": 5, "method": "no/such"}, {"jsonrpc": "1.0", "id": 6})
        assert server.answer(5)["error"]["code"] == -32601
        server.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": 3, "arguments": "x"}})
        assert server.answer(7)["error"]["code"] == -32602
        server.call(8, "search", query="retry")
        assert server.answer(8)["result"]["structuredContent"]["hits"][0]["id"] == "r1"
        code, out, _ = server.ended()
        assert (code, out) == (0, b"")


CALL = b'{"jsonrpc": "2.0", "id": %b, "method": "tools/call", "params": {"name": "search", "arguments": {%b}}}'
NO_JSON, NO_REQUEST = -32700, -32600


NO_REQUESTS = [
    (CALL % (b"1", b'"query": "\\ud800"'), 1, NO_JSON),
    (CALL % (b'"a"', b'"query": "x", "limit": ' + b"1" * 5_000), "a", NO_JSON),
    (CALL % (b"1", b'"query": "x", "limit": -' + b"1" * 5_000 + b".5"), 1, -32700),
    (CALL % (b"2", b'"\\udfff": 1'), 2, NO_JSON),
    (CALL % (b"3", b'"query": ' + b"[" * 400 + b"]" * 400), 3, NO_JSON),
    (CALL % (b"3", b'"query": ' + b"[" * 20_000 + b"]" * 20_000), 3, NO_JSON),
    (
        b'{"params": {"\\"}]": ' + b'[{"a": ' * 9_000 + b"1" + b"}]" * 9_000 + b'}, "id": "c", "method": "x"}',
        "c",
        NO_JSON,
    ),
    (b'{"id": 9, "method": "x", "params": ' + b"[" * 20_000 + b"}", None, NO_JSON),
    (b"[" * 20_000 + b'{"id": 9}' + b"]" * 20_000, None, NO_JSON),
    (b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "result": null, "a": "\\ud800"}', 8, NO_JSON),
    (CALL % (b"4", b'"query": "x"') + b" x", None, NO_JSON),
    (CALL % (b"1" * 5_000, b'"query": "x"'), None, NO_JSON),
    (CALL % (b'"\\ud800"', b'"query": "x"'), None, NO_JSON),
    (CALL % (b"1.5", b'"query": "x"'), None, NO_REQUEST),
    (CALL % (b"null", b'"query": "x"'), None, NO_REQUEST),
    (b'{"id": 5, "method": "ping"}', 5, NO_REQUEST),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": [1]}', 6, NO_REQUEST),
    (b"[]", None, NO_REQUEST),
    (b"no json", None, NO_JSON),
]


def test_a_line_that_is_no_request_is_answered_with_an_error_and_its_id(path, environment):
    with Raw(environment, "--vault", str(path), "--read-only") as server:
        server.begin()
        for line, id, code in NO_REQUESTS:
            server.send(line)
            told = json.loads(server.process.stdout.readline())
            assert (told["id"], told.get("error", {}).get("code")) == (id, code), line[:200]
        server.call(7, "search", query="retry")
        assert "result" in server.answer(7)


def test_a_notification_that_is_wrong_and_an_empty_line_get_no_answer(path, environment):
    with Raw(environment, "--vault", str(path), "--read-only") as server:
        server.begin()
        server.send(
            b"", b'{"jsonrpc": "2.0", "method": "x", "params": {"a": "\\ud800"}}', b'{"jsonrpc": "2.0", "result": 1}'
        )
        server.call(7, "search", query="retry")
        assert json.loads(server.process.stdout.readline())["id"] == 7


@pytest.mark.parametrize("stop", STOPS)
def test_a_server_whose_client_is_silent_is_stopped_and_ends_well(path, environment, stop):
    with Raw(environment, "--vault", str(path)) as server:
        server.begin()
        stop(server.process)
        server.process.wait(TIMEOUT_S)
        code, out, err = server.ended()
        assert (code, out, err) == (0, b"", "")
    with Vault(path) as vault:
        assert vault.count() == 1


def test_a_client_that_goes_in_the_middle_ends_the_server_and_loses_nothing(path, environment):
    with Raw(environment, "--vault", str(path)) as server:
        server.begin()
        server.call(1, "remember", text="Kept before the end.")
        server.answer(1)
        for at in range(2, 40):
            server.call(at, "search", query="retry", mode="full")
        server.process.stdout.close()
        server.process.stdin.close()
        assert server.process.wait(TIMEOUT_S) == 0
        assert "Traceback" not in server.process.stderr.read().decode()
    with Vault(path) as vault:
        assert vault.count() == 2


def test_what_was_asked_before_the_end_of_the_input_is_answered(path, environment):
    with Raw(environment, "--vault", str(path)) as server:
        server.begin()
        for at in range(1, 6):
            server.call(at, "remember", text=f"Fact number {at}")
        code, out, err = server.ended()
        answers = {message["id"]: message for message in map(json.loads, out.splitlines())}
        assert sorted(answers) == [1, 2, 3, 4, 5]
        assert all("structuredContent" in message["result"] for message in answers.values())
        assert (code, err) == (0, "")


def test_a_last_line_without_a_newline_is_a_line(path, environment):
    for last, told in [(CALL % (b"3", b'"query": "retry"'), 3), (b'{"jsonrpc": "2.0", "id": 3, "me', None)]:
        with Raw(environment, "--vault", str(path), "--read-only") as server:
            server.begin()
            server.process.stdin.write(last)
            code, out, err = server.ended()
            assert (json.loads(out)["id"], code, err) == (told, 0, "")


def test_a_call_that_is_cancelled_gets_no_answer_and_the_next_one_does(path, environment):
    with Raw(environment, "--vault", str(path)) as server:
        server.begin()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
        server.send(cancel)
        server.call(1, "search", query="retry")
        assert "result" in server.answer(1)


def test_only_the_protocol_is_on_standard_output_and_warnings_are_on_the_other(tmp_path, environment, path):
    config = tmp_path / "c.toml"
    config.write_text('[tiers.agent]\npath = "v.db"\n[tiers.team]\npath = "c.toml"\noptional = true\n', "utf-8")
    with Raw(environment, "--config", str(config)) as server:
        server.begin()
        server.call(1, "status")
        assert server.answer(1)["result"]["structuredContent"]["tiers"] == {"agent": 1.0}
        code, out, err = server.ended()
    assert (code, out) == (0, b"")
    assert "tier 'team'" in err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--vault", "none.db", "--read-only"], 3, "none.db does not exist"),
        (["--config", "none.toml"], 2, "none.toml cannot be read"),
        (["--vault", "bad.db"], 3, "bad.db"),
        (["--install", "emacs"], 2, "emacs"),
    ],
)
def test_a_start_that_fails_says_so_in_a_line(tmp_path, environment, arguments, code, said):
    (tmp_path / "bad.db").write_text("no database " * 100)
    done = subprocess.run(
        [sys.executable, "-m", "septet", "mcp", *arguments],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_without_arguments_the_vaults_of_the_user_and_of_the_project_are_served(tmp_path, environment):
    project = tmp_path / "project"
    (project / ".septet").mkdir(parents=True)
    with Vault(project / ".septet" / "vault.db") as vault:
        vault.add(title="Only of the project", id="p1")
    command = [sys.executable, "-m", "septet", "mcp"]

    async def talk(client):
        found = await client.call_tool("search", {"query": "project"})
        return (await client.call_tool("status", {})).structured_content["tiers"], found.structured_content["hits"]

    tiers, hits = talked(command, environment, talk, project)
    assert tiers == {"agent": 1.0, "project": 0.8}
    assert [(hit["id"], hit["tier"]) for hit in hits] == [("p1", "project")]


def started_by(program, text):
    """The command and its arguments, as a program reads them from its configuration."""
    if program == "codex":
        server = parse_document(text, ".toml")["mcp_servers"]["septet"]
        return [server["command"], *server["args"]]
    data = json.loads(text)
    key = {"vscode": "servers", "zed": "context_servers", "opencode": "mcp"}.get(program, "mcpServers")
    assert list(data) == [key]
    [(name, server)] = data[key].items()
    assert name == "septet"
    if program == "opencode":
        assert server["type"] == "local"
        return server["command"]
    if program in ("vscode", "claude-code"):
        assert server["type"] == "stdio"
    return [server["command"], *server["args"]]


def test_the_block_of_every_program_names_one_absolute_command_that_starts_the_server(
    tmp_path, environment, monkeypatch
):
    # Windows has no such names.
    odd = tmp_path / "a 'b' ü😀".replace("b' ", "b' " if WINDOWS else 'b\' "c" \\d ')
    odd.mkdir()
    with Vault(odd / "v.db") as vault:
        vault.add(title="Found by its odd path", id="odd")
    commands, septet = [], Commands(odd, monkeypatch)
    for program in PROGRAMS:
        code, text, said = septet("mcp", "--vault", "v.db", "--read-only", "--install", program)
        assert code == 0
        assert said.rstrip().endswith(":")
        commands.append(started_by(program, text))
    assert all(command == commands[0] for command in commands)
    command = commands[0]
    assert Path(command[0]).is_absolute()
    assert command[-4:] == ["mcp", "--vault", str(odd / "v.db"), "--read-only"]
    assert sorted(file.name for file in odd.iterdir() if file.name != "v.db.septet")[0] == "v.db"

    async def talk(client):
        return (await client.call_tool("search", {"query": "odd path"})).structured_content["hits"][0]["id"]

    assert talked(command, environment, talk) == "odd"


def test_a_block_takes_the_configuration_of_the_environment_along(tmp_path, monkeypatch):
    septet = Commands(tmp_path, monkeypatch)

    def arguments(*given):
        code, text, said = septet("mcp", "--install", "claude", *given)
        assert code == 0
        return json.loads(text)["mcpServers"]["septet"]["args"], said

    assert arguments()[0][-3:] == ["mcp", "--vault", str(tmp_path / "v.db")]
    monkeypatch.delenv("SEPTET_VAULT")
    assert arguments()[0][-1] == "mcp"
    monkeypatch.setenv("SEPTET_CONFIG", "c.toml")
    assert arguments("--documented-names")[0][-3:] == ["--config", str(tmp_path / "c.toml"), "--documented-names"]
    assert "'$'" in arguments("--vault", "a$b.db")[1]


def test_a_block_for_a_server_that_lacks_its_extra_says_so(tmp_path, monkeypatch):
    septet = Commands(tmp_path, monkeypatch)
    there = septet("mcp", "--install", "claude")
    monkeypatch.setitem(sys.modules, "mcp", None)
    code, text, said = septet("mcp", "--install", "claude")
    assert (code, text) == there[:2]
    note, *rest = said.splitlines(keepends=True)
    assert note.endswith("pip install 'septet[mcp]'\n") and "".join(rest) == there[2]
