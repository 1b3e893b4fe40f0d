"""What can go wrong, as values for `EmbeddingServer.script`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from embedding_server.parts import Fault, Reply, error

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


def fine(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Answer as if nothing was scripted: for a fault that comes later."""
    return answer()


def status(code: int, message: str = "told to fail", *, kind: str | None = None, **headers: str) -> Fault:
    """Answer with a status, in the provider's shape; underscores in the names of headers are dashes."""
    return lambda provider, answer: error(provider, code, message, code=kind, **headers)


def retry_info(delay: str) -> Fault:
    """Answer 429 as Gemini does: the wait stands in the body."""
    details = [{"@type": RETRY_INFO, "retryDelay": delay}]
    said = "You exceeded your current quota."
    return lambda provider, answer: error("gemini", 429, said, code="RESOURCE_EXHAUSTED", details=details)


QUOTA = status(429, "You exceeded your current quota, please check your plan.", kind="insufficient_quota")


def html(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Answer 200 with the page of a proxy."""
    return Reply(200, b"<!DOCTYPE html><title>Sign in</title>", {"content-type": "text/html; charset=utf-8"})


def half_json(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Answer with a body that is whole for HTTP and half for JSON."""
    kind, payload = answer().payload()
    return Reply(200, payload[: len(payload) // 2], {"content-type": kind})


def cut_body(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Break the connection off in the middle of the body."""
    return answer().but(sending="cut")


def slow_body(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Send half of the body, and nothing more until the server is closed."""
    return answer().but(sending="stalled")


def endless_body(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Send bytes as fast as they are taken, until the client hangs up or the server is closed."""
    return answer().but(sending="endless")


def trickling_body(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Send a byte now and then, until the client hangs up or the server is closed."""
    return answer().but(sending="trickling")


def no_answer(provider: str, answer: Callable[[], Reply]) -> Reply:
    """Close the connection without a word."""
    return Reply(sending="dropped")


def _on_rows(change: Callable[[list[Any]], list[Any]]) -> Fault:
    """Return a fault that changes the list of vectors, wherever a provider puts it."""

    def fault(provider: str, answer: Callable[[], Reply]) -> Reply:
        reply = answer()
        name = "data" if "data" in reply.content else "embeddings"
        return reply.but(content={**reply.content, name: change(reply.content[name])})

    return fault


def _values(row: Any) -> list[Any]:
    if isinstance(row, dict):
        found = row["embedding" if "embedding" in row else "values"]
        assert isinstance(found, list), "ask for vectors as numbers: base64 cannot be bent here"
        return found
    assert isinstance(row, list)
    return row


def _with(row: Any, values: list[Any]) -> Any:
    if isinstance(row, dict):
        return {**row, "embedding" if "embedding" in row else "values": values}
    return values


one_short = _on_rows(lambda rows: rows[:-1])
shuffled = _on_rows(lambda rows: rows[::-1])
shorter_vectors = _on_rows(lambda rows: [_with(row, _values(row)[:-1]) for row in rows])
uneven_vectors = _on_rows(lambda rows: [_with(rows[0], _values(rows[0])[:-1]), *rows[1:]])
nan_and_infinity = _on_rows(
    lambda rows: [*rows[:2], *(_with(row, [float("nan"), float("inf"), None, *_values(row)[3:]]) for row in rows[2:])]
)
all_nan = _on_rows(lambda rows: [_with(row, [float("nan")] * len(_values(row))) for row in rows])
