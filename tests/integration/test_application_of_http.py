"""The application of HTTP in a program: it bounds bodies, places and deadlines whatever runs it."""

import asyncio
from threading import Event

import httpx
import pytest

pytest.importorskip("starlette")

from septet import Vault
from septet.server.app import make_app
from septet.server.exchange import ClientDisconnected
from septet.server.room import MOST_SPOOLED, Room, Spool
from septet.server.settings import Settings
from septet.service.served import Served


class Gated(Vault):
    """A vault whose searches wait for a gate."""

    def search(self, *given, **named):
        self.begun.set()
        assert self.gate.wait(30)
        return super().search(*given, **named)


@pytest.fixture
def vault():
    with Gated(":memory:") as vault:
        vault.begun, vault.gate = Event(), Event()
        yield vault
        vault.gate.set()


def asked(vault, talk, **settings):
    async def main():
        app = make_app(Served(vault), Settings(**settings))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await talk(client)

    return asyncio.run(main())


def code_of(answer):
    return answer.status_code, answer.json()["error"]["code"]


def test_the_application_refuses_a_body_that_is_too_large_or_does_not_come(vault):
    async def slow():
        yield b'{"query": '
        await asyncio.sleep(30)

    async def talk(client):
        large = await client.post("/v1/search", content=b"x" * 200)
        return large, await client.post("/v1/search", content=slow())

    large, late = asked(vault, talk, max_body=100, body_s=0.1)
    assert (code_of(large), code_of(late)) == ((413, "too_large"), (408, "too_slow"))


def test_the_application_ends_a_request_at_its_deadline(vault):
    async def talk(client):
        answer = await client.post("/v1/search", json={"query": "x"})
        vault.gate.set()
        return answer

    assert code_of(asked(vault, talk, deadline_s=0.1)) == (504, "deadline")


def test_the_application_sends_away_what_is_beyond_its_places(vault):
    async def talk(client):
        first = asyncio.ensure_future(client.post("/v1/search", json={"query": "x"}))
        while not vault.begun.is_set():
            await asyncio.sleep(0.01)
        second = await client.get("/v1/stats")
        vault.gate.set()
        return await first, second

    first, second = asked(vault, talk, most_requests=1)
    assert first.status_code == 200
    assert code_of(second) == (503, "overloaded") and second.headers["retry-after"] == "1"


def test_answers_to_lines_of_all_clients_share_a_room_and_the_slowest_gives_way():
    async def main():
        room, lost = Room(100_000), []
        first, second, third = (
            Spool(room, lambda name=name: lost.append(name)) for name in ("first", "second", "third")
        )
        taken = first.pieces()
        await first.write(b"x" * 60_000)
        await second.write(b"x" * 30_000)
        # Its client was given a piece, and has not come back for another one.
        assert await anext(taken) == b"x" * 60_000
        await third.write(b"x" * 60_000)
        with pytest.raises(ClientDisconnected):
            await anext(taken)
        pieces = second.pieces()
        kept = await anext(pieces)
        await pieces.aclose()
        for spool in (first, second, third):
            spool.close()
        return lost, len(kept), room.taken

    assert asyncio.run(main()) == (["first"], 30_000, 0)
    assert MOST_SPOOLED == 256 * 2**20
