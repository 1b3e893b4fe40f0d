"""Chat completions in OpenAI's shape, by a function of what the user says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from embedding_server.parts import Reply, Request, Route, error, route

if TYPE_CHECKING:
    from embedding_server.server import EmbeddingServer


def completion(content: Any, *, finish_reason: str = "stop") -> Reply:
    """Return a chat completion with this content."""
    message = {"role": "assistant", "content": content}
    return Reply(
        content={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 80, "completion_tokens": 20, "total_tokens": 100},
        }
    )


def chat(answer: Callable[[str], Any]) -> Route:
    """Return the route of chat completions; keys count where the server has any."""

    @route("POST", r"(/v1|/api/v1|/v1beta/openai)/chat/completions", "openai")
    def complete(server: EmbeddingServer, request: Request, _: re.Match[str]) -> Reply:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if server.keys and key not in server.keys:
            # A careless server says the whole key back.
            return error("openai", 401, f"Incorrect API key provided: {key}.", code="invalid_api_key")
        system, user = request.json()["messages"]
        assert (system["role"], user["role"]) == ("system", "user")
        said = answer(user["content"])
        return said if isinstance(said, Reply) else completion(said)

    return complete
