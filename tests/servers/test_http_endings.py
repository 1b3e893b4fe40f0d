"""How requests end that do not end by themselves: over their deadline, with the server, or before they have begun."""

import time
from contextlib import suppress
from threading import Event, Thread

import pytest

pytest.importorskip("uvicorn")

from septet import Vault
from serving import CLOSE, HOST, LITTLE, ask, connected, head, long_answers, raw, served, serving


@pytest.fixture
def vault(tmp_path):
    with long_answers(tmp_path / "v.db") as vault:
        yield vault


class Stuck(Vault):
    """A vault whose work waits for a gate."""

    begun = gate = Event()

    def _wait(self, name, given, named):
        self.begun.set()
        assert self.gate.wait(60)
        return getattr(super(), name)(*given, **named)

    def search(self, *given, **named):
        return self._wait("search", given, named)

    def stats(self, *given, **named):
        return self._wait("stats", given, named)

    def add_many(self, *given, **named):
        return self._wait("add_many", given, named)

    def export(self, *given, **named):
        return self._wait("export", given, named)


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}}
JSON = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def stuck(tmp_path):
    with Stuck(tmp_path / "stuck.db") as vault:
        vault.begun, vault.gate = Event(), Event()
        yield vault
        vault.gate.set()


@pytest.mark.parametrize(
    ("verb", "route", "body"),
    [
        ("POST", "v1/search", {"query": "x"}),
        ("GET", "v1/search?q=x", None),
        ("POST", "v1/tools/call", {"name": "search", "arguments": {"query": "x"}}),
        ("POST", "mcp", CALL),
        ("GET", "v1/stats", None),
        ("GET", "metrics", None),
        ("GET", "v1/export", None),
    ],
)
def test_a_request_over_its_deadline_is_ended_on_every_route(stuck, verb, route, body):
    with serving(stuck, deadline_s=3.0 if route == "mcp" else 0.3) as url:
        began = time.monotonic()
        answer = ask.request(verb, f"{url}{route}", json=body, headers=JSON)
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline")
        assert time.monotonic() - began < 6
        stuck.gate.set()


def test_lines_over_the_deadline_are_answered_as_such_and_the_next_ones_are_read(stuck):
    with serving(stuck, deadline_s=0.5) as url, connected(url) as [sock]:
        sock.sendall(head("/v1/bulk", None, more=b"Transfer-Encoding: chunked\r\n"))
        line = b'{"id":"a","title":"x"}\n'
        sock.sendall(b"%x\r\n%b\r\n" % (len(line), line))
        said = b""
        while b"}\n" not in said:
            said += sock.recv(10_000)
        assert b'"line":1' in said and b'"code":"deadline"' in said
        stuck.gate.set()
        sock.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(line), line))
        while b'{"line":2,"id":"a"}' not in said:
            piece = sock.recv(10_000)
            assert piece
            said += piece


@pytest.mark.parametrize(("route", "body"), [("v1/search", {"query": "x"}), ("mcp", CALL)])
def test_what_runs_when_the_server_is_to_stop_is_answered(stuck, route, body):
    answers = []
    with serving(stuck) as url:
        thread = Thread(target=lambda: answers.append(ask.post(f"{url}{route}", json=body, headers=JSON)))
        thread.start()
        assert stuck.begun.wait(20)
        url.server.stop()
        time.sleep(0.3)
        stuck.gate.set()
        thread.join(20)
    assert [answer.status_code for answer in answers] == [200]
    assert "error" not in answers[0].json()


@pytest.mark.parametrize("kind", ["silent", "sending", "taking nothing", "exporting"])
def test_a_stop_in_the_middle_logs_no_traceback_and_passes_nothing_for_whole(vault, kind):
    with served(vault.path, "--grace", "0.3") as (url, process), connected(url, takes=LITTLE) as [sock]:
        if kind == "exporting":
            sock.sendall(head("/v1/export", verb=b"GET"))
        else:
            line = b'{"id":"b","title":"x"}\n' if kind != "taking nothing" else b"x\n"
            sock.sendall(head("/v1/bulk", 10**9) + line * 100)

            def more():
                try:
                    while True:
                        sock.sendall(line * 100)
                except OSError:
                    pass

            thread = Thread(target=more)
            if kind != "silent":
                thread.start()
        time.sleep(1)
        process.terminate()
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "Traceback" not in out and "never retrieved" not in out and '"error"' not in out
        sock.settimeout(10)
        said = b""
        with suppress(OSError):
            while piece := sock.recv(1 << 20):
                said += piece
        assert not said.endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "fields",
    [
        b"Transfer-Encoding:\r\n chunked\r\n",
        b"Transfer-Encoding: chunked\r\n \r\n",
        b"Transfer-Encoding:\n\tchunked\r\n",
        b"X-A: b\r\n\tTransfer-Encoding: chunked\r\n",
        b"Content-Length:\r\n 2\r\n",
        b"X-A: b\r\n c\r\nContent-Length: 2\r\n",
        b"X-A: b\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\n",
        b"Content-Length: 2\n\n",
    ],
)
def test_a_head_with_a_folded_line_or_a_bare_newline_is_refused_also_behind_another_request(vault, fields):
    with serving(vault) as url:
        folded = b"POST /v1/count HTTP/1.1\r\n" + HOST + fields + CLOSE + b"\r\n2\r\n{}\r\n0\r\n\r\n"
        assert raw(url, folded).split()[1] == b"400"
        cut = folded.index(b"\n", folded.index(fields.split(b":")[0])) + 2
        # The answer may be lost where the rest is sent to a connection that is closed already.
        with suppress(ConnectionResetError):
            assert raw(url, folded[:cut], folded[cut:]).split()[1] == b"400"
        said = raw(url, head("/healthz", verb=b"GET") + folded)
        assert [part.split()[0] for part in said.split(b"HTTP/1.1 ")[1:]] == [b"200", b"400"]


def test_chunks_in_http_1_0_are_refused(vault):
    with serving(vault) as url:
        asked = b"POST /v1/count HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        assert raw(url, asked).split()[1] == b"400"
