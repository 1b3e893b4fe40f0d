"""Lines of JSON over HTTP: many entries in, with an answer for each line, and everything out."""

import asyncio
import json
import socket
from contextlib import closing
from threading import Event
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn")

from septet import Federation, StoreError, Vault
from septet.server.admission import Admission
from septet.server.bulk import Bulk
from septet.server.room import MOST_SPOOLED, Room, Spool
from septet.server.settings import Settings
from septet.service.served import Served
from serving import ask, serving


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        yield vault


def sent(url, lines):
    """Send lines, each a dict or text, and return the answers by the number of the line."""
    body = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    answer = ask.post(f"{url}v1/bulk", content=body.encode())
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["line"] for one in told] == sorted({one["line"] for one in told})
    return {one.pop("line"): one for one in told}


def test_each_line_is_done_and_answered_and_a_wrong_one_stops_no_other(vault):
    with serving(vault) as url:
        told = sent(
            url,
            [
                {"id": "a/b", "title": "One", "tags": ["x"]},
                {"title": 5},
                "no json",
                "",
                {"op": "update", "id": "a/b", "context": "changed"},
                {"op": "link", "source": "a/b", "target": "c"},
                {"id": "c", "title": "Three", "vector": [1.0, 0.0], "model": "m"},
                {"op": "link", "source": "a/b", "target": "c"},
                {"op": "nonsense"},
                {
                    "id": "d",
                    "title": "Four",
                    "attrs": {"n": 1},
                    "span": {"path": "f.md", "first_line": 1, "last_line": 2},
                },
                {"op": "delete", "id": "c"},
                {"op": "delete", "id": "c"},
                {"op": "remember", "text": "Deploy on Tuesdays", "id": "m"},
                {"op": "feedback", "query": "one", "id": "a/b", "action": "accepted"},
                ["a list"],
                {"id": "e", "title": "Five", "tier": "agent"},
            ],
        )
    codes = {number: one["error"]["code"] for number, one in told.items() if "error" in one}
    assert codes == {
        **dict.fromkeys((2, 3, 9, 15), "invalid_request"),
        6: "entry_not_found",
        12: "entry_not_found",
        16: "tier_error",
    }
    done = {number: one for number, one in told.items() if number not in codes}
    assert done.pop(8) == done.pop(14) == {"changed": True}
    assert done.pop(11) == {"count": 1}
    assert done == {1: {"id": "a/b"}, 5: {"id": "a/b"}, 7: {"id": "c"}, 10: {"id": "d"}, 13: {"id": "m"}}
    assert {entry.id for entry in vault} == {"a/b", "d", "m"}
    assert (vault.get("a/b").context, vault.get("d").span.path) == ("changed", "f.md")


def test_an_entry_that_only_the_vault_refuses_takes_none_of_its_neighbours_along(vault):
    with serving(vault) as url:
        told = sent(url, [{"id": "a", "title": "One"}, {"id": "b", "title": " "}, {"id": "c", "title": "Three"}])
    assert told[1] == {"id": "a"} and told[3] == {"id": "c"}
    assert told[2]["error"]["code"] == "entry_error"
    assert {entry.id for entry in vault} == {"a", "c"}


def test_a_line_that_is_too_long_is_told_and_skipped_and_the_body_may_be_as_long_as_it_likes(vault):
    with serving(vault, max_body=2_000) as url:
        lines = [{"id": f"e{number}", "title": f"Entry {number}", "description": "x" * 500} for number in range(400)]
        told = sent(url, [*lines, {"id": "long", "title": "y" * 10_000}, {"id": "last", "title": "Last"}])
    assert len(told) == 402
    assert told[401]["error"]["code"] == "too_large"
    assert told[402] == {"id": "last"}
    assert vault.count() == 401


def test_answers_come_while_lines_are_still_sent(vault):
    with serving(vault) as url:
        at = urlsplit(url)
        with socket.create_connection((at.hostname, at.port), 20) as sock:
            sock.sendall(b"POST /v1/bulk HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for number in (1, 2, 3):
                line = b'{"id":"e%d","title":"x"}\n' % number
                sock.sendall(b"%x\r\n%b\r\n" % (len(line), line))
                said = b""
                while b'{"line":%d,"id":"e%d"}' % (number, number) not in said:
                    piece = sock.recv(65_536)
                    assert piece
                    said += piece
            sock.sendall(b"0\r\n\r\n")


def test_a_body_that_pauses_for_too_long_is_ended_with_a_line_that_says_so(vault):
    with serving(vault, body_s=0.2) as url:
        at = urlsplit(url)
        with socket.create_connection((at.hostname, at.port), 20) as sock:
            line = b'{"id":"a","title":"x"}\n'
            sock.sendall(b"POST /v1/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n" + line)
            said = b""
            while b'"code":"too_slow"' not in said:
                piece = sock.recv(65_536)
                assert piece
                said += piece
    assert "a" in vault


def test_answers_that_nobody_reads_yet_wait_beside_the_memory(vault):
    # All lines are sent before the first answer is read, and these are more than sockets hold.
    with serving(vault) as url:
        told = sent(url, ["x" * 200] * 60_000)
    assert len(told) == 60_000


def test_an_export_is_what_the_vault_writes_and_goes_back_in(vault, tmp_path):
    vault.add_many(
        [{"id": f"e{number} ü", "title": f"Entry {number}", "vector": [1.0, number]} for number in range(300)]
    )
    vault.link("e1 ü", "e2 ü")
    vault.feedback("x", "e1 ü", "accepted")
    vault.export(tmp_path / "wanted.jsonl")
    with serving(vault) as url:
        answer = ask.get(f"{url}v1/export")
    assert answer.content == (tmp_path / "wanted.jsonl").read_bytes()
    (tmp_path / "back.jsonl").write_bytes(answer.content)
    with Vault(tmp_path / "back.db") as back:
        assert back.import_(tmp_path / "back.jsonl").entries == 300
        assert back.links("e1 ü") == vault.links("e1 ü")


def test_an_export_that_fails_is_no_whole_one(vault, monkeypatch):
    vault.add_many([{"id": f"e{number}", "title": "x" * 1_000} for number in range(300)])

    def fail(target):
        for number in range(200):
            target.write(json.dumps({"record": "entry", "id": f"e{number}", "title": "x" * 1_000}) + "\n")
        raise OSError("the disk is gone")

    monkeypatch.setattr(vault, "export", fail)
    with serving(vault) as url:
        with pytest.raises(Exception, match=r"peer closed connection|incomplete"):
            ask.get(f"{url}v1/export")
        assert ask.get(f"{url}healthz").status_code == 200


def test_an_export_ends_when_its_client_goes(vault, monkeypatch):
    ended = Event()

    def endless(target):
        try:
            while True:
                target.write("x" * 10_000)
        finally:
            ended.set()

    monkeypatch.setattr(vault, "export", endless)
    with serving(vault) as url:
        with ask.stream("GET", f"{url}v1/export") as answer:
            assert next(answer.iter_bytes())
        assert ended.wait(20)


def test_lines_that_are_wrong_leave_other_requests_their_turn(vault):
    async def run():
        turns, ended, messages = 0, False, [{"type": "http.request", "body": b"x\n" * 50_000, "more_body": False}]

        async def receive():
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def work():
            nonlocal ended
            with closing(Spool(Room(MOST_SPOOLED), pytest.fail)) as spool:
                bulk = Bulk(Served(vault), Settings(), Admission(Settings()), asyncio.Lock(), spool)
                await bulk.run({"headers": []}, receive)
            ended = True

        task = asyncio.ensure_future(work())
        while not ended:
            await asyncio.sleep(0)
            turns += 1
        await task
        return turns

    assert asyncio.run(run()) >= 500


def test_errors_of_lines_and_of_an_export_tell_no_paths(vault, monkeypatch):
    def fail(*args, **options):
        raise StoreError(f"{vault.path} is no vault")

    for name in ("add_many", "update", "export"):
        monkeypatch.setattr(vault, name, fail)
    with serving(vault) as url:
        lines = sent(url, [{"id": "b", "title": "x"}, {"op": "update", "id": "a", "title": "y"}])
        assert [line["error"]["message"] for line in lines.values()] == ["the vault is no vault"] * 2
        answer = ask.get(f"{url}v1/export")
        assert (answer.status_code, answer.json()["error"]["message"]) == (500, "the vault is no vault")


def test_a_federation_is_exported_entry_by_entry(tmp_path):
    with (
        Vault(tmp_path / "a.db") as agent,
        Vault(tmp_path / "t.db") as team,
        Federation({"agent": agent, "team": team}) as both,
    ):
        agent.add(id="a", title="One")
        team.add(id="a", title="Hidden by the agent's")
        team.add_many([{"id": f"t{number:04}", "title": "Two"} for number in range(600)])
        with serving(both) as url:
            told = [json.loads(line) for line in ask.get(f"{url}v1/export").text.splitlines()]
            assert {one["id"]: one["title"] for one in told}["a"] == "One"
            assert len(told) == 601
            assert sent(url, [{"id": "n", "title": "New", "tier": "team"}]) == {1: {"id": "n"}}
            assert "n" in team and "n" not in agent
            listed = ask.get(f"{url}v1/entries", params={"limit": 2, "order_by": "id"}).json()
            assert [entry["id"] for entry in listed["entries"]] == ["a", "n"]
            after = ask.get(f"{url}v1/entries", params={"limit": 1, "order_by": "id", "after": listed["next"]}).json()
            assert [entry["id"] for entry in after["entries"]] == ["t0000"]


def test_entries_are_listed_and_deleted_one_by_one(vault):
    vault.add_many([{"id": f"e{number}", "title": "x", "tags": ["odd"] if number % 2 else []} for number in range(4)])
    with serving(vault) as url:
        listed = ask.get(f"{url}v1/entries", params={"tag": "odd", "order_by": "id", "direction": "desc"}).json()
        assert [entry["id"] for entry in listed["entries"]] == ["e3", "e1"]
        assert ask.delete(f"{url}v1/entries/e1").json() == {"count": 1}
        assert ask.delete(f"{url}v1/entries/e1").json()["error"]["code"] == "entry_not_found"
        for wrong in ("limit=0", "limit=x", "nothing=1", "limit=1&limit=2", "a=%ff"):
            assert ask.get(f"{url}v1/entries?{wrong}").status_code in (400, 422)
