"""A vault and a federation in asyncio: the same answers, and nothing on the loop's thread."""

import asyncio
import contextlib
import contextvars
import sys
import threading
from pathlib import Path

import pytest

import septet
from septet import AsyncFederation, AsyncVault, Federation, Vault
from septet.aio.workers import CHUNK, Workers
from septet.errors import Closed, EntryError, EntryNotFound, NotAVault, StoreError, TierError

PACKAGE = str(Path(septet.__file__).parent)
AIO = str(Path(PACKAGE) / "aio")
NATIVE = ("septet._core", "sqlite3", "_sqlite3")


@contextlib.contextmanager
def watched_thread():
    """What of Septet, of SQLite and of native code runs on this thread, apart from what hands work over."""
    seen = set()

    def note(frame, event, argument):
        if event == "call":
            name = frame.f_code.co_filename
            if name.startswith(PACKAGE) and not name.startswith(AIO):
                seen.add((name, frame.f_code.co_name))
        elif event == "c_call":
            module = getattr(argument, "__module__", None) or type(getattr(argument, "__self__", None)).__module__
            if module in NATIVE or argument is open:
                seen.add((module, argument.__name__))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def loaded():
    """Load what is loaded when it is first asked for, which happens once in a process."""
    with Vault(":memory:") as vault, Federation({"a": vault}) as both:
        vault.add(id="a", title="ducks swim", vector=[1.0, 0.0])
        vault.search("ducks", query_vector=[1.0, 0.0])
        vault.search_many(["ducks", "geese"])
        vault.explain("ducks", "a")
        both.search("ducks")
        vault.stats()


def test_the_answers_are_those_of_the_vault(tmp_path):
    async def ask():
        async with AsyncVault(tmp_path / "vault.db", clock=lambda: 1_000.0) as vault:
            assert await vault.add(id="a", title="ducks swim", vector=[1.0, 0.0]) == "a"
            assert await vault.add_many([{"id": "b", "title": "geese fly"}, {"title": "ducks fly too"}]) != []
            await vault.link("a", "b")
            await vault.feedback("ducks", "a", "accepted")
            found = await vault.search("ducks fly", query_vector=[1.0, 0.0], limit=2)
            many = await vault.search_many(["ducks", "geese"], limit=1)
            assert vault.path == str(tmp_path / "vault.db") or vault.path == tmp_path / "vault.db"
            return found.to_dict(), [one.ids for one in many], await vault.get("a"), (await vault.stats()).entries

    found, many, entry, entries = asyncio.run(ask())
    with Vault(tmp_path / "vault.db", clock=lambda: 1_000.0) as vault:
        own = vault.search("ducks fly", query_vector=[1.0, 0.0], limit=2).to_dict()
        assert found["hits"] == own["hits"] != []
        assert many == [one.ids for one in vault.search_many(["ducks", "geese"], limit=1)]
        assert entry == vault.get("a")
        assert entries == len(vault) == 3


def test_nothing_of_a_search_or_a_write_runs_on_the_thread_of_the_loop(tmp_path):
    loaded()

    async def ask():
        with watched_thread() as seen:
            async with AsyncVault(tmp_path / "a.db") as vault, AsyncFederation({"a": vault}) as both:
                await vault.add_many({"id": str(i), "title": f"ducks of pond {i}"} for i in range(300))
                asked = [vault.search("ducks", limit=5) for _ in range(10)] + [both.search("pond") for _ in range(5)]
                added = [vault.add(title=f"geese {i}", vector=[1.0, float(i)]) for i in range(5)]
                results = await asyncio.gather(*asked, *added)
                await vault.explain("ducks", "7")
                await vault.similar("7", limit=3)
                await vault.entries({"domain": None}, limit=5)
                await vault.facets("domain")
                await vault.update_many({"kind": "entry"}, domain="birds")
                await both.count({"domain": "birds"})
                assert len([entry async for entry in vault]) > 250
                await vault.update("7", title="swans")
                await vault.delete("8")
                await vault.stats()
        assert all(len(one) == 5 for one in results[:10])
        return seen

    # What makes threads, and hands closing to one.
    assert {name for _, name in asyncio.run(ask())} <= {"renew_in_children", "enlist", "call_on_thread", "_prepared"}


def test_the_watch_sees_what_runs_on_the_thread_of_the_loop():
    with watched_thread() as seen, Vault(":memory:") as vault:
        vault.add(title="ducks")
    assert {"add", "writing"} <= {name for _, name in seen}
    assert seen & {(module, name) for module in NATIVE for name in ("connect", "execute", "executemany")}


def test_opening_raises_what_the_vault_raises_and_a_vault_that_is_not_open_says_so(tmp_path):
    (tmp_path / "text").write_text("no database" * 1_000)

    async def ask():
        with pytest.raises(NotAVault):
            await AsyncVault.open(tmp_path / "text")
        with pytest.raises(NotAVault):
            async with AsyncVault(tmp_path / "text"):
                pass
        with pytest.raises(Closed, match="not open yet: use `async with`"):
            await AsyncVault(tmp_path / "vault.db").search("ducks")
        never = AsyncVault(tmp_path / "vault.db")
        await never.close()
        assert not (tmp_path / "vault.db").exists()

    asyncio.run(ask())


def test_loops_of_several_threads_share_a_vault(tmp_path):
    with Vault(tmp_path / "vault.db") as plain:
        vault = AsyncVault.of(plain, max_workers=2)
        found = []

        async def ask(name):
            await asyncio.gather(*(vault.add(id=f"{name}{i}", title=f"ducks {name}") for i in range(10)))
            found.append(len(await vault.search(name, limit=50)))

        threads = [threading.Thread(target=lambda n=name: asyncio.run(ask(n))) for name in ("east", "west", "north")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [10, 10, 10]
        asyncio.run(vault.close())
        # It belongs to the caller.
        assert len(plain) == 30


def test_a_federation_takes_vaults_of_both_kinds(tmp_path):
    async def ask():
        with Vault(":memory:") as team:
            team.add(id="t", title="ducks of the team")
            async with AsyncVault(":memory:") as agent, AsyncFederation({"agent": agent}) as both:
                await agent.add(id="a", title="ducks of the agent")
                await both.connect("team", team, 0.3)
                assert await both.tiers() == {"agent": 1.0, "team": 0.3}
                assert set((await both.search("ducks")).ids) == {"a", "t"}
                assert [one.id for one in await both.load(["t", "a"])] == ["t", "a"]
                with pytest.raises(TierError):
                    await both.connect("third", "no vault")
                with pytest.raises(Closed):
                    await both.connect("third", AsyncVault(":memory:"))
                own = AsyncFederation.of(both.blocking)
                assert len(await own.search("team")) == 1
                await own.close()
                assert await both.disconnect("team")
                assert (await both.search("ducks")).ids == ["a"]
            with pytest.raises(TierError):
                await AsyncFederation.open("no tiers")

    asyncio.run(ask())


async def counted(n, ask=None, fail_at=None):
    for i in range(n):
        if i == fail_at:
            raise OSError("the wire is cut")
        if ask is not None:
            await ask(i)
        yield {"id": str(i), "title": f"ducks {i}"}


@pytest.mark.parametrize("n", [0, 1, 4_999, 5_000, 5_001, 10_050])
def test_items_may_come_from_an_async_iterable(tmp_path, n):
    told = []

    async def ask():
        async with AsyncVault.of(lambda: Vault(tmp_path / "vault.db"), max_workers=1) as vault:
            ids = await vault.add_many(counted(n), progress=lambda *at: told.append(at))
            return ids, (await vault.stats()).entries

    assert asyncio.run(ask()) == ([str(i) for i in range(n)], n)
    assert told == [(min(n, end), None) for end in (5_000, 10_000, 15_000) if n and end - 5_000 < n]


@pytest.mark.parametrize("n", [0, 1, 600])
def test_entries_are_iterated_and_listed_page_by_page(n):
    async def ask():
        async with AsyncVault(":memory:", clock=lambda: 1_000.0) as vault, AsyncFederation({"a": vault}) as both:
            await vault.add_many([{"id": f"{i:04}", "title": f"ducks {i}"} for i in range(n)])
            paged, after = [], None
            while page := await vault.entries(order_by="id", limit=250, after=after):
                paged += [entry.id for entry in page]
                after = page.next
                if after is None:
                    break
            one_by_one = [entry.id async for entry in vault]
            of_tiers = [entry.id async for entry in both]
            assert await vault.count() == await both.count() == n
            return paged, one_by_one, of_tiers

    assert asyncio.run(ask()) == ([f"{i:04}" for i in range(n)],) * 3


def test_a_source_may_ask_the_vault_that_it_feeds():
    async def ask():
        async with AsyncVault.of(lambda: Vault(":memory:"), max_workers=1) as vault:
            assert len(await vault.add_many(counted(20, ask=lambda i: vault.get(str(i))))) == 20

    asyncio.run(ask())


def test_errors_come_through_unchanged_and_async_functions_are_refused():
    async def report(*_):
        pass

    async def ask():
        async with AsyncVault(":memory:") as vault:
            with pytest.raises(EntryNotFound):
                await vault.update("nobody", title="x")
            for items in ([{"title": "ducks"}], counted(3)):
                with pytest.raises(EntryError, match="progress is an async function: wanted a plain one"):
                    await vault.add_many(items, progress=report)
            with pytest.raises(TypeError, match="limt"):
                await vault.search("ducks", limt=3)
            assert (await vault.stats()).entries == 0

    asyncio.run(ask())


@pytest.mark.parametrize("most", [0, -1, 257, 1.5, "4", True, float("nan")])
def test_the_number_of_threads_is_checked(most):
    vault, tiers = (lambda: Vault(":memory:")), (lambda: Federation({}))
    for make in (lambda: AsyncVault.of(vault, max_workers=most), lambda: AsyncFederation.of(tiers, max_workers=most)):
        with pytest.raises(StoreError, match="max_workers"):
            make()


def test_what_is_wrapped_is_checked(tmp_path):
    with pytest.raises(StoreError, match="wanted an open Vault"):
        AsyncVault.of("vault")
    with pytest.raises(TierError, match="wanted a Federation"):
        AsyncFederation.of(None)
    with Vault(":memory:") as vault:
        assert 1 <= AsyncVault.of(vault).max_workers <= 8
        assert repr(AsyncVault.of(vault)) == "AsyncVault(':memory:')"


def test_functions_see_the_context_of_the_caller():
    name = contextvars.ContextVar("name")
    seen = []

    def clock():
        seen.append(name.get("nobody"))
        return 5.0

    async def ask():
        async with AsyncVault(":memory:", clock=clock) as vault:
            name.set("request 7")
            await vault.search("ducks")

    asyncio.run(ask())
    assert set(seen) == {"request 7"}


def test_what_is_iterated_comes_in_pieces_and_is_closed_when_the_caller_ends_early():
    closed, threads = [], set()

    def numbers():
        try:
            for i in range(3 * CHUNK + 1):
                threads.add(threading.current_thread().name)
                yield i
        finally:
            closed.append(True)

    async def ask():
        workers = Workers(2)
        assert [i async for i in workers.iterate(numbers)] == list(range(3 * CHUNK + 1))
        stream = workers.iterate(numbers)
        assert await stream.__anext__() == 0
        await stream.aclose()
        workers.close(lambda: None).result(10)

    asyncio.run(ask())
    assert closed == [True, True]
    assert all(name.startswith("septet-async") for name in threads)
