"""Health: whether the server lives, and whether it should be asked."""

from __future__ import annotations

import time
from typing import Any

import anyio

from septet.errors import SeptetError
from septet.service.running import Memory
from septet.service.served import Served
from septet.watch.stages import STAGES, Stages

__all__ = ["Health"]

#: An answer is good for so long: anybody may ask, and asking reads the file.
KEPT_S = 1.0
#: So long the memory may take to be counted.
WAIT_S = 5.0
#: What concerns the memory and not the query.
CONCERNING = frozenset({"vault_replaced", "tier_failed", "index_mismatch", "sidecar_damaged"})


class Health:
    """Looks at what is served."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._found: dict[str, Any] = {}
        self._until = 0.0
        self._lock = anyio.Lock()

    async def ready(self) -> dict[str, Any]:
        """Return whether the memory answers: ``{"status": "ok" | "failed" | "degraded", "notes": [codes]}``."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._found = await self._look()
                self._until = time.monotonic() + KEPT_S
            return self._found

    async def _look(self) -> dict[str, Any]:
        try:
            with anyio.fail_after(WAIT_S):
                notes = await self._served.memory.on_thread(_notes)
        except SeptetError as fault:
            return {"status": "failed", "notes": [fault.code]}
        except TimeoutError:
            return {"status": "failed", "notes": ["deadline"]}
        # Readers of a file that was replaced see what was there before, for ever.
        status = "failed" if "vault_replaced" in notes else "degraded" if notes else "ok"
        return {"status": status, "notes": notes}


def _notes(memory: Memory) -> list[str]:
    # A search for whoever looks after the server is none of those that are counted.
    before = STAGES.set(Stages())
    try:
        found = memory.search("septet", limit=1, legs="text", mode="scan")
    finally:
        STAGES.reset(before)
    return sorted({note.code for note in found.notes} & CONCERNING)
