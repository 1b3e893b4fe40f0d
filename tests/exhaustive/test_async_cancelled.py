"""Tests of `integration/test_async_cancelled.py` that take seconds."""

import asyncio
import gc
import weakref

from gates import Gate
from septet import AsyncVault, Vault


def test_what_waits_for_a_thread_is_dropped_when_it_is_cancelled(tmp_path):
    gate = Gate()

    class Title(str):
        __slots__ = ("__weakref__",)

    async def ask():
        async with AsyncVault.of(lambda: Vault(tmp_path / "vault.db", clock=gate), max_workers=1) as vault:
            gate.shut()
            first = asyncio.create_task(vault.add(id="first", title="ducks"))
            await gate.held()
            title = Title("geese")
            seen = weakref.ref(title)
            rest = [asyncio.create_task(vault.add(id=f"{i}", title=title)) for i in range(5)]
            del title
            await asyncio.sleep(0)
            for task in rest[:-1]:
                task.cancel()
            assert {type(one) for one in await asyncio.gather(*rest[:-1], return_exceptions=True)} == {
                asyncio.CancelledError
            }
            rest[-1].cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            rest.clear()
            del task
            # The loop itself holds a task until its next turn.
            await asyncio.sleep(0)
            gc.collect()
            # Nothing holds what they were to store, although their thread has not come to them.
            assert seen() is None
            gate.open.set()
            await first
            return (await vault.stats()).entries

    assert asyncio.run(ask()) == 1
