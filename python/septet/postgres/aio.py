"""AsyncPostgresVault: a vault on PostgreSQL for asyncio."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from septet.aio.mirror import Mirror, mirrored, mirrored_static
from septet.aio.vault import AsyncVault
from septet.aio.workers import workers_of
from septet.postgres.store.dsn import HiddenText, without_passwords
from septet.postgres.vault.vault import PostgresVault
from septet.profiles import ProfileLike

if TYPE_CHECKING:
    from septet.embedding.embeddings import CacheLike, EmbedderLike
    from septet.embedding.options import EmbeddingOptions
    from septet.vault import Vault
    from septet.watch.events import SearchEvent, WriteEvent


class AsyncPostgresVault(AsyncVault, of=PostgresVault):
    """A `PostgresVault` for asyncio: with the methods of `AsyncVault`.

    Each call runs on a thread with its own connection.

    Args:
        dsn: as for `PostgresVault`, as are all arguments but the last.
        max_workers: as for `AsyncVault`.

    Raises:
        StoreError: ``max_workers`` is out of range. Errors of `PostgresVault` are raised on opening.
    """

    def __init__(
        self,
        dsn: str,
        vault: str | None = None,
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        profile: ProfileLike = "septet",
        history: int = 10,
        embedder: EmbedderLike = None,
        previous_embedder: EmbedderLike = None,
        embedding_cache: CacheLike = None,
        embedding_options: EmbeddingOptions | None = None,
        on_search: Callable[[SearchEvent], object] | None = None,
        on_write: Callable[[WriteEvent], object] | None = None,
        telemetry: bool | None = None,
        timeout_s: float | None = 2.0,
        reads: Literal["any", "primary", "prefer-standby"] = "any",
        buckets: int | None = None,
        vectors: Literal["vector", "halfvec"] | None = None,
        connections: int = 8,
        prepare: bool = True,
        max_workers: int | None = None,
    ) -> None:
        Mirror.__init__(self, workers_of(max_workers))
        self._path = without_passwords(dsn) if isinstance(dsn, str) else "?"
        make = partial(
            _opened,
            HiddenText(dsn) if isinstance(dsn, str) else dsn,
            vault,
            read_only=read_only,
            clock=clock,
            profile=profile,
            history=history,
            embedder=embedder,
            previous_embedder=previous_embedder,
            embedding_cache=embedding_cache,
            embedding_options=embedding_options,
            on_search=on_search,
            on_write=on_write,
            telemetry=telemetry,
            timeout_s=timeout_s,
            reads=reads,
            buckets=buckets,
            vectors=vectors,
            connections=connections,
            prepare=prepare,
        )
        # Methods common to all vaults are called by name.
        self._make_vault = cast("Callable[[], Vault]", make)

    @property
    def path(self) -> str:
        """The address of the vault, without a password."""
        return str(self._path) if self._target is None else self._target.path

    def __repr__(self) -> str:
        return f"AsyncPostgresVault({self.path!r})"

    restore = staticmethod(mirrored_static(PostgresVault.restore))
    index_vectors = mirrored(PostgresVault.index_vectors)


def _opened(dsn: Any, vault: str | None, **more: Any) -> PostgresVault:
    # PostgresVault refuses values that are not text.
    return PostgresVault(dsn.text if isinstance(dsn, HiddenText) else dsn, vault, **more)
