"""What holds connections belongs to one process: pickle and copy say so, and what to do instead."""

import asyncio
import copy
import multiprocessing
import pickle

import pytest

from septet import (
    AsyncClient,
    AsyncFederation,
    AsyncPostgresVault,
    AsyncVault,
    Client,
    Federation,
    PostgresVault,
    Vault,
)

BY_PATH = "open it in the other process by its path"
WAYS = {f"pickle {n}": lambda given, n=n: pickle.dumps(given, n) for n in range(6)}
WAYS |= {"copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.fixture(params=["Vault", "Federation", "Retriever", "Client"])
def made(request):
    with Vault(":memory:") as vault, Federation({"own": vault}) as both, Client("http://127.0.0.1:9") as client:
        yield {"Vault": vault, "Federation": both, "Retriever": vault.retriever(), "Client": client}[request.param]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_open_is_neither_pickled_nor_copied(made, way):
    with pytest.raises(
        TypeError, match=f"{type(made).__name__} is neither pickled nor copied: .* in the other process"
    ):
        WAYS[way](made)


def test_nor_is_what_asyncio_awaits():
    async def refused():
        async with AsyncVault(":memory:") as vault, AsyncClient("http://127.0.0.1:9") as client:
            retriever = await vault.retriever()
            async with AsyncFederation({"own": vault}) as both:
                for made in (vault, client, both, retriever):
                    with pytest.raises(TypeError, match=f"{type(made).__name__} is neither pickled nor copied: "):
                        pickle.dumps(made)

    asyncio.run(refused())


@pytest.mark.parametrize("kind", [PostgresVault, AsyncPostgresVault])
def test_nor_is_a_vault_on_a_server(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} is neither pickled nor copied: open it in the other process"):
        pickle.dumps(kind.__new__(kind))


def nothing(_vault):
    """What a worker would do."""


def test_a_worker_that_is_spawned_with_a_vault_is_told_to_open_it_by_its_path(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        worker = multiprocessing.get_context("spawn").Process(target=nothing, args=(vault,))
        with pytest.raises(TypeError, match=f"Vault is neither pickled nor copied: {BY_PATH}"):
            worker.start()


class ByPath(Vault):
    """A vault of a program that knows how to open it elsewhere."""

    def __reduce__(self):
        return ByPath, (self.path,)


def test_a_subclass_may_say_how_it_is_pickled(tmp_path):
    with ByPath(tmp_path / "v.db") as vault:
        vault.add(id="a", title="word")
        with pickle.loads(pickle.dumps(vault)) as again:
            assert again.get("a").title == "word"
