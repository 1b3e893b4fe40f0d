"""Health: liveness and readiness of the server."""

from __future__ import annotations

import time
from typing import Any

import anyio

from septet.errors import SeptetError
from septet.service.running import Memory
from septet.service.served import Served
from septet.watch.hooks import STAGES, Stages

#: Time for which a result is cached, in seconds: the route is open to all, and each check reads the file.
KEPT_S = 1.0
#: Maximum time of a check, in seconds.
WAIT_S = 5.0
#: Notes that concern the memory, not the query.
CONCERNING = frozenset({"vault_replaced", "tier_failed", "index_mismatch", "sidecar_damaged"})


class Health:
    """Checks the served memory."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._state: dict[str, Any] = {}
        self._until = 0.0
        self._lock = anyio.Lock()

    async def ready(self) -> dict[str, Any]:
        """Return the readiness of the memory: ``{"status": "ok" | "failed" | "degraded", "notes": [codes]}``."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._state = await self._check()
                self._until = time.monotonic() + KEPT_S
            return self._state

    async def _check(self) -> dict[str, Any]:
        try:
            with anyio.fail_after(WAIT_S):
                notes = await self._served.memory.on_thread(_notes)
        except SeptetError as fault:
            return {"status": "failed", "notes": [fault.code]}
        except TimeoutError:
            return {"status": "failed", "notes": ["deadline"]}
        # Readers of a replaced file see its old content for ever.
        status = "failed" if "vault_replaced" in notes else "degraded" if notes else "ok"
        return {"status": status, "notes": notes}


def _notes(memory: Memory) -> list[str]:
    # This search must not count among those of the request.
    before = STAGES.set(Stages())
    try:
        results = memory.search("septet", limit=1, legs="text", mode="scan")
    finally:
        STAGES.reset(before)
    return sorted({note.code for note in results.notes} & CONCERNING)
