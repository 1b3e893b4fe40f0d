"""Whatever a server answers, a client and a federation end in a result or in an error of Septet, and say no token."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import traceback
from dataclasses import is_dataclass

import pytest

pytest.importorskip("uvicorn")

from remote import VECTOR, filled
from septet import AsyncClient, Client, Federation, SeptetError, Vault
from serving import serving
from wrong_answers import Lying, Recording, changed, response_of, with_more_fields

TOKEN = "q7GmZx-41vKpTt9LbWs2-aXe8"
#: All wrong answers, over all operations.
COUNT = 20_000 if os.environ.get("SEPTET_STRESS_S") else 2_000
PARTS = 8
#: How long one call may take, most of which waits for an answer that does not end.
MOST_S, TIMEOUT_S = 10.0, 0.4

CLIENT = {
    "search": lambda c: c.search("vault search", limit=4),
    "search scan": lambda c: c.search("vault search", mode="scan", limit=4),
    "search groups": lambda c: c.search("vault", group_by="parent", facets=["domain", "attrs.n"], syntax="web"),
    "search vector": lambda c: c.search("vault", query_vector=VECTOR, limit=3),
    "search memories": lambda c: c.search("vault", include_memories=True, profile="markdown-memory", limit=3),
    "search_many": lambda c: c.search_many(["vault", "search"], limit=2),
    "recall": lambda c: c.recall("vault", limit=3),
    "retrieve": lambda c: c.retrieve("vault", limit=3),
    "explain": lambda c: c.explain("vault search", "e31"),
    "explain one that is not found": lambda c: c.explain("vault", "e33", limit=1),
    "similar": lambda c: c.similar("e31", limit=3),
    "weights": lambda c: c.weights(),
    "load": lambda c: c.load(["e31", "e35"]),
    "get": lambda c: c.get("e35"),
    "ids_beginning": lambda c: c._ids_beginning("e3"),
    "entries": lambda c: c.entries(limit=3),
    "all entries": lambda c: c.entries({"domain": "alpha"}, limit=None),
    "count": lambda c: c.count(),
    "facets": lambda c: c.facets("attrs.n"),
    "history": lambda c: c.history("changed"),
    "links": lambda c: c.links("e31"),
    "stats": lambda c: c.stats(),
    "status": lambda c: c.status(),
    "vectors": lambda c: c.vectors(["e31", "e32"]),
    "iteration": lambda c: list(c),
    "in": lambda c: "e31" in c,
    "add": lambda c: c.add(id="added", title="t"),
    "add_many": lambda c: c.add_many([{"id": "m1", "title": "t"}, {"id": "m2", "title": "u"}]),
    "update": lambda c: c.update("changed", title="other"),
    "update_many": lambda c: c.update_many({"id": "changed"}, domain="d"),
    "delete": lambda c: c.delete("none"),
    "forget": lambda c: c.forget("none"),
    "remember": lambda c: c.remember("kept", id="kept"),
    "supersede": lambda c: c.supersede("m1", {"id": "m3", "title": "new"}),
    "reinstate": lambda c: c.reinstate("m1"),
    "link": lambda c: c.link("e31", "e32"),
    "link_many": lambda c: c.link_many([("e31", "e32")]),
    "unlink": lambda c: c.unlink("e31", "e32"),
    "feedback": lambda c: c.feedback("vault", "e31", "accepted"),
}
#: What a federation of a vault here and one there must answer, whatever the one there says.
READS = {
    "search": lambda f: f.search("vault search", limit=5),
    "search vector": lambda f: f.search("vault", query_vector=VECTOR, limit=5),
    "search diversity": lambda f: f.search("vault", query_vector=VECTOR, diversity=0.4, limit=5),
    "search groups": lambda f: f.search("vault", group_by="parent", facets=["domain", "tags"], limit=5),
    "search page": lambda f: f.search("vault", limit=4, offset=8),
    "search in time": lambda f: f.search("vaul", timeout_s=1.0, limit=5),
    "search memories": lambda f: f.search("vault", include_memories=True, profile="markdown-memory"),
    "search planned": lambda f: f.search("vault", profile="planned-retrieval", query_vector=VECTOR),
    "search scan": lambda f: f.search("vault", mode="scan", kinds="memory"),
    "search_many": lambda f: f.search_many(["vault", "search index"], limit=3, threads=1),
    "recall": lambda f: f.recall("vault", limit=4),
    "explain": lambda f: f.explain("vault search", "e31"),
    "similar": lambda f: f.similar("e31", limit=4),
    "similar text": lambda f: f.similar(text="vault", limit=4),
    "weights": lambda f: f.weights(),
    "entries": lambda f: f.entries(order_by=("title", "desc"), limit=6),
    "entries by time": lambda f: f.entries({"severity": "critical"}, order_by="valid_until", limit=None),
    "count": lambda f: f.count({"domain": "alpha"}),
    "facets": lambda f: f.facets("attrs.n"),
    "facets by day": lambda f: f.facets("created_at", by="day"),
    "load": lambda f: f.load(["e31", "e100"]),
    "links": lambda f: f.links("e31"),
    "stats": lambda f: f.stats(),
    "vectors": lambda f: f.vectors(["e31", "e100"]),
    "ids_beginning": lambda f: f._ids_beginning("e3"),
    "iteration": lambda f: list(f),
    "in": lambda f: "e31" in f,
}
ASYNC = {"search": lambda c: c.search("vault search", limit=4), "iteration": lambda c: _all(c)}


async def _all(client):
    return [entry async for entry in client]


async def _asked(url, call):
    async with AsyncClient(url, token=TOKEN, timeout_s=TIMEOUT_S) as client:
        return await call(client)


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("near") / "n.db", clock=lambda: 2e9) as vault:
        yield filled(vault, 40)


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("far") / "f.db", clock=lambda: 2e9) as vault:
        vault.add(id="changed", title="first")
        vault.update("changed", title="second")
        yield filled(vault, 90, 30, seed=2)


@pytest.fixture(scope="module")
def recorded(near, far):
    """The right answers of each operation, and of each that a federation reads, with what it makes of them."""
    with serving(far, token=TOKEN) as url:
        transport = Recording()
        found = {}
        with Client(url, token=TOKEN, transport=transport) as client:
            for name, call in CLIENT.items():
                call(client)
                found["client", name] = transport.take()
        for name, call in READS.items():
            with Client(url, token=TOKEN, transport=transport) as client:
                call(Federation({"near": near, "far": client}, {"far": 2.0}, clock=lambda: 2e9))
                found["federation", name] = transport.take()
        for name in ASYNC:
            found["async", name] = found["client", name]
    assert all(found.values())
    return found


@pytest.fixture(scope="module")
def server():
    with Lying() as server:
        yield server


@pytest.fixture
def campaign(server, near, recorded, monkeypatch):
    """What is tried of one client: another one each time would make its TLS context each time."""
    for module in ("blocking", "asynchronous"):
        monkeypatch.setattr(f"septet.client.{module}.RETRIES", (0.001, 0.002))
    with Client(server.url, token=TOKEN, timeout_s=TIMEOUT_S) as client:
        yield lambda: Campaign(server, near, recorded, client)


@pytest.fixture
def patient(server, near, recorded):
    """The same with a client that waits for right answers, however busy the machine is."""
    with Client(server.url, token=TOKEN) as client:
        yield Campaign(server, near, recorded, client)


def used(found):
    """Read a result as those who have it do."""
    repr(found), str(found)
    if isinstance(found, (list, tuple)):
        for one in found:
            used(one)
    elif hasattr(found, "to_dict"):
        json.dumps(found.to_dict()).encode()
    elif isinstance(found, dict):
        json.dumps(found).encode()
    if is_dataclass(found) and hasattr(found, "_repr_html_"):
        found._repr_html_()
    for hit in getattr(found, "hits", ()):
        repr(hit), hit.matches, hit.excerpt(60), hit.citation
    if hasattr(found, "to_prompt"):
        found.to_prompt().encode()
    if hasattr(found, "to_dicts"):
        found.to_dicts()


def notes_of(found):
    return [*getattr(found, "notes", ()), *(one.error for one in getattr(found, "tiers", ()) if hasattr(one, "error"))]


def whole(error):
    """Everything that an error says, those it comes from too."""
    said, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        said += [
            repr(error),
            str(error),
            repr(error.args),
            "".join(traceback.format_exception_only(type(error), error)),
        ]
        said.append(repr({k: v for k, v in vars(error).items() if k != "fault"}))
        error = error.__cause__ or error.__context__
    return "\n".join(said)


def says_it(text):
    import base64

    return any(form in text for form in (TOKEN, TOKEN[::-1], base64.b64encode(TOKEN.encode()).decode()))


class Campaign:
    def __init__(self, server, near, recorded, client):
        self.server, self.near, self.recorded, self.client = server, near, recorded, client
        self.faults, self.raised, self.tried = [], 0, 0

    def take(self, face, name, seed):
        chance = random.Random(f"{face} {name} {seed}")
        answers = self.recorded[face, name]
        wrong = chance.randrange(len(answers))
        how, response = changed(answers[wrong].body, chance, TOKEN)
        self.server.tell(answers, wrong, response)
        self.tried += 1
        began, fault = time.monotonic(), None
        try:
            found = self.asked(face, name)
            used(found)
            if says_it("\n".join(map(str, notes_of(found)))):
                fault = "a note says the token"
        except SeptetError as error:
            self.raised += 1
            text = whole(error)
            if says_it(text):
                fault = f"{type(error).__name__} says the token"
            elif not str(error).strip() or len(str(error)) > 3_000 or not str(error).isprintable():
                fault = f"{type(error).__name__} has a message of {len(str(error))} characters: {str(error)[:80]!a}"
            elif face == "federation":
                fault = f"the vault here did not answer: {type(error).__name__}: {str(error)[:120]!a}"
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, pytest.fail.Exception)):
                raise
            at = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"{type(error).__name__}: {str(error)[:100]!a} at {at.filename[-40:]}:{at.lineno}"
        if (took := time.monotonic() - began) > MOST_S:
            fault = fault or f"took {took:.1f} s"
        if fault:
            self.faults.append(f"{face} {name} #{seed} [{answers[wrong].key} {how}]: {fault}")

    def asked(self, face, name):
        if face == "async":
            return asyncio.run(_asked(self.server.url, ASYNC[name]))
        if face == "client":
            return CLIENT[name](self.client)
        # As that of a client that has asked nothing yet.
        self.client._mirror = None
        return READS[name](Federation({"near": self.near, "far": self.client}, {"far": 2.0}, clock=lambda: 2e9))


@pytest.mark.parametrize("part", range(PARTS))
def test_a_wrong_answer_ends_in_a_result_or_an_error_of_septet(campaign, recorded, part):
    tried, asked = campaign(), list(recorded)
    for number in range(part, COUNT, PARTS):
        face, name = asked[number // PARTS % len(asked)]
        tried.take(face, name, number)
    assert tried.raised > tried.tried // 8
    assert not tried.faults, "\n".join([f"{len(tried.faults)} faults of {tried.tried}", *tried.faults[:40]])


@pytest.mark.parametrize("face", ["client", "federation"])
def test_the_recorded_answers_are_right_and_those_of_a_next_version_are_read_alike(patient, server, recorded, face):
    for (kind, name), answers in recorded.items():
        if kind != face:
            continue
        found = []
        more = [
            one._replace(body=json.dumps(with_more_fields(json.loads(one.body))).encode())
            for one in answers
            if name != "add_many"
        ]
        for told in (answers, more or answers):
            server.tell(told, -1, response_of(b""))
            found.append(patient.asked(face, name))
        assert plain(found[0]) == plain(found[1]), name


def plain(found):
    """A result without times, and without what only a later version says."""
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    found = found.to_dict() if hasattr(found, "to_dict") else found
    if not isinstance(found, dict):
        return repr(found)
    return {name: plain(one) for name, one in found.items() if name not in ("took_ms", "of_a_next_version")}
