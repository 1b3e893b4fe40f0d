"""What a client says when the server is gone, strange, slow, or wants another token."""

import base64
import json
import logging
import os
import socket
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from threading import Thread

import httpx
import numpy as np
import pytest

pytest.importorskip("uvicorn")

from remote import QUERIES, Faulty, answer, filled, told
from septet import (
    Client,
    Closed,
    EntryError,
    Federation,
    QueryError,
    SeptetError,
    StoreError,
    Unauthorized,
    Unreachable,
    Vault,
)
from serving import serving

TOKEN = "a-token-of-the-test"


@pytest.fixture(scope="module")
def filled_vault(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("client") / "v.db", clock=lambda: 2e9) as vault:
        yield filled(vault)


@pytest.fixture(scope="module")
def url(filled_vault):
    with serving(filled_vault) as url:
        yield url


@pytest.fixture(scope="module")
def client(url):
    with Client(url) as client:
        yield client


def test_a_token_goes_to_the_server_and_nowhere_else(filled_vault):
    with serving(filled_vault, token=TOKEN) as url:
        with Client(url, token=TOKEN) as client:
            assert client.search("vault").ids
            assert TOKEN not in f"{client!r} {vars(client)}"
        for wrong in (None, "another-token-of-the-test"):
            with Client(url, token=wrong) as client, pytest.raises(Unauthorized, match="token") as refused:
                client.search("vault")
            assert refused.value.code == "unauthorized"
            assert "another-token" not in str(refused.value)
    with Client(url, token=TOKEN) as client, pytest.raises(Unreachable) as gone:
        client.search("vault")
    text = f"{gone.value!r} {gone.value.__cause__!r}"
    assert TOKEN not in text


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("body", ["<html>Log in", "", "[]", '{"error": 5}'])
def test_whoever_refuses_on_the_way_is_no_server_that_is_away(status, body):
    sent = []

    def answer(request):
        sent.append(request)
        return httpx.Response(status, text=body)

    client = Client("http://127.0.0.1:9", transport=httpx.MockTransport(answer))
    with client, pytest.raises(Unauthorized, match=str(status)) as told:
        client.count()
    assert len(sent) == 1 and not isinstance(told.value, Unreachable)


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "http://", "http://a:99999", "x", "http://u:secret@h/", "http://h/?q=1", None]
)
def test_an_address_that_is_none_is_told_at_once(url):
    with pytest.raises(StoreError) as wrong:
        Client(url)
    assert "secret" not in str(wrong.value)


def test_calls_that_read_are_sent_again_and_calls_that_write_are_not(url):
    failures = []

    def fails(request, asked):
        failures.append(request.url.path)
        raise httpx.ReadError("broken", request=request)

    with Client(url, transport=Faulty(fails)) as client:
        with pytest.raises(Unreachable, match="was lost"):
            client.count()
        with pytest.raises(Unreachable, match="was lost"):
            client.add(title="x")
    assert failures == ["/v1/count"] * 3 + ["/v1/entries"]


def test_a_connection_that_fails_once_is_no_error(url):
    left = [httpx.ConnectError, httpx.RemoteProtocolError]

    def fails(request, asked):
        if left:
            raise left.pop()("broken", request=request)

    with Client(url, transport=Faulty(fails)) as client:
        assert client.count() > 0


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (lambda: httpx.Response(302, headers={"location": "http://elsewhere/"}), "use the final URL"),
        (lambda: httpx.Response(200, content=b"<html>"), "not a Septet response"),
        (lambda: httpx.Response(200, json=[1]), "not a Septet response"),
        (lambda: httpx.Response(502, content=b"bad gateway"), "answered 502"),
        (
            lambda: httpx.Response(500, json={"error": {"code": "internal_error", "message": "the server failed"}}),
            "the server failed",
        ),
        (lambda: httpx.Response(200, headers={"content-encoding": "br"}, stream=httpx.ByteStream(b"x")), "compressed"),
        (lambda: httpx.Response(200, stream=httpx.ByteStream(b"x" * 2_000)), "more than 1,000 bytes"),
    ],
)
def test_an_answer_that_is_none_is_told(url, response, said):
    with (
        Client(url, transport=Faulty(lambda request, asked: response()), max_bytes=1_000) as client,
        pytest.raises(Unreachable, match=said),
    ):
        client.count()


def test_an_answer_that_breaks_off_or_never_ends_is_told():
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    answers = [b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", b"HTTP/1.1 200 OK\r\nconten"] * 3 + [b""]
    held = []

    def serve():
        for said in answers:
            one, _ = listening.accept()
            one.recv(65_536)
            one.sendall(said)
            if said:
                one.close()
            else:
                held.append(one)

    thread = Thread(target=serve)
    thread.start()
    with Client(f"http://127.0.0.1:{port}") as client:
        for _ in range(2):
            with pytest.raises(Unreachable, match="was lost"):
                client.count()
    with (
        Client(f"http://127.0.0.1:{port}", timeout_s=0.2) as client,
        pytest.raises(Unreachable, match=r"within 0\.2 s"),
    ):
        client.count()
    thread.join()
    for one in (*held, listening):
        one.close()


def test_a_client_that_was_closed_says_so(url):
    client = Client(url)
    assert client.count() > 0
    client.close()
    client.close()
    with pytest.raises(Closed):
        client.count()


def test_threads_share_a_client(filled_vault, client):
    wanted = [told(filled_vault.search(query, limit=3)) for query in QUERIES]

    def ask(number):
        return told(client.search(QUERIES[number % len(QUERIES)], limit=3)) == wanted[number % len(QUERIES)]

    with ThreadPoolExecutor(50) as threads:
        assert all(threads.map(ask, range(100)))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_connections_of_its_own(url):
    with Client(url) as client:
        wanted = client.count()
        pid = os.fork()
        if not pid:
            try:
                os._exit(0 if client.count() == wanted else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert client.count() == wanted


def test_times_travel_as_numbers_and_texts_as_they_are(url):
    transport = Faulty(lambda request, asked: answer({"count": 0}))
    with Client(url, transport=transport) as client:
        client.count(
            {"valid_until": {"$in": (datetime(2026, 1, 1, tzinfo=timezone.utc), None)}, "attrs.x": {"$in": {"ü"}}}
        )
    assert transport.seen[0][1] == {"where": {"valid_until": {"$in": [1767225600.0, None]}, "attrs.x": {"$in": ["ü"]}}}
    assert json.loads(transport.seen[0][0].content) == transport.seen[0][1]


@pytest.mark.parametrize("attrs", [{1: 2}, {None: 1}, {"a": {True: 1}}, {1: 1, "1": 2}])
def test_a_key_that_is_no_text_is_refused_as_a_vault_does_and_not_made_one(filled_vault, client, attrs):
    count = client.count()
    for memory in (filled_vault, client):
        with pytest.raises(EntryError, match="string keys"):
            memory.add(title="t", attrs=attrs)
        with pytest.raises(QueryError, match="has the key"):
            memory.count({"$and": [{7: 1}]})
    assert client.count() == count


def test_what_is_nested_too_deeply_or_too_large_to_travel_is_refused_here(client):
    ring = []
    ring.append(ring)
    with pytest.raises(QueryError, match="as_of is nested too deeply"):
        client.count(as_of=ring)
    with pytest.raises(QueryError, match="vector is an array"):
        client.similar(vector=np.broadcast_to(np.float32(1), (2**40,)))


@pytest.mark.parametrize("most", [0, -1, "1", None, 2.5])
def test_a_limit_of_bytes_that_is_none_is_told_at_once(most):
    with pytest.raises(StoreError, match="max_bytes"):
        Client("http://127.0.0.1:9", max_bytes=most)


FORMS = {
    "as it is": TOKEN,
    "in a header": f"Bearer {TOKEN}",
    "backwards": TOKEN[::-1],
    "in base64": base64.b64encode(f"Bearer {TOKEN}".encode()).decode(),
    "in percent": "".join(f"%{byte:02x}" for byte in TOKEN.encode()),
    "in part": TOKEN[3:-3],
    "in capitals": TOKEN.upper(),
}


@pytest.mark.parametrize("said", FORMS.values(), ids=FORMS)
def test_a_token_that_the_server_repeats_is_in_no_error_no_note_and_no_log(filled_vault, caplog, said):
    error = {"error": {"code": "query_error", "message": said, "details": {"x": said}}}
    entry = dict.fromkeys(("kind", "type", "domain", "title", "description", "context"), said)
    wrong = [
        *(httpx.Response(status, json=error) for status in (400, 401, 403, 404, 500)),
        *(httpx.Response(status, json={"error": {"code": said}}) for status in (401, 422)),
        httpx.Response(200, json={said: said, "count": said}),
        httpx.Response(200, json={"kinds": {said: said}}),
        httpx.Response(200, json={"entries": [{**entry, "severity": said}]}),
        httpx.Response(200, content=said.encode()),
        httpx.Response(302, headers={"location": f"http://127.0.0.1:9/{said}"}),
        httpx.Response(200, headers={"content-encoding": said}, stream=httpx.ByteStream(b"x")),
    ]
    hidden = [said, TOKEN]
    caplog.set_level(logging.DEBUG)
    calls = [Client.count, Client.stats, lambda client: client.load(["e1"]), lambda client: client.add(title="t")]
    for response in wrong:
        transport = httpx.MockTransport(lambda _, response=response: response)
        with Client("http://127.0.0.1:9", token=TOKEN, transport=transport) as client:
            for call in calls:
                with pytest.raises(SeptetError) as raised:
                    call(client)
                text = "".join(traceback.format_exception_only(type(raised.value), raised.value))
                text += f"{raised.value.args!r} {raised.value.__cause__!r} {raised.value.__context__!r}"
                assert not [one for one in hidden if one in text]
            found = Federation({"here": filled_vault, "there": client}).search("vault")
            assert found.ids
            assert not [one for one in hidden if one in f"{found!r} {found.notes} {found.tiers}"]
    assert not [one for one in hidden if one in caplog.text]


def test_a_token_in_a_head_or_a_broken_answer_is_in_no_error_and_no_log(caplog):
    heads = [f"HTTP/1.1 500 {TOKEN}", f"{TOKEN}", f"HTTP/1.1 200 OK\r\nX-Seen: {TOKEN}\r\ncontent-length: {TOKEN}"]
    caplog.set_level(logging.DEBUG)
    for head in heads:
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def serve(head=head, listening=listening):
                with suppress(OSError):  # Windows ends a wait of a socket that is closed.
                    for _ in range(3):
                        connection, _ = listening.accept()
                        with connection:
                            connection.recv(65_536)
                            connection.sendall(f"{head}\r\n\r\n".encode())

            Thread(target=serve, daemon=True).start()
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with Client(url, token=TOKEN) as client, pytest.raises(Unreachable) as raised:
                client.count()
        assert TOKEN not in f"{raised.value!r} {raised.value.__context__!r}"
    assert "receive_response_headers" in caplog.text and TOKEN not in caplog.text


def test_what_a_server_says_beside_results_hides_the_token_too(url):
    def lies(request, asked):
        return httpx.Response(200, json=dict.fromkeys(("profile", "row", "cause"), TOKEN) | MORE_OF_WEIGHTS)

    with Client(url, token=TOKEN, transport=Faulty(lies)) as client:
        assert TOKEN not in repr(client.weights())


MORE_OF_WEIGHTS = {"values": {}, "counted": 0, "accept_rate": None}


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("count", {}, "without the field count"),
        ("count", {"count": "5"}, "a wrong value of count: wanted a valid integer"),
        ("count", {"count": None}, "a wrong value of count: wanted a valid integer"),
        ("count", {"count": -1}, "a wrong value of count: wanted greater than or equal to 0"),
        ("stats", {"entries": 1, "kinds": {"entry": 1.5}}, "a wrong value of kinds.entry: wanted a valid integer"),
        ("weights", {**dict.fromkeys(("profile", "row", "cause"), ""), **MORE_OF_WEIGHTS, "counted": []}, "of counted"),
    ],
)
def test_an_answer_of_a_wrong_type_names_the_field_and_what_is_expected(url, method, body, said):
    with (
        Client(url, transport=Faulty(lambda request, asked: answer(body))) as client,
        pytest.raises(Unreachable, match=said),
    ):
        getattr(client, method)()


def test_pages_that_bring_the_same_entries_again_and_again_end(filled_vault, url):
    page = {"entries": [filled_vault.get("e1").to_dict()], "next": "more"}
    with (
        Client(url, transport=Faulty(lambda request, asked: answer(page))) as client,
        pytest.raises(Unreachable, match="1 entries instead of 500 further"),
    ):
        client.entries(limit=None)
    parts = {"answer": {"entries": [[1, "e1", *[""] * 7, "[]", "{}", *[None] * 3, 0.0, 0.0, None, None]], "last": 9}}
    with (
        Client(url, transport=Faulty(lambda request, asked: answer(parts))) as client,
        pytest.raises(Unreachable, match="do not ascend"),
    ):
        for _ in client:
            pass


def test_a_tier_that_wants_the_search_to_begin_again_each_time_is_left_out(filled_vault, url):
    asked = []

    def again(request, call):
        asked.append(call)
        return answer({"again": "once more"})

    with Client(url, transport=Faulty(again)) as client:
        found = Federation({"here": filled_vault, "there": client}).search("vault")
    assert found.ids and [note.code for note in found.notes if note.tier == "there"] == ["tier_failed"]
    assert len(asked) < 10


def test_an_error_of_the_server_in_the_middle_of_a_search_leaves_the_tier_out(filled_vault, url):
    def fails(request, call):
        return answer({"error": {"code": "store_busy", "message": "no"}}, 503) if call["method"] == "read" else None

    with Client(url, transport=Faulty(fails)) as client:
        found = Federation({"here": filled_vault, "there": client}, {"there": 2.0}).search("vault")
    assert found.ids and [note.code for note in found.notes if note.tier == "there"] == ["tier_failed"]


@pytest.mark.parametrize(
    ("method", "change", "code"),
    [
        ("open", lambda told: told["recalled"][0]["pool"].update(ids=None), "tier_failed"),
        ("overrides", lambda told: told["answer"]["pool"].update(ids=None), "tier_failed"),
        ("open", lambda told: told["recalled"][0].update(mismatch="no such model"), "vector_mismatch"),
    ],
)
def test_an_answer_that_does_not_fit_to_the_query_is_noted_and_the_vault_here_answers(
    tmp_path, filled_vault, url, method, change, code
):
    def other(request, call):
        if call["method"] != method:
            return None
        told = httpx.post(str(request.url), content=request.content).json()
        change(told)
        return answer(told)

    with Vault(tmp_path / "h.db") as here, Client(url, transport=Faulty(other)) as client:
        filled(here, 30, seed=5)
        found = Federation({"here": here, "there": client}, {"there": 2.0}).search("vault")
    assert found.ids and (code, "there") in [(note.code, note.tier) for note in found.notes]
