"""What docs/http.md promises of routes, fields, codes and figures, read from the page itself."""

import inspect
import re
from pathlib import Path
from threading import Event

import pytest

pytest.importorskip("uvicorn")

from septet import Vault, errors
from septet.cli.commands.serving import serve
from septet.server import metrics
from septet.service.faults import fault_of
from serving import ask, served, serving

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text()


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="Rotate session cookies", tags=["web"], source="notes")
        yield vault


def routes():
    """The verbs and paths of the table of routes."""
    table = PAGE.partition("## Routes")[2].partition("An error is")[0]
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        verbs = ["GET"]
        for told in re.findall(r"`([^`]+)`", row):
            *named, path = told.split()
            verbs = [verb.strip(",") for verb in named] or verbs
            if path.startswith("/"):
                yield from ((verb, path.partition("?")[0]) for verb in verbs)
            else:
                # Verbs that stand before a path of their own.
                verbs = [*verbs, path]


def test_every_route_of_the_page_is_there(vault):
    found = list(routes())
    assert {("POST", "/mcp"), ("GET", "/v1/search"), ("POST", "/v1/unlink"), ("GET", "/readyz")} <= set(found)
    with serving(vault) as url:
        for verb, path in found:
            answer = ask.request(verb, url + path.replace("{id}", "a")[1:], content="x" if verb != "GET" else None)
            code = answer.json()["error"]["code"] if answer.status_code >= 400 and path != "/mcp" else None
            assert code not in ("no_such_route", "method_not_allowed", "internal_error"), (verb, path)
            assert answer.status_code != 405


@pytest.mark.parametrize("route", ["search?q=cookies&", "entries?"])
def test_every_field_of_an_address_is_taken(vault, route):
    row = re.search(rf"^\| `GET /v1/{route.partition('?')[0]}.*", PAGE, re.MULTILINE)[0]
    values = {
        "order_by": "id",
        "direction": "asc",
        "mode": "scan",
        "legs": "text",
        "profile": "septet",
        "kind": "entry",
    }
    values |= {"type": "note", "severity": "warning", "min_score": "0.1", "include_memories": "true", "after": None}
    values |= {"include_expired": "false", "limit": "2", "offset": "0"}
    with serving(vault) as url:
        fields = [one for one in re.findall(r"`(\w+)`", row) if one != "q"]
        assert len(fields) > 8
        for field in fields:
            if (value := values.get(field, "web")) is not None:
                answer = ask.get(f"{url}v1/{route}{field}={value}")
                assert answer.status_code == 200, (field, answer.text)


def test_every_figure_of_the_page_is_told(vault):
    told = PAGE.partition("## Figures")[2].partition("## ")[0]
    figures = dict(re.findall(r"`(septet_\w+)(?:\{([\w,]+)\})?`", told))
    assert len(figures) > 12 and figures["septet_http_requests_total"] == "method,route,status"
    vault.add(id="b", title="With a vector", vector=[1.0, 0.0], model="m")
    with serving(vault) as url:
        ask.post(f"{url}v1/search", json={"query": ""})
        ask.post(f"{url}v1/search", json={"query": "cookies"})
        text = ask.get(f"{url}metrics").text
    for name, labels in figures.items():
        assert f"# TYPE {name} " in text, name
        for label in filter(None, labels.split(",")):
            assert re.search(rf"^{name}(_bucket)?\{{.*\b{label}=\"", text, re.MULTILINE), (name, label)


def test_septet_up_is_0_when_the_memory_cannot_be_read(vault, monkeypatch):
    def fail():
        raise errors.StoreError("gone")

    monkeypatch.setattr(vault, "stats", fail)
    with serving(vault) as url:
        assert 'septet_up{error="store_error"} 0' in ask.get(f"{url}metrics").text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.EntryNotFound("x"), 404),
        (errors.ReadOnly("x"), 403),
        (errors.StoreBusy("x"), 503),
        (errors.QueryError("x"), 422),
        (errors.EntryError("x"), 422),
        (errors.VaultReplaced("x"), 500),
        (errors.NotAVault("x"), 500),
        (errors.EmbeddingUnavailable("x"), 502),
        (errors.EmbeddingRefused("x"), 502),
        (errors.Unauthorized("x"), 502),
        (errors.Closed("x"), 503),
    ],
)
def test_an_error_of_the_library_has_its_code_and_the_status_of_the_page(error, status):
    assert (fault_of(error).code, fault_of(error).status) == (error.code, status)


def test_it_is_not_ready_when_the_vault_cannot_be_read_in_time(vault, monkeypatch):
    monkeypatch.setattr(metrics, "WAIT_S", 0.2)
    gate, search = Event(), vault.search
    monkeypatch.setattr(vault, "search", lambda *given, **named: gate.wait(30) and search(*given, **named))
    with serving(vault) as url:
        answer = ask.get(f"{url}readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "failed", "notes": ["deadline"]})
        assert ask.get(f"{url}healthz").status_code == 200
        gate.set()


def test_a_write_over_its_deadline_may_still_be_stored(vault, monkeypatch):
    gate, begun, add = Event(), Event(), vault.add

    def slow(**named):
        begun.set()
        assert gate.wait(30)
        return add(**named)

    monkeypatch.setattr(vault, "add", slow)
    with serving(vault, deadline_s=0.3) as url:
        answer = ask.post(f"{url}v1/entries", json={"id": "late", "title": "x"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline")
        assert begun.is_set() and "late" not in vault
        gate.set()
        for _ in range(200):
            if "late" in vault:
                break
            Event().wait(0.05)
        assert "late" in vault


def test_a_packed_body_of_lines_is_refused_and_an_empty_one_is_answered_with_nothing(vault):
    with serving(vault) as url:
        answer = ask.post(f"{url}v1/bulk", content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_encoding")
        answer = ask.post(f"{url}v1/bulk", content=b"")
        assert (answer.status_code, answer.content) == (200, b"")


def test_mcp_has_no_sessions_and_takes_posts_alone(vault):
    pytest.importorskip("mcp")
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
    accept = {"Accept": "application/json, text/event-stream"}
    with serving(vault) as url:
        answer = ask.post(f"{url}mcp", json=asked, headers=accept)
        assert answer.json()["result"]["serverInfo"]["name"] == "septet"
        assert "mcp-session-id" not in answer.headers
        for verb in ("GET", "DELETE"):
            answer = ask.request(verb, f"{url}mcp", headers=accept)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("arguments", [b'{"query": "\\ud800"}', b'{"query": "x", "limit": ' + b"1" * 5_000 + b"}"])
@pytest.mark.parametrize("version", [None, "2025-06-18", "2026-07-28"])
def test_a_message_of_mcp_that_is_no_json_is_answered_with_an_error(vault, arguments, version):
    pytest.importorskip("mcp")
    told = (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": %b}}'
        % arguments
    )
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with serving(vault) as url:
        answer = ask.post(
            f"{url}mcp",
            content=told,
            headers=headers if version is None else {**headers, "MCP-Protocol-Version": version},
        )
        assert answer.status_code == 400 and answer.json()["error"]["code"] < 0


def test_the_options_have_the_defaults_of_the_page():
    named = [parameter.default for parameter in inspect.signature(serve).parameters.values()]
    assert "127.0.0.1" in named and 7077 in named
    assert (30.0 in named, 10.0 in named) == (True, True)


def test_port_0_takes_a_free_one_and_names_it_and_a_log_may_be_off(vault):
    with served(vault.path, "--access-log", "off", "--no-embed") as (url, process):
        assert not url.endswith(":0/")
        assert ask.get(f"{url}v1/stats").status_code == 200
        process.terminate()
        assert "v1/stats" not in process.communicate(timeout=30)[0]


def test_the_log_of_requests_goes_to_the_file_that_is_named(vault, tmp_path):
    with served(vault.path, "--access-log", str(tmp_path / "log")) as (url, process):
        assert ask.get(f"{url}v1/stats").status_code == 200
        process.terminate()
        assert "v1/stats" not in process.communicate(timeout=30)[0]
    assert '"route":"/v1/stats"' in (tmp_path / "log").read_text()
