"""What belongs into a prompt is the same over HTTP, for asyncio, and where a tier is on a server."""

import asyncio
import re

import pytest

pytest.importorskip("uvicorn")

from remote import QUERIES, VECTOR, filled
from septet import AsyncClient, AsyncVault, Client, Federation, QueryError, Vault
from serving import serving

OPTIONS = [
    {},
    {"max_tokens": 200},
    {"min_confidence": 0, "include_memories": False},
    {"where": {"attrs.n": {"$gt": 10}}, "kinds": ["entry"]},
    {"domain": "alpha", "profile": "conversation"},
    {"query_vector": VECTOR, "timeout_s": 20},
    {"profile": {"extends": "septet", "name": "mine", "cuts": {"limit": 5}}, "as_of": 1.9e9},
]


def marked(vault, prefix):
    filled(vault)
    vault.add(id=f"{prefix}-pin", title=f"Run the linter {prefix}", tags=["always"])
    vault.add(id=f"{prefix}-name", title="A store", tags=["alias:vault search"])
    return vault


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("context") / "v.db", clock=lambda: 2e9) as opened:
        yield marked(opened, "a")


@pytest.fixture(scope="module")
def url(vault):
    with serving(vault) as url:
        yield url


def plain(context):
    """A context without its random boundary."""
    told = context.to_dict()
    return {**told, "text": re.sub("[0-9a-f]{16}", "KEY", told["text"])}, [item.hit for item in context.items]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("query", [*QUERIES, ""])
def test_a_context_is_the_same_over_http_and_for_asyncio(vault, url, query, options):
    wanted = plain(vault.context(query, **options))
    with Client(url) as client:
        assert plain(client.context(query, **options)) == wanted

    async def ask():
        async with AsyncClient(url) as client, AsyncVault(vault.path, clock=lambda: 2e9) as twin:
            return [await memory.context(query, **options) for memory in (client, twin)]

    assert [plain(context) for context in asyncio.run(ask())] == [wanted, wanted]


@pytest.mark.parametrize("query", ["vault search", "alpha beta", "プロジェクト"])
def test_a_context_is_the_same_where_a_tier_is_on_a_server(vault, url, query):
    with Vault(":memory:", clock=lambda: 2e9) as own:
        # So many texts with the words of the tags that a filter looks for these.
        own.add_many({"title": f"always an alias {number}"} for number in range(70))
        marked(own, "b")
        with Client(url) as client:
            here = Federation({"agent": own, "team": vault}, clock=lambda: 2e9).context(query)
            there = Federation({"agent": own, "team": client}, clock=lambda: 2e9).context(query)
    assert plain(there) == plain(here)
    assert [item.code for item in here.items[:2]] == ["pinned", "pinned"]


def test_a_client_refuses_what_a_vault_refuses(url):
    with Client(url) as client:
        for wrong in ({"max_tokens": 0}, {"min_confidence": 2}, {"where": {"nothing": 1}}):
            with pytest.raises(QueryError):
                client.context("ducks", **wrong)
        with pytest.raises(TypeError):
            client.context("ducks", limit=3)
