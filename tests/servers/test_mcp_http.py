"""The server over streamable HTTP, mounted in an ASGI application, asked by the SDK's own client over a socket."""

import asyncio
import socket
from contextlib import asynccontextmanager, nullcontext

import httpx
import pytest
import uvicorn

pytest.importorskip("mcp")

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Mount

from septet import Vault
from septet.mcp.protocol import mcp_app
from septet.service.served import Served
from septet.service.tools import MOST_BODY
from serving import serving


@asynccontextmanager
async def listening(vault):
    """Serve a vault at a free port of this machine, and yield the address."""
    served = Served(vault)
    mounted = mcp_app(served)

    @asynccontextmanager
    async def lifespan(_):
        async with mounted.running():
            yield

    app = Starlette(routes=[Mount("/mcp", app=mounted.app)], lifespan=lifespan)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        # Signals are those of the tests.
        server.capture_signals = nullcontext
        running = asyncio.ensure_future(server.serve([bound]))
        try:
            while not server.started:
                await asyncio.sleep(0.01)
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp/"
        finally:
            server.should_exit = True
            await running
            await served.aclose()


@pytest.fixture
def vault():
    with Vault(":memory:") as vault:
        vault.add(title="Retry with backoff", description="Wait longer after each failure.", id="r1")
        yield vault


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_lists_and_calls_the_tools_over_a_socket(vault, mode):
    async def main():
        async with listening(vault) as url, mcp.Client(url, mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            await client.call_tool("remember", {"text": "Staging retries three times."})
            found = await client.call_tool("search", {"query": "retry"})
            wrong = await client.call_tool("search", {"query": 3})
            many = await asyncio.gather(*(client.call_tool("load", {"ids": ["r1"]}) for _ in range(20)))
            return tools, found, wrong, many

    tools, found, wrong, many = asyncio.run(main())
    assert len(tools) == 8
    assert "r1" in [hit["id"] for hit in found.structured_content["hits"]]
    assert wrong.content[0].text.startswith("error invalid_request: query: ")
    assert not any(result.is_error for result in many)


def test_what_is_no_message_or_too_large_is_refused(vault):
    async def main():
        async with listening(vault) as url, httpx.AsyncClient() as client:
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            answers = [
                await client.post(url, content=content, headers=headers)
                for content in (b"no json", b"[" * 10_000, b"x" * (MOST_BODY + 1))
            ]
            return [answer.status_code for answer in answers]

    statuses = asyncio.run(main())
    assert statuses[2] == 413
    assert all(400 <= status < 500 for status in statuses)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_http_server_has_it_behind_its_token(vault, mode):
    token = "t" * 32

    async def main(url):
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as sender,
            mcp.Client(streamable_http_client(url, http_client=sender), mode=mode) as client,
        ):
            return (await client.call_tool("search", {"query": "retry"})).structured_content

    with serving(vault, token=token) as url:
        assert httpx.post(f"{url}mcp", json={}).status_code == 401
        assert httpx.post(f"{url}mcp", json={}, headers={"Host": "evil.example"}).status_code == 403
        found = asyncio.run(main(f"{url}mcp"))
    assert [hit["id"] for hit in found["hits"]] == ["r1"]
