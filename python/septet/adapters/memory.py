"""Memory: what an adapter searches and writes to, for callers that block and for those that await."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from inspect import iscoroutinefunction
from threading import Lock
from typing import Any, TypeVar, cast

from septet.aio import AsyncFederation, AsyncVault
from septet.errors import StoreError
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.vault import Vault
from septet.vault.anywhere import AnyVault

__all__ = ["Memory", "needs"]

Result = TypeVar("Result")


class Memory:
    """A vault, a federation, or a client of a remote one, as an adapter uses it.

    Args:
        given: an open one, which stays open; one for asyncio; or the path of a vault, which is opened.
        tier: the tier of a federation that is written to; None leaves the choice to the federation.

    Raises:
        StoreError: it is none of these, or the file cannot be used.
    """

    def __init__(self, given: Any, tier: str | None = None) -> None:
        self._own: AnyVault | None = None
        self._awaited: AsyncVault | AsyncFederation | None = None
        self._lock = Lock()
        if isinstance(given, (str, os.PathLike)):
            given = self._own = Vault(given)
        elif isinstance(given, (AsyncVault, AsyncFederation)):
            self._awaited, given = given, given.blocking
        methods = [getattr(given, name, None) for name in ("search", "load", "add_many", "delete")]
        if not all(map(callable, methods)) or any(map(iscoroutinefunction, methods)):
            raise StoreError(f"vault is {shown(given)}: wanted a Vault, a Federation, a Client or the path of a vault")
        #: What has the methods of `Vault`.
        self.blocking = given
        self._tier = tier

    def __repr__(self) -> str:
        return repr(self.blocking)

    @property
    def into(self) -> dict[str, str]:
        """The argument that names the tier to write to, if one was chosen."""
        return {} if self._tier is None else {"tier": self._tier}

    async def on_thread(self, work: Callable[..., Result], *args: Any, **named: Any) -> Result:
        """Return what ``work`` returns, called on a thread of the memory, never on the loop's."""
        awaited = self._awaiting()
        if awaited is None:
            return await asyncio.to_thread(work, *args, **named)
        # The vault behind `awaited` is the one that `work` uses.
        done: Result = await awaited.on_thread(lambda _: work(*args, **named))
        return done

    def kinds(self, *, as_of: float | None = None) -> list[str]:
        """Return the kinds of all entries, or of those that are valid at a time.

        Raises:
            StoreError: a server holds more kinds than it names.
        """
        found = self.blocking.facets("kind", limit=None, as_of=as_of)
        if found.distinct > len(found):
            raise StoreError(f"the server names {len(found):,} of {found.distinct:,} kinds: work beside its vault")
        return [str(kind) for kind in found]

    def close(self) -> None:
        """Close the vault, if a path was given; what was given open stays open."""
        if self._own is not None:
            self._own.close()

    def _awaiting(self) -> AsyncVault | AsyncFederation | None:
        with self._lock:
            if self._awaited is None and isinstance(self.blocking, AnyVault):
                self._awaited = AsyncVault.of(cast("Vault", self.blocking))
            elif self._awaited is None and isinstance(self.blocking, Federation):
                self._awaited = AsyncFederation.of(self.blocking)
            return self._awaited


def needs(extra: str, error: ImportError) -> ImportError:
    """Return the error about a package that is missing."""
    name = extra.replace("-", "_")
    return ImportError(f"septet.adapters.{name} needs an extra: pip install 'septet[{extra}]' ({error})")
