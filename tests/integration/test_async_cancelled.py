"""Calls of asyncio that are cancelled, and vaults that are closed while calls run."""

import asyncio
import builtins
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates import Gate
from septet import AsyncVault, Vault
from septet.aio import workers
from septet.aio.workers import Workers
from septet.errors import Closed, EntryError


def test_a_write_that_is_cancelled_on_its_thread_ends_at_once_for_the_caller_and_is_stored_whole(tmp_path):
    gate = Gate()

    async def ask():
        async with AsyncVault(tmp_path / "vault.db", clock=gate) as vault:
            gate.shut()
            task = asyncio.create_task(vault.add_many([{"id": str(i), "title": "ducks"} for i in range(10)]))
            await gate.held()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not gate.open.is_set()
            gate.open.set()
            # The next write waits for it.
            await vault.add(id="next", title="geese")
            while (await vault.stats()).entries < 11:
                await asyncio.sleep(0.001)
            return (await vault.search("ducks", limit=20)).ids

    assert sorted(asyncio.run(ask())) == sorted(map(str, range(10)))


def test_what_is_iterated_when_it_is_cancelled_is_closed_by_the_thread_that_asks_it():
    began, gate, closed = threading.Event(), threading.Event(), []

    def numbers():
        try:
            began.set()
            yield gate.wait(10)
        finally:
            closed.append(threading.current_thread().name)

    async def first(pool):
        async for _ in pool.iterate(numbers):
            break

    async def ask():
        pool = Workers(2)
        task = asyncio.create_task(first(pool))
        await asyncio.to_thread(began.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed == []
        gate.set()
        await asyncio.to_thread(pool.close(lambda: None).result, 10)
        while not closed:
            await asyncio.sleep(0.001)

    asyncio.run(ask())
    assert closed[0].startswith("septet-async")


def test_a_timeout_is_kept_whatever_the_thread_does(tmp_path):
    gate = Gate()

    async def ask():
        async with AsyncVault(tmp_path / "vault.db", clock=gate) as vault:
            gate.shut()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(vault.search("ducks"), 0.01)
            assert not gate.open.is_set()
            gate.open.set()
            assert (await vault.search("ducks")).ids == []

    asyncio.run(ask())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no task groups")
def test_a_group_of_tasks_ends_when_one_fails(tmp_path):
    gate = Gate()

    async def ask():
        async with AsyncVault.of(lambda: Vault(tmp_path / "vault.db", clock=gate), max_workers=2) as vault:
            with pytest.raises(builtins.ExceptionGroup) as caught:
                async with asyncio.TaskGroup() as group:
                    gate.shut()
                    group.create_task(vault.search("ducks"))
                    await gate.held()
                    group.create_task(vault.add_many(5))
            assert [type(one) for one in caught.value.exceptions] == [EntryError]

            async def late():
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await vault.search("ducks")

            # In a task of its own: the groups of Python 3.11.2 leave their parent with a cancellation.
            await asyncio.create_task(late())
            gate.open.set()
            assert (await vault.search("ducks")).ids == []

    asyncio.run(ask())


def test_there_are_never_more_threads_than_said_also_after_cancellations(tmp_path):
    gate, lock, now, most = Gate(), threading.Lock(), 0, 0

    def embed(texts):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        gate()
        with lock:
            now -= 1
        return [[1.0, 2.0] for _ in texts]

    async def ask():
        workers = Workers(3)
        gate.shut()
        for _ in range(4):
            tasks = [asyncio.create_task(workers.run(embed, ["x"])) for _ in range(4)]
            await gate.held()
            await asyncio.sleep(0.005)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        gate.open.set()
        assert await workers.run(embed, ["x", "y"]) == [[1.0, 2.0], [1.0, 2.0]]
        workers.close(lambda: None).result(10)

    asyncio.run(ask())
    assert most == 3


def test_closing_waits_for_what_runs_and_drops_the_rest(tmp_path):
    gate = Gate()

    async def ask():
        vault = await AsyncVault.of(lambda: Vault(tmp_path / "vault.db", clock=gate), max_workers=1).__aenter__()
        gate.shut()
        runs = asyncio.create_task(vault.add(id="runs", title="ducks"))
        await gate.held()
        waits = asyncio.create_task(vault.add(id="waits", title="geese"))
        await asyncio.sleep(0)
        closing = [asyncio.create_task(vault.close()) for _ in range(2)]
        with pytest.raises(Closed):
            await waits
        assert not any(one.done() for one in closing)
        with pytest.raises(Closed, match="was closed"):
            await vault.search("ducks")
        # Closing goes on.
        closing[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing[0]
        gate.open.set()
        assert await runs == "runs"
        await closing[1]
        await vault.close()
        with pytest.raises(Closed):
            async with vault:
                pass

    asyncio.run(ask())
    assert not (tmp_path / "vault.db-wal").exists()
    with Vault(tmp_path / "vault.db") as vault:
        assert [vault.get("runs") is not None, vault.get("waits")] == [True, None]


def test_closing_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "CLOSE_WAIT_S", 0.02)
    gate = Gate()

    async def ask():
        vault = await AsyncVault.open(tmp_path / "vault.db", clock=gate)
        gate.shut()
        stuck = asyncio.create_task(vault.add(title="ducks"))
        await gate.held()
        await vault.close()
        assert not stuck.done()
        gate.open.set()
        with pytest.raises(Closed):
            await stuck

    asyncio.run(ask())


def test_a_block_that_is_cancelled_closes_the_vault(tmp_path):
    made = []

    async def use():
        async with AsyncVault(tmp_path / "vault.db") as vault:
            made.append(vault.blocking)
            await asyncio.sleep(20)

    async def ask():
        task = asyncio.create_task(use())
        while not made:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask())
    with pytest.raises(Closed):
        made[0].search("ducks")


@pytest.mark.parametrize("early", [True, False])
def test_a_vault_whose_opening_is_cancelled_is_closed(tmp_path, early):
    gate, opened = Gate(), []

    async def ask():
        vault = AsyncVault(tmp_path / "vault.db")
        make = vault._make

        def slow():
            gate()
            opened.append(make())
            return opened[0]

        vault._make = slow
        gate.shut()
        task = asyncio.create_task(vault._open())
        if not early:
            await gate.held()
        else:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.open.set()
        await vault.close()

    asyncio.run(ask())
    for one in opened:
        with pytest.raises(Closed):
            one.search("ducks")


def test_a_loop_that_ends_without_its_tasks_leaves_nothing_behind(tmp_path, caplog):
    gate = Gate()
    with Vault(tmp_path / "vault.db", clock=gate) as plain:
        vault = AsyncVault.of(plain)
        gate.shut()
        loop = asyncio.new_event_loop()
        task = loop.create_task(vault.add(id="a", title="ducks"))
        loop.run_until_complete(gate.held())
        loop.close()
        gate.open.set()
        asyncio.run(vault.close())
        assert plain.get("a") is not None
        assert not caplog.records
        task._log_destroy_pending = False


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from(["add", "search", "many", "delete"]), st.integers(0, 3)), max_size=25),
)
def test_whatever_is_cancelled_the_vault_holds_whole_transactions(most, steps):
    """Each call is cancelled after so many turns of the loop, or not at all."""

    async def ask():
        async with AsyncVault.of(lambda: Vault(":memory:"), max_workers=most) as vault:
            tasks = []
            for number, (what, turns) in enumerate(steps):
                calls = {
                    "add": lambda n=number: vault.add(id=f"one{n}", title="ducks"),
                    "many": lambda n=number: vault.add_many(
                        [{"id": f"many{n}-{i}", "title": "geese"} for i in range(5)]
                    ),
                    "search": lambda: vault.search("ducks"),
                    "delete": lambda n=number: vault.delete([f"one{i}" for i in range(n)]),
                }
                tasks.append((what, number, asyncio.create_task(calls[what]())))
                if turns < 3:
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    tasks[-1][2].cancel()
            done = await asyncio.gather(*(task for _, _, task in tasks), return_exceptions=True)
            assert not [one for one in done if isinstance(one, Exception)]
            # Behind everything that still runs.
            await settled(vault)
            for (what, number, _), outcome in zip(tasks, done):
                if what == "many":
                    stored = len(await vault.load([f"many{number}-{i}" for i in range(5)]))
                    assert stored in ((0, 5) if isinstance(outcome, asyncio.CancelledError) else (5,))

    asyncio.run(ask())


async def settled(vault):
    while vault._workers._running or vault._workers._waiting:
        await asyncio.sleep(0.0005)
