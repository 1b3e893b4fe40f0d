"""The MCP server over streamable HTTP, as an ASGI application to mount."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from septet.mcp.protocol import make_server
from septet.service.tools import MOST_BODY

if TYPE_CHECKING:
    from septet.service.served import Served


class McpApp(NamedTuple):
    """An ASGI application and its lifespan.

    Attributes:
        app: answers every request. The mounting application must check token, host and origin.
        running: a context manager to enter once, before the first request, and exit after the last.
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
        # Without sessions, a client that disconnects leaves no state. The server sends nothing before the response, so
        # one JSON value suffices.
        stateless=True,
        json_response=True,
    )
    return McpApp(manager.handle_request, manager.run)
