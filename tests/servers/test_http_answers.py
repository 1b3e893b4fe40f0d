"""What every route answers: what the method of the vault returns, the form of an error, each operation of a line."""

import json
import time
from threading import Event

import pytest

pytest.importorskip("uvicorn")

from septet import StoreError, Vault
from septet.server import metrics
from septet.server.access_log import AccessLog
from septet.server.bulk import OPERATIONS
from septet.server.settings import Settings
from serving import CLOSE, ask, head, raw, serving


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many([{"id": f"e{n}", "title": f"Rotate session cookies {n}", "domain": "web"} for n in range(9)])
        vault.remember("Deploy on Tuesdays", id="m")
        vault.link("e1", "e2")
        vault.update("e3", context="changed")
        yield vault


def told(value):
    """Return what JSON makes of a value, without what is another one at every moment."""
    return timeless(json.loads(json.dumps(value)))


def timeless(value):
    if isinstance(value, dict):
        moments = ("took_ms", "temporal_decay", "score", "recency")
        return {name: timeless(one) for name, one in value.items() if name not in moments}
    return [timeless(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("route", "asked", "returned"),
    [
        ("search", {"query": "cookies"}, lambda v: v.search("cookies").to_dict()),
        ("recall", {"query": "deploy"}, lambda v: v.recall("deploy").to_dict()),
        ("similar", {"id": "e1"}, lambda v: v.similar("e1").to_dict()),
        ("explain", {"query": "cookies", "id": "e1"}, lambda v: v.explain("cookies", "e1").to_dict()),
        ("facets", {"field": "domain"}, lambda v: v.facets("domain").to_dict()),
        ("list", {"order_by": ["id", "asc"]}, lambda v: v.entries(order_by=("id", "asc")).to_dict()),
        ("count", {}, lambda v: {"count": v.count()}),
    ],
)
def test_an_answer_is_what_the_method_of_the_vault_returns(vault, route, asked, returned):
    with serving(vault) as url:
        answer = ask.post(f"{url}v1/{route}", json=asked)
    assert answer.status_code == 200
    assert told(answer.json()) == told(returned(vault))


def test_what_is_no_object_is_answered_under_its_name(vault):
    with serving(vault) as url:
        assert ask.post(f"{url}v1/entries", json={"id": "n", "title": "New"}).json() == {"id": "n"}
        assert ask.post(f"{url}v1/memories", json={"text": "Ask first", "id": "m2"}).json() == {"id": "m2"}
        assert ask.post(f"{url}v1/delete", json={"ids": ["n", "none"]}).json() == {"count": 1}
        for changed in (True, False):
            assert ask.post(f"{url}v1/unlink", json={"source": "e1", "target": "e2"}).json() == {"changed": changed}


@pytest.mark.parametrize(("route", "fact"), [("entries", {"title": "Rotate keys"}), ("memories", {"text": "Ask Ann"})])
def test_what_is_stored_is_answered_with_201_and_a_suggestion_that_stores_nothing_with_200(vault, route, fact):
    with serving(vault) as url:
        stored = len(vault)
        suggestion = ask.post(f"{url}v1/{route}", json={**fact, "on_similar": "suggest"})
        assert (suggestion.status_code, suggestion.json()["verdict"], len(vault)) == (200, "new", stored)
        added = ask.post(f"{url}v1/{route}", json={**fact, "on_similar": "supersede"})
        assert (added.status_code, added.json(), len(vault)) == (201, {"id": suggestion.json()["id"]}, stored + 1)
        answers = ask.get(f"{url}openapi.json").json()["paths"][f"/v1/{route}"]["post"]["responses"]
    assert [status for status in answers if status < "300"] == ["200", "201"]
    assert answers["200"]["content"] == answers["201"]["content"]


@pytest.mark.parametrize("id", ["a/b", "notes/deep/one.md", "a//b", "a/"])
def test_an_id_with_a_slash_may_stand_in_a_path_as_it_is(vault, id):
    vault.add(id=id, title="Under a slash")
    with serving(vault) as url:
        said = raw(url, head(f"/v1/entries/{id}", verb=b"GET", more=CLOSE))
        assert json.loads(said.partition(b"\r\n\r\n")[2])["id"] == id
        said = raw(url, head(f"/v1/entries/{id}", verb=b"DELETE", more=CLOSE))
        assert json.loads(said.partition(b"\r\n\r\n")[2]) == {"count": 1}
    assert id not in vault


def test_every_error_has_a_code_a_message_and_details(vault):
    with serving(vault, max_body=1_000, token="a token that nobody guesses") as url:
        own = {"Authorization": "Bearer a token that nobody guesses"}
        for verb, path, more in [
            ("GET", "v1/entries/none", {"headers": own}),
            ("GET", "v1/none", {"headers": own}),
            ("PUT", "v1/search", {"headers": own}),
            ("POST", "v1/search", {"headers": own, "json": {"query": 5}}),
            ("POST", "v1/search", {"headers": own, "content": b"x" * 2_000}),
            ("POST", "v1/search", {"headers": {**own, "Content-Encoding": "gzip"}, "content": b"x"}),
            ("POST", "v1/search", {"json": {"query": "x"}}),
            ("GET", "v1/stats", {"headers": {**own, "Host": "evil.example"}}),
            ("GET", "v1/stats", {"headers": {**own, "Origin": "http://evil.example"}}),
            ("POST", "v1/bulk", {"headers": {**own, "Content-Encoding": "gzip"}, "content": b"x"}),
        ]:
            answer = ask.request(verb, f"{url}{path}", **more)
            assert answer.status_code >= 400 and answer.headers["content-type"] == "application/json"
            assert set(answer.json()) == {"error"} and set(answer.json()["error"]) == {"code", "message", "details"}
            assert isinstance(answer.json()["error"]["details"], dict) and answer.json()["error"]["message"]


def test_the_page_of_the_api_and_no_other_list_of_routes_is_open_without_a_token(vault):
    with serving(vault, token="a token that nobody guesses") as url:
        assert ask.get(f"{url}docs").status_code == 200
        assert ask.get(f"{url}openapi.json").status_code == 401


def test_a_vault_that_cannot_be_read_is_not_ready(vault, monkeypatch):
    def fail(*given, **named):
        raise StoreError("the disk is gone")

    monkeypatch.setattr(vault, "search", fail)
    with serving(vault) as url:
        answer = ask.get(f"{url}readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "failed", "notes": ["store_error"]})
        assert ask.get(f"{url}healthz").status_code == 200
    assert metrics.WAIT_S == 5


@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        b"Content-Length: 2, 3\r\n",
        b"Content-Length: 2\r\nX-A: b\r\nContent-Length: 0\r\n",
    ],
)
@pytest.mark.parametrize("route", ["/v1/count", "/v1/bulk", "/mcp"])
def test_a_head_with_two_lengths_is_refused_with_400(vault, fields, route):
    with serving(vault) as url:
        # No body: a connection that is closed before all was read is reset, and the answer may be lost.
        said = raw(url, head(route, more=fields))
        assert (said.split()[1], said.count(b"HTTP/1.1 ")) == (b"400", 1)


# -- lines -------------------------------------------------------------------------------------------------------------


def lines_of(url, body):
    return [json.loads(line) for line in ask.post(f"{url}v1/bulk", content=body).text.splitlines()]


def test_the_lines_of_the_page_are_answered_as_it_shows(vault):
    body = b'{"id": "a", "title": "One"}\n{"title": 5}\n{"op": "delete", "id": "a"}\n'
    with serving(vault) as url:
        first, second, third = lines_of(url, body)
    assert first == {"line": 1, "id": "a"} and third == {"line": 3, "count": 1}
    assert second["line"] == 2 and second["error"]["code"] == "invalid_request"
    assert second["error"]["message"] == "title: Input should be a valid string"


def test_a_line_may_ask_for_every_operation_of_the_page(vault):
    asked = {
        "add": {"id": "n", "title": "New"},
        "update": {"id": "e1", "context": "changed"},
        "delete": {"id": "e8"},
        "remember": {"text": "Ask first", "id": "m2"},
        "supersede": {"old": "e6", "new": "e7"},
        "link": {"source": "e3", "target": "e4"},
        "unlink": {"source": "e1", "target": "e2"},
        "feedback": {"query": "cookies", "id": "e1", "action": "accepted"},
    }
    assert asked.keys() == OPERATIONS.keys()
    body = "".join(f"{json.dumps({'op': op, **fields})}\n" for op, fields in asked.items())
    with serving(vault) as url:
        answers = lines_of(url, body.encode())
    assert [answer.pop("line") for answer in answers] == list(range(1, 9))
    assert not any("error" in answer for answer in answers)
    assert all(answer.keys() <= {"id", "count", "changed"} and answer for answer in answers)
    assert "n" in vault and "e8" not in vault and vault.get("e1").context == "changed"
    assert vault.get("e6").valid_until is not None
    assert {link.target for link in vault.links("e1") if link.source == "e1"} == set()


def test_neighbours_that_are_stored_are_one_transaction_and_empty_lines_are_not_answered(vault):
    calls, add_many = [], vault.add_many
    vault.add_many = lambda items, **named: calls.append(len(items)) or add_many(items, **named)
    body = b'{"id": "a", "title": "x"}\n\n{"id": "b", "title": "x"}\n  \n{"op": "delete", "id": "a"}\n{"title": "y"}'
    with serving(vault) as url:
        assert [answer["line"] for answer in lines_of(url, body)] == [1, 3, 5, 6]
    assert calls == [2, 1]


def test_answers_of_less_than_their_room_wait_until_everything_is_sent(vault):
    # The client sends all of it before it reads the first answer.
    body = b"".join(b'{"op": "delete", "id": "none-%d-%s"}\n' % (n, b"x" * 200) for n in range(3_000))
    with serving(vault) as url:
        assert len(lines_of(url, body)) == 3_000


# -- the log -----------------------------------------------------------------------------------------------------------


def test_more_lines_of_a_log_than_wait_are_counted_and_hold_up_nothing(monkeypatch):
    class Stuck:
        written, gate, begun = "", Event(), Event()

        def write(self, text):
            self.begun.set()
            assert self.gate.wait(30)
            self.written += text

        def flush(self):
            pass

    stream = Stuck()
    log = AccessLog(stream)
    log._put({"first": 1})
    assert stream.begun.wait(30)
    began = time.monotonic()
    for number in range(10_100):
        log._put({"n": number})
    assert time.monotonic() - began < 20
    stream.gate.set()
    log.close()
    found = [json.loads(line) for line in stream.written.splitlines()]
    assert sum("n" in line for line in found) == 10_000
    assert [line["message"] for line in found if "message" in line] == ["100 lines were dropped"]


def test_the_server_has_the_bounds_of_the_page_where_nothing_else_is_said():
    given = Settings()
    assert (given.max_body, given.body_s, given.deadline_s, given.most_requests) == (1_000_000, 20, 30, 256)
