"""The server over streamable HTTP, as a part of another ASGI application."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from septet.mcp.protocol import make_server
from septet.service.tools import MOST_BODY

if TYPE_CHECKING:
    from septet.service.served import Served

__all__ = ["MOST_BODY", "McpApp", "mcp_app"]


class McpApp(NamedTuple):
    """What another application mounts.

    Attributes:
        app: answers every request that reaches it. It checks no token, host or origin: who mounts it does.
        running: to be entered, once, before the first request, and left after the last one.
    """

    app: Callable[..., Any]
    running: Callable[[], AbstractAsyncContextManager[None]]


def mcp_app(served: Served, *, documented_names: bool = False) -> McpApp:
    """Return the server of a memory as an ASGI application for one path.

    Args:
        served: the memory; it stays open.
        documented_names: see `septet.service.tools.tools_of`.
    """
    manager = StreamableHTTPSessionManager(
        make_server(served, documented_names=documented_names),
        max_request_body_size=MOST_BODY,
        # Nothing is kept between requests, so clients that go without a word leave nothing behind; and an answer is
        # one JSON value, since the server has nothing to say before it.
        stateless=True,
        json_response=True,
    )
    return McpApp(manager.handle_request, manager.run)
