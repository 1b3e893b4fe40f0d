"""AsyncPostgresVault: a vault on PostgreSQL for asyncio."""

from __future__ import annotations

from functools import partial
from typing import Any

from septet.aio.mirror import mirrored, signed_as
from septet.aio.vault import AsyncAnyVault
from septet.postgres.store.dsn import HiddenText, without_passwords
from septet.postgres.vault import PostgresVault


class AsyncPostgresVault(AsyncAnyVault[PostgresVault], of=PostgresVault):
    """A `PostgresVault` for asyncio: the same methods with the same arguments, awaited, as in `AsyncVault`.

    The arguments are those of `PostgresVault`, and its errors are raised on opening. Each call runs on a thread with
    its own connection.
    """

    @signed_as(PostgresVault)
    def __init__(self, dsn: Any, vault: str | None = None, **options: Any) -> None:
        self._path = without_passwords(dsn) if isinstance(dsn, str) else "?"
        self._begin(partial(_opened, HiddenText(dsn) if isinstance(dsn, str) else dsn, vault, **options))

    backup = mirrored(PostgresVault.backup)
    index_vectors = mirrored(PostgresVault.index_vectors)


def _opened(dsn: Any, vault: str | None, **more: Any) -> PostgresVault:
    # PostgresVault refuses values that are not text.
    return PostgresVault(dsn.text if isinstance(dsn, HiddenText) else dsn, vault, **more)
