"""The vault, federation or client of an adapter, for blocking and for async callers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from inspect import iscoroutinefunction
from threading import Lock
from typing import Any, TypeVar, cast

from septet.aio import AsyncFederation, AsyncVault
from septet.aio.vault import AsyncAnyVault
from septet.errors import StoreError
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.vault import Vault
from septet.vault.anywhere import AnyVault

__all__ = ["Memory", "needs"]

Result = TypeVar("Result")


class Memory:
    """The vault, federation or client of an adapter.

    Args:
        vault: an open one, blocking or async, which stays open; or the path of a vault to open.
        tier: the tier of a federation to write to; None leaves the choice to the federation.

    Attributes:
        blocking: the object with the methods of `Vault`.

    Raises:
        StoreError: none of these, or the file cannot be used.
    """

    def __init__(self, vault: Any, tier: str | None = None) -> None:
        self._opened: AnyVault | None = None
        self._async: AsyncAnyVault[Any] | AsyncFederation | None = None
        self._lock = Lock()
        if isinstance(vault, (str, os.PathLike)):
            vault = self._opened = Vault(vault)
        elif isinstance(vault, (AsyncAnyVault, AsyncFederation)):
            self._async, vault = vault, vault.blocking
        methods = [getattr(vault, name, None) for name in ("search", "load", "add_many", "delete")]
        if not all(map(callable, methods)) or any(map(iscoroutinefunction, methods)):
            raise StoreError(f"vault is {shown(vault)}: wanted a Vault, a Federation, a Client or the path of a vault")
        self.blocking = vault
        self._tier = tier

    def __repr__(self) -> str:
        return repr(self.blocking)

    @property
    def written(self) -> Any:
        """The object to write to: the tier, if one is set."""
        return self.blocking if self._tier is None else self.blocking.tier(self._tier)

    async def on_thread(self, work: Callable[..., Result], *args: Any, **named: Any) -> Result:
        """Call ``work`` on a worker thread and return its result."""
        face = self._async_face()
        if face is None:
            return await asyncio.to_thread(work, *args, **named)
        # `work` already refers to the blocking vault of `face`.
        result: Result = await face.on_thread(lambda _: work(*args, **named))
        return result

    def kinds(self, *, as_of: float | None = None) -> list[str]:
        """Return the kinds of all entries, or of those valid at ``as_of`` (epoch seconds).

        Raises:
            StoreError: a server has more kinds than it returns.
        """
        facets = self.blocking.facets("kind", limit=None, as_of=as_of)
        if facets.distinct > len(facets):
            raise StoreError(
                f"the server returned {len(facets):,} of {facets.distinct:,} kinds: open its vault directly instead"
            )
        return [str(kind) for kind in facets]

    def close(self) -> None:
        """Close the vault if it was opened from a path."""
        if self._opened is not None:
            self._opened.close()

    def _async_face(self) -> AsyncAnyVault[Any] | AsyncFederation | None:
        with self._lock:
            if self._async is None and isinstance(self.blocking, AnyVault):
                self._async = AsyncVault.of(cast("Vault", self.blocking))
            elif self._async is None and isinstance(self.blocking, Federation):
                self._async = AsyncFederation.of(self.blocking)
            return self._async


def needs(extra: str, error: ImportError) -> ImportError:
    """Return the error for a missing package."""
    name = extra.replace("-", "_")
    return ImportError(f"septet.adapters.{name} needs an extra: pip install 'septet[{extra}]' ({error})")
