"""The rules for trying again, with a clock that only moves when somebody waits."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from email.utils import formatdate

import httpx
import pytest

from septet import EmbeddingConfigError, EmbeddingRefused, EmbeddingUnavailable
from septet.embedding import OpenAIEmbedder
from septet.net.calls import Call
from septet.net.client import IO

NOW = 1_760_000_000.0
Answer = Callable[[httpx.Request], httpx.Response]


class World:
    """A provider with scripted answers, and a clock that waits move; answers cost `answer_s`."""

    def __init__(self, *answers: Answer, random: float = 0.5, answer_s: float = 0.0) -> None:
        self.answers = list(answers)
        self.keys: list[str] = []
        self.waits: list[float] = []
        self.time = 0.0
        self.answer_s = answer_s
        self.outside = IO(
            clock=lambda: self.time,
            now=lambda: NOW + self.time,
            sleep=self._sleep,
            asleep=self._asleep,
            random=lambda: random,
            transport=httpx.MockTransport(self._answer),
        )

    def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    async def _asleep(self, seconds: float) -> None:
        self._sleep(seconds)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.time += self.answer_s
        self.keys.append(request.headers["authorization"].removeprefix("Bearer "))
        return (self.answers.pop(0) if self.answers else good)(request)

    def embedder(self, *keys: str, **fields) -> OpenAIEmbedder:
        fields.setdefault("dimensions", 2)
        return OpenAIEmbedder(api_keys=keys or ["k1"], outside=self.outside, environment={}, **fields)


def good(request: httpx.Request) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    return httpx.Response(200, json={"data": [{"index": i, "embedding": [3, 4]} for i in range(len(texts))]})


def status(code: int, body: object = None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: httpx.Response(code, json=body or {"error": {"message": "no"}}, headers=named)


def broken(error: type[httpx.RequestError]) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error("it broke", request=request)

    return answer


QUOTA = status(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})


@pytest.mark.parametrize("random", [0.0, 0.25, 1.0])
def test_waits_double_and_are_jittered_by_a_tenth(random):
    world = World(status(500), status(503), random=random)
    world.embedder().embed(["x"])
    assert world.waits == pytest.approx([0.9 + 0.2 * random, 1.8 + 0.4 * random])


@pytest.mark.parametrize("random", [0.0, 1.0])
def test_nobody_comes_back_earlier_than_asked(random):
    world = World(status(429, retry_after="10"), random=random)
    world.embedder().embed(["x"])
    assert world.waits == pytest.approx([10.0 + random])


def test_a_wait_may_be_given_as_a_date():
    world = World(status(503, retry_after=formatdate(NOW + 12, usegmt=True)), random=0.0)
    world.embedder().embed(["x"])
    assert world.waits == pytest.approx([12.0])


@pytest.mark.parametrize("hint", ["soon", "-5", "nan", "1e9999", "Wed, 99 Foo 2026 00:00:00 GMT"])
def test_a_wait_that_cannot_be_read_is_the_ordinary_one(hint):
    world = World(status(503, retry_after=hint))
    world.embedder().embed(["x"])
    assert world.waits == [1.0]


def test_a_date_that_has_passed_means_at_once():
    world = World(status(503, retry_after=formatdate(NOW - 100, usegmt=True)))
    world.embedder().embed(["x"])
    assert world.waits == [0.0]


def test_a_wait_of_an_hour_is_not_waited_for():
    world = World(status(429, retry_after="3600"))
    with pytest.raises(EmbeddingUnavailable, match="the next would be in 3780 s, which is too late") as raised:
        world.embedder().embed(["x"])
    assert raised.value.status == 429
    assert world.waits == []


def test_the_provider_may_say_itself_whether_to_try_again():
    world = World(status(500, x_should_retry="false"))
    with pytest.raises(EmbeddingRefused, match="500"):
        world.embedder().embed(["x"])
    world = World(status(400, x_should_retry="true"))
    world.embedder().embed(["x"])
    assert world.waits == [1.0]


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529, 599])
def test_these_statuses_pass(code):
    world = World(status(code), status(code))
    world.embedder().embed(["x"])
    assert world.waits == [1.0, 2.0]


@pytest.mark.parametrize("code", [301, 400, 401, 402, 403, 404, 405, 413, 422])
def test_these_statuses_are_final(code):
    world = World(status(code))
    with pytest.raises(EmbeddingRefused, match=f"openai answered {code}: no") as raised:
        world.embedder().embed(["x"])
    assert raised.value.status == code
    assert world.waits == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx.ConnectError, "openai cannot be reached: it broke"),
        (httpx.ReadError, "openai broke off: ReadError: it broke"),
        (httpx.RemoteProtocolError, "openai broke off"),
        (httpx.ReadTimeout, "openai gave no answer within 60 s"),
        (httpx.ConnectTimeout, "openai gave no answer within 60 s"),
        (httpx.PoolTimeout, "openai gave no answer within 60 s"),
        (httpx.DecodingError, "openai broke off"),
    ],
)
def test_broken_connections_are_tried_again_and_say_what_broke(error, said):
    world = World(broken(error), broken(error))
    world.embedder().embed(["x"])
    assert world.waits == [1.0, 2.0]
    world = World(*[broken(error)] * 3)
    with pytest.raises(EmbeddingUnavailable, match=said):
        world.embedder().embed(["x"])


def test_the_time_that_is_set_covers_attempts_and_waits():
    world = World(status(503), status(503), answer_s=1.0)
    with pytest.raises(EmbeddingUnavailable, match="too late"):
        world.embedder().embed(["x"], timeout_s=3.0)
    assert world.waits == [1.0]
    assert world.time == 3.0


def test_several_requests_share_the_time_that_is_set():
    world = World(answer_s=1.0)
    with pytest.raises(EmbeddingUnavailable, match="no answer within the time allowed") as raised:
        world.embedder(batch_size=1).embed(["a", "b", "c", "d"], timeout_s=2.5)
    assert len(raised.value.rows) == 3


def test_a_rate_limit_moves_on_to_the_next_key_and_stays_there():
    world = World(status(429, retry_after="40"))
    one = world.embedder("k1", "k2")
    one.embed(["x"])
    one.embed(["y"])
    assert world.keys == ["k1", "k2", "k2"]
    # The wait that was asked for belongs to the first key; the second starts after the ordinary back-off.
    assert world.waits == [1.0]


def test_when_every_key_is_limited_the_wait_is_the_providers():
    world = World(status(429, retry_after="40"), status(429, retry_after="20"), random=0.0)
    world.embedder("k1", "k2").embed(["x"])
    assert world.waits == pytest.approx([0.9, 20.0])
    assert world.keys == ["k1", "k2", "k2"]


def test_a_key_that_failed_three_times_is_left_alone_for_half_a_minute():
    world = World(*[status(429)] * 3)
    one = world.embedder("k1")
    with pytest.raises(EmbeddingUnavailable):
        one.embed(["x"])
    ring = one.client.context.keys
    only = ring.take()
    assert only is not None and only.breaker.is_open
    assert only.breaker.remaining_s == 30.0
    one.embed(["x"])
    assert not only.breaker.is_open


def test_an_unhealthy_key_is_passed_over_until_it_has_cooled_down():
    world = World(*[status(429)] * 6)
    one = world.embedder("k1", "k2", "k3")
    for _ in range(2):
        with pytest.raises(EmbeddingUnavailable):
            one.embed(["x"])
    assert world.keys == ["k1", "k2", "k3"] * 2
    world.answers = [status(429)]
    one.embed(["x"])
    # The third failure in a row: k1 rests, and the ring goes round without it.
    world.answers = [status(429), status(429)]
    one.embed(["x"])
    assert world.keys[6:] == ["k1", "k2", "k2", "k3", "k2"]
    world.time += 30.0
    world.answers = [status(429)]
    one.embed(["x"])
    assert world.keys[11:] == ["k2", "k3"]


def test_a_spent_key_does_not_cost_an_attempt():
    world = World(QUOTA, status(500), status(500))
    world.embedder("k1", "k2").embed(["x"])
    assert world.keys == ["k1", "k2", "k2", "k2"]
    assert world.waits == [1.0, 2.0]


def test_the_same_key_twice_is_one_key():
    world = World(QUOTA)
    with pytest.raises(EmbeddingRefused, match="no quota left"):
        world.embedder("k1", "k1").embed(["x"])
    assert world.keys == ["k1"]


def test_waits_and_attempts_are_the_same_in_an_event_loop():
    world = World(status(500), broken(httpx.ReadTimeout), random=0.0)

    async def ask():
        one = world.embedder()
        rows = await one.aembed(["x"], timeout_s=60)
        await one.aclose()
        return rows

    assert asyncio.run(ask())[0] == pytest.approx([0.6, 0.8])
    assert world.waits == pytest.approx([0.9, 1.8])


def test_the_time_that_is_set_ends_an_event_loops_wait():
    world = World(status(503, retry_after="50"))

    async def ask():
        await world.embedder().aembed(["x"], timeout_s=3)

    with pytest.raises(EmbeddingUnavailable, match="too late"):
        asyncio.run(ask())


def test_a_request_larger_than_a_minute_allows_is_halved_and_not_waited_for():
    said = "Request too large for text-embedding-3-small on tokens per min (TPM): Limit 40000, Requested 90000."
    world = World(status(429, {"error": {"message": said, "code": "rate_limit_exceeded"}}, retry_after="60"))
    assert len(world.embedder().embed(["a", "b", "c"])) == 3
    assert (len(world.keys), world.waits) == (3, [])


def test_a_body_that_trickles_is_given_up():
    def trickle():
        while True:
            world.time += 50.0
            yield b"{"

    world = World(*[lambda request: httpx.Response(200, content=trickle())] * 3)
    with pytest.raises(EmbeddingUnavailable, match="no answer within 60 s"):
        world.embedder().embed(["x"])


def test_batch_jobs_send_their_own_calls_by_the_same_rules():
    world = World(status(500), status(200, {"id": "file-1"}))
    answer = world.embedder().client.send(Call("GET", "https://api.openai.com/v1/files/file-1"))
    assert (answer.status, json.loads(answer.body)) == (200, {"id": "file-1"})
    assert world.waits == [1.0]


SECRET = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    "answer",
    [
        status(401, {"error": {"message": f"Incorrect API key provided: {SECRET}"}}),
        status(400, {"detail": f"bad {SECRET}"}),
        status(500, {"message": f"crashed with {SECRET}"}),
        lambda request: httpx.Response(502, text=f"upstream said {SECRET}"),
        broken(httpx.ConnectError),
        lambda request: httpx.Response(200, text="<html>"),
        lambda request: httpx.Response(200, json={"data": []}),
    ],
    ids="401 400 500 text network html count".split(),
)
def test_a_key_shows_in_no_error_repr_or_log(answer, caplog):
    world = World(*[answer] * 3)
    one = world.embedder(SECRET)
    with (
        caplog.at_level(logging.DEBUG),
        pytest.raises((EmbeddingRefused, EmbeddingUnavailable)) as raised,
    ):
        one.embed(["x"])
    error = raised.value
    shown = [str(error), repr(error), repr(error.__dict__), repr(one), repr(one.client), repr(one.client.context)]
    assert SECRET not in " ".join([*shown, caplog.text])
    # Nothing behind the error that a traceback would print, and that may hold the request.
    assert error.__cause__ is None and error.__context__ is None


def test_an_error_in_the_thread_of_a_timed_call_is_raised_as_it_is():
    with pytest.raises(EmbeddingConfigError, match="not one str"):
        World().embedder().embed("a text", timeout_s=5)
