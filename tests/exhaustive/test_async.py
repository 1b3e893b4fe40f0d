"""Tests of `integration/test_async.py` that take seconds."""

import asyncio

import pytest

from integration.test_async import counted
from septet import AsyncVault
from septet.errors import BatchError, EntryError


@pytest.mark.parametrize(("bad", "written"), [(0, 0), (4_999, 0), (5_000, 5_000), (5_003, 5_000), (10_001, 10_000)])
@pytest.mark.parametrize("how", ["the source fails", "an item is refused"])
def test_an_async_iterable_that_fails_says_how_much_is_stored(bad, written, how):
    async def spoilt():
        async for item in counted(10_050):
            yield {"title": 3} if item["id"] == str(bad) else item

    async def ask():
        async with AsyncVault(":memory:") as vault:
            source = counted(10_050, fail_at=bad) if how == "the source fails" else spoilt()
            with pytest.raises(BatchError, match=f"item {bad} could not be stored: .*the {written} entries") as caught:
                await vault.add_many(source)
            assert (caught.value.index, caught.value.written) == (bad, written)
            assert isinstance(caught.value.__cause__, OSError if how == "the source fails" else EntryError)
            assert (await vault.stats()).entries == written

    asyncio.run(ask())
