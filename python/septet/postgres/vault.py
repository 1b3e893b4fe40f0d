"""PostgresVault: a vault on a PostgreSQL server, searched and changed by many machines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cached_property, wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import uuid4

from septet.errors import SeptetError, StoreError
from septet.inputs.arguments import file_path, flags, real, shown, utf8, whole
from septet.postgres.store.dsn import Address, HiddenText, is_dsn, vault_named, without_frames
from septet.profiles import ProfileLike
from septet.vault.anywhere import AnyVault
from septet.vault.batch import MOST_IDS
from septet.vault.vault import Vault
from septet.watch.progress import Progress, reporter, with_progress
from septet.watch.watched import watched

if TYPE_CHECKING:
    from septet.embedding.embeddings import CacheLike, EmbedderLike
    from septet.embedding.options import EmbeddingOptions
    from septet.listing.queries import ListingQuery, Shadowing
    from septet.model.arrays import Mask
    from septet.model.stats import Optimized
    from septet.postgres.store.store import PostgresStore
    from septet.postgres.tier.listing import PostgresListings
    from septet.postgres.tier.tier import PostgresTier
    from septet.watch.events import SearchEvent, WriteEvent


_Answer = TypeVar("_Answer")
_Kind = TypeVar("_Kind", bound=type)

#: Methods that are one transaction, from their beginning to its end.
TRANSACTIONS = (
    "_write _change _add_near _restore_feedback update supersede reinstate link_many unlink feedback"
).split()
#: Maximum of the option for connections kept by a process.
MOST_CONNECTIONS = 1_000
#: The longest wait of a search, in seconds: a day.
MOST_WAIT_S = 86_400.0


def retried(kind: _Kind) -> _Kind:
    """Retry each transaction that a deadlock ended, a few times; a decorator of the class."""
    for name in TRANSACTIONS:
        setattr(kind, name, _again(getattr(kind, name)))
    return kind


def _again(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        # psycopg is there when a vault is open.
        from septet.postgres.store.faults import again

        return again(method)(self, *map(_held, args), **{name: _held(value) for name, value in named.items()})

    return call


def _held(value: Any) -> Any:
    """Return an argument that can be read twice: an iterator as a list of no more than a call takes."""
    if isinstance(value, Iterator):
        return list(islice(value, MOST_IDS + 1))
    if type(value) is dict or (
        isinstance(value, Mapping) and any(isinstance(item, Iterator) for item in value.values())
    ):
        return {name: _held(item) for name, item in value.items()}
    return value


@watched
@retried
class PostgresVault(AnyVault):
    """A vault in a PostgreSQL database, with the methods, the ranking and the scores of a `Vault`.

    Threads, processes and machines may share it. It needs the packages of the extra ``postgres``, and on the server the
    extension ``vector``. It follows no folders, and the server's own tools restore it: `sync` and its kin and `redact`
    are methods of a `Vault` in a file alone, which `septet push` copies to a server.

    Args:
        dsn: the address of the database, ``postgresql://user@host:5432/database``, as libpq reads it; it may end in
            ``?vault=NAME``. Passwords are better kept in ``~/.pgpass``; they are shown nowhere.
        vault: the name of the vault, made on first use unless ``read_only``; None where the address names it.
        read_only: only read; the vault must exist. A standby, or a role that may only select, is enough.
        clock: as for `Vault`, as are the arguments up to ``telemetry``.
        timeout_s: how long a search waits for the server in all, 0.01 to 86,400; None for as long as the server may
            take for a statement, 30 s for each. A search that must do without it raises, or, in a federation, has a
            note.
        reads: which of several servers answers reads: ``any``, ``primary``, or ``prefer-standby``. The
            answers of a standby may lag behind the last writes.
        buckets: in how many parts the vault is stored, 1 to 1,024; None for 32 if it is new.
        vectors: what it stores vectors as: ``vector``, or ``halfvec`` in half of the space; None for ``vector`` if it
            is new.
        connections: of this process to the server, at most, at a time.
        prepare: keep statements prepared on the server; False for poolers that cannot have it.

    Raises:
        StoreError: the address cannot be read, a package is missing, the vault was made with other ``buckets`` or
            ``vectors``, or the server answers with a fault.
        Unreachable: the server does not answer.
        SchemaTooNew: a newer Septet made the tables.
        ProfileError: an unknown or malformed profile.
        EmbeddingConfigError: as for `Vault`.
    """

    _elsewhere = "open it in the other process by its address"

    _store: PostgresStore
    _tier: PostgresTier

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
    ) -> None:
        flags({"read_only": read_only, "prepare": prepare}, StoreError)
        limit = None if timeout_s is None else real(timeout_s, "timeout_s", StoreError, 0.01, MOST_WAIT_S)
        sizes: dict[str, Any] = {
            "buckets": None if buckets is None else whole(buckets, "buckets", StoreError, 1, 1_024),
            "vectors": vectors,
            "reads": reads,
            "most_connections": whole(connections, "connections", StoreError, 1, MOST_CONNECTIONS),
            "prepare": prepare,
        }
        self._embedding = (embedder, previous_embedder, embedding_cache, embedding_options)
        try:
            store, where = store_of(dsn, vault)
            self._set_up(clock, profile, history, (on_search, on_write), telemetry, where)
            self._store = store(read_only=read_only, **sizes)
        except SeptetError as fault:
            raise without_frames(fault) from fault.__cause__
        finally:
            # It may hold a password, and whoever reports an error may show what variables hold.
            dsn = ""
        try:
            self._begin_embedding()
        except BaseException:
            self._store.close()
            raise
        from septet.postgres.tier.spaces import SpaceCache
        from septet.postgres.tier.tier import PostgresTier

        self._remembered = _asked
        self._tier = PostgresTier("vault", 1.0, self._store, SpaceCache(), limit)

    def optimize(self) -> Optimized:
        """Fold the counts deferred by writes, and run ANALYZE for the server's planner.

        Call it after a large import; writes do the first by themselves now and then, and the server's autovacuum the
        second.

        Returns:
            How many entries the vault has; it writes no file.

        Raises:
            ReadOnly: the vault was opened for reading.
            StoreError: the server answers with a fault.
        """
        self._check_writable("optimize")
        from septet.model.stats import Optimized

        self._store.upkeep()
        return Optimized(len(self), None, 0)

    def index_vectors(
        self, how: Literal["hnsw", "none"] = "hnsw", *, model: str | None = None, m: int = 16, ef_construction: int = 64
    ) -> list[str]:
        """Have pgvector keep a graph over vectors, or remove it; searches and writes continue.

        Searches then compare the vectors that the graph leads to, which may leave out near ones; they say so (note
        ``approximate``), and cosines are computed from the vectors all the same.

        Args:
            how: ``hnsw``, or ``none`` to compare with every vector again.
            model: the model of the vectors; None for all.
            m: links of a vector to others, 2 to 100.
            ef_construction: candidates that are looked at for each vector, 4 to 1,000, twice ``m`` at least.

        Returns:
            The models concerned.

        Raises:
            ReadOnly: the vault was opened for reading.
            VectorError: the vectors have too many dimensions: 2,000, or 4,000 as ``halfvec``, is the most.
            StoreBusy: another process is at it.
            StoreError: a value is none of these, or there are no such vectors.
        """
        self._check_writable("index_vectors")
        from septet.postgres.store.vector_index import index_vectors

        return [
            space.model for space in index_vectors(self._store, how, model=model, m=m, ef_construction=ef_construction)
        ]

    @with_progress("entries", StoreError)
    def backup(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Copy the vault to a file, which `Vault` opens, while it is in use; the copy appears when it is complete.

        Earlier versions of entries are not copied; the server's own tools (``pg_dump``) back up everything.

        Args:
            progress: called with the number of entries copied and of all; True shows a bar, as of `embed`.

        Raises:
            StoreError: the vault cannot be read, or the copy cannot be written; or there is a file of this name.
        """
        from septet.exchange.copying import copy_vault

        target = Path(file_path(path, "path", StoreError))
        if os.path.lexists(target):
            raise StoreError(f"{shown(str(target))} already exists: choose another path, or delete the file first")
        part = target.with_name(f".{target.name}.{uuid4().hex}.part")
        try:
            with Vault(part, sidecar=False, history=0) as copy:
                copied = copy_vault(self, copy, progress=reporter(progress))
            if copied.differences:
                raise StoreError(f"the copy differs: {copied.differences[0]}; copy it once more")
            part.rename(target)
        except OSError as fault:
            raise StoreError(f"{shown(str(target))} cannot be written: {fault.strerror}") from fault
        finally:
            for left in target.parent.glob(f"{part.name}*"):
                with suppress(OSError):
                    left.unlink()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _loading(self) -> AbstractContextManager[None]:
        return self._store.loading()

    @cached_property
    def _answers(self) -> PostgresListings:
        from septet.postgres.tier.listing import PostgresListings

        return PostgresListings(self._store)

    def _listed(
        self, query: ListingQuery[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Run a query on the listing; see `septet.federation.member.Member`."""
        return self._answers.answer(query, hidden)

    def _as_tier(self, name: str, priority: float) -> PostgresTier:
        return self._tier._replace(name=name, priority=priority)

    def _beside(self, path: str) -> AnyVault:
        embedder, previous, cache, options = self._embedding
        more: Any = {
            "read_only": True,
            "clock": self._now,
            "embedder": embedder,
            "previous_embedder": previous,
            "embedding_cache": cache,
            "embedding_options": options,
        }
        return PostgresVault(path, **more) if is_dsn(path) else Vault(path, **more)


def _asked(read: Any, key: object, ask: Callable[[], _Answer], /) -> _Answer:
    """Query each time: other machines may have written since."""
    del read, key
    return ask()


def store_of(dsn: str, vault: str | None) -> tuple[Callable[..., PostgresStore], str]:
    """Return a function that opens the store of a vault, and its address without the password.

    Raises:
        StoreError: the address cannot be read, or a package is missing; the message says what to install.
    """
    named = None if vault is None else utf8(vault, "vault", StoreError)
    address, name = vault_named(utf8(dsn, "dsn", StoreError), named)
    try:
        import pgvector.psycopg  # noqa: F401 - the store asks for it when it connects

        from septet.postgres.store.store import PostgresStore
    except ImportError as fault:
        # psycopg without libpq fails so too.
        message = str(fault).splitlines()[0]
        raise StoreError(f"PostgresVault needs an extra: pip install 'septet[postgres]' ({message})") from None
    kept = HiddenText(address)
    return lambda **more: PostgresStore(kept.text, name, **more), Address.of(address, name).shown
