"""MCP behind the server of HTTP: the same tools, and the same guard."""

import asyncio

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("mcp")

from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from septet import Vault
from serving import ask, serving, until


def test_a_client_of_mcp_lists_and_calls_the_tools(tmp_path):
    async def talk(url):
        async with Client(streamable_http_client(f"{url}mcp")) as client:
            tools = await client.list_tools()
            found = await client.call_tool("search", {"query": "cookies"})
            return {tool.name for tool in tools.tools}, found

    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="Rotate session cookies")
        with serving(vault) as url:
            names, found = asyncio.run(talk(url))
            assert {"search", "load", "status"} <= names
            assert found.structured_content["hits"][0]["id"] == "a"
            until(lambda: url.app.running == 0)
            for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                assert ask.post(f"{url}mcp", json={}, headers=headers).status_code == 403


def test_mcp_wants_the_token_too(tmp_path):
    with Vault(tmp_path / "v.db") as vault, serving(vault, token="a token that nobody guesses") as url:
        assert ask.post(f"{url}mcp", json={}).status_code == 401
