"""A server whose searches ask the memory of another program first, as its configuration says."""

import asyncio
from contextlib import ExitStack, contextmanager

import pytest

from septet import Client, Vault
from septet.errors import TierError
from septet.service.configuration import configuration_of
from septet.service.opening import opened
from serving import ask, serving

TOKEN = "s3cret-of-the-wiki"


@contextmanager
def other_server(folder):
    with Vault(folder / "other.db") as made:
        made.add(id="theirs", title="crop rotation, a guide")
        with serving(made, tokens={TOKEN: "read"}) as url:
            yield url


@pytest.fixture
def written(tmp_path):
    """Write a configuration of one vault and what else it says."""
    with Vault(tmp_path / "own.db") as made:
        made.add(id="own", title="crop rotation at home")
    (tmp_path / "token").write_text(TOKEN)

    def write(more, tiers='[tiers.agent]\npath = "own.db"\n'):
        path = tmp_path / "septet.toml"
        path.write_text(f"{tiers}[external]\n{more}\n", encoding="utf-8")
        return path

    return write


def test_searches_ask_the_other_memory_and_the_vault_while_that_one_fails(tmp_path, written):
    with ExitStack() as other:
        theirs = other.enter_context(other_server(tmp_path))
        config = written(f'url = "{theirs}"\nname = "wiki"\ntoken_file = "token"\nrest_s = 0')
        with opened(config=config) as served, serving(served) as url, Client(url) as client:
            found = client.search("crop rotation")
            assert [(hit.id, hit.tier) for hit in found] == [("theirs", "wiki")] and not found.notes
            by_address = ask.get(f"{url}v1/search", params={"q": "crop rotation"}).json()
            assert [hit["id"] for hit in by_address["hits"]] == ["theirs"]
            filtered = client.search("crop rotation", where={"domain": "general"})
            assert filtered.ids == ["own"]
            assert [note.code for note in filtered.notes] == ["external_failed"]
            # What is read and written by id is the vault's.
            assert client.get("own").title == "crop rotation at home" and client.get("theirs") is None
            other.close()
            alone = client.search("crop rotation")
            assert alone.ids == ["own"] and [note.code for note in alone.notes] == ["external_failed"]
            assert TOKEN not in str(alone.notes)


def test_agents_ask_it_too(tmp_path, written):
    mcp = pytest.importorskip("mcp")
    from septet.mcp.protocol import make_server

    async def found(served):
        async with mcp.Client(make_server(served)) as client:
            return (await client.call_tool("search", {"query": "crop rotation"})).content[0].text

    with other_server(tmp_path) as theirs:
        config = written(f'url = "{theirs}"\ntoken_file = "token"')
        with opened(config=config) as served:
            said = asyncio.run(found(served))
    assert "theirs" in said and "crop rotation at home" not in said


def test_a_file_without_tiers_may_name_it(written, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    found = configuration_of(written('url = "https://search.example.org"', tiers=""))
    assert "agent" in found.tiers and found.external.url == "https://search.example.org"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('url = "postgresql://a/b"', "https:// or http://"),
        ('name = "wiki"', "url"),
        ('url = "https://a.example"\nprofile = "septet"', "profile"),
        ('url = "https://a.example"\ntimeout_s = 0', "timeout_s"),
        ('url = "https://a.example"\ntoken_env = "A"\ntoken_file = "b"', "either token_env or token_file"),
    ],
)
def test_a_wrong_block_is_named_with_its_field(written, more, said):
    with pytest.raises(TierError, match=said) as fault:
        configuration_of(written(more))
    assert "external" in str(fault.value)


def test_the_users_file_counts_for_one_vault(tmp_path, written, monkeypatch):
    folder = tmp_path / "config" / "septet"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("WIKI_TOKEN", TOKEN)
    written("")
    with other_server(tmp_path) as theirs:
        (folder / "config.toml").write_text(f'[external]\nurl = "{theirs}"\ntoken_env = "WIKI_TOKEN"\n')
        with opened(tmp_path / "own.db") as served, serving(served) as url, Client(url) as client:
            assert client.search("crop rotation").ids == ["theirs"]
