"""A vault and a federation for asyncio: the same methods, awaited; the work is done on threads."""

from septet.aio.federation import AsyncFederation
from septet.aio.vault import AsyncVault

__all__ = ["AsyncFederation", "AsyncVault"]
