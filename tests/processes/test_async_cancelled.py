"""Tests of `integration/test_async_cancelled.py` that start processes."""

import subprocess
import sys

FORKED = """
import asyncio, os, sys
from septet import AsyncVault, Vault
vault = AsyncVault.of(Vault(sys.argv[1]), max_workers=2)
async def ask():
    await asyncio.gather(*(vault.add(title=f"ducks {i}") for i in range(4)))
    return (await vault.search("ducks")).ids
found = asyncio.run(ask())
child = os.fork()
if child == 0:
    again = asyncio.run(asyncio.wait_for(ask(), 20))
    os._exit(0 if set(found) == set(again) and len(again) == 4 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_has_threads_of_its_own(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "vault.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "0", done.stderr
