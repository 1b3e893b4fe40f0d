"""The base of all vaults, in files and on servers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from septet.errors import ReadOnly, StoreError
from septet.inputs.arguments import BEGIN_OF_DATES, END_OF_DATES, called, clock_time, whole
from septet.profiles import ProfileLike, resolve
from septet.store.protocol import Store
from septet.system.forks import OfOneProcess
from septet.vault.copies import Copied
from septet.vault.embedded import Embedded
from septet.vault.listed import Listed
from septet.vault.near import KnowsNear, Similar
from septet.vault.reading import Readable, VectorReader
from septet.watch.hooks import watch_of

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from septet.embedding.embeddings import Embeddings
    from septet.files.drift import OnSearch
    from septet.model.stats import Optimized
    from septet.retrieval.account.envelope import Envelope
    from septet.retrieval.config import RetrievalConfigLike
    from septet.retrieval.corpora.given import CorpusLike
    from septet.retrieval.expansion.expanding import Expander
    from septet.retrieval.knowledge import Knowledge
    from septet.retrieval.planning.knobs import Resolver
    from septet.retrieval.planning.policy import Policy
    from septet.retrieval.retriever import Retriever
    from septet.tiers import Tier
    from septet.tiers.protocol import ServedTier
    from septet.watch.hooks import Watch


class Retrievable(ABC):
    """Creates retrievers."""

    _watch: Watch | None

    @abstractmethod
    def _clock(self) -> float: ...

    @abstractmethod
    def _beside(self, path: str) -> Any:
        """Open another vault for reading, with the same embedder."""

    def retriever(
        self,
        config: RetrievalConfigLike = "septet",
        *,
        expander: Expander | None = None,
        corpora: Mapping[str, CorpusLike] | None = None,
        policy: Policy | Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        on_retrieval: Callable[[Envelope], object] | None = None,
        secrets: Resolver | None = None,
    ) -> Retriever:
        """Return a retriever over several corpora: it plans, queries them in parallel, fuses, and grades the evidence.

        Reuse it: it caches phrasings, budgets and the state of slow corpora. No network is used unless the
        configuration names a server, or ``expander`` or ``corpora`` use one.

        Args:
            config: the name of a profile (``septet``, ``recall``, ``planned-retrieval``), a dict, a `RetrievalConfig`,
                or a file with the blocks of one.
            expander: rephrases queries; see `Expander`. None for the one of the configuration.
            corpora: additional corpora by name, available to plans; a name of the profile is overridden. Each is a
                `Corpus`, another vault or federation, an `ExternalFirst`, or a function of a query and a number that
                returns dicts with the fields of an entry.
            policy: a `Policy`, or a dict of its fields, instead of the configuration's.
            timeout_s: default limit of a retrieval in seconds, 0.01 to 86,400; None for that of the configuration.
            on_retrieval: called with the `Envelope` of each retrieval, on the thread that retrieved. Its exceptions are
                logged and ignored.
            secrets: resolves keys by name; None for the environment.

        Raises:
            ProfileError: the configuration or the policy is malformed.
            QueryError: an argument has a wrong type.
            StoreError: a vault that the configuration names cannot be opened.
        """
        from septet.retrieval.making import retriever_of

        return retriever_of(
            cast("Knowledge", self),
            config,
            open_vault=self._beside,
            clock=self._clock,
            expander=expander,
            corpora=corpora,
            policy=policy,
            timeout_s=timeout_s,
            on_retrieval=on_retrieval,
            secrets=secrets,
            tracer=None if self._watch is None else self._watch.tracer,
        )


#: Maximum earlier versions per entry.
MOST_VERSIONS = 1_000_000


class AnyVault(Readable, Listed, VectorReader, Embedded, Similar, KnowsNear, Copied, Retrievable, OfOneProcess):
    """An open vault: a file (`septet.Vault`), or one on a server (`septet.PostgresVault`)."""

    _elsewhere = "open it in the other process by its path"

    _store: Store
    _tier: Tier
    _now: Callable[[], float]
    #: Syncs folders before searches; None by default.
    _on_search: tuple[OnSearch, float] | None = None

    @property
    def path(self) -> str:
        """Path of the file as passed, or address on a server without the password."""
        return self._store.path

    def __repr__(self) -> str:
        # A vault that failed to open appears in the traceback.
        return f"{type(self).__name__}({self.path if '_store' in self.__dict__ else '?'!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the vault; using it afterwards raises `Closed`. Closing twice is fine.

        Waits for automatic embedding, ``close_wait_s`` at most; the next process that opens the vault embeds the rest.
        """
        if self._has_embeddings:
            self._embeddings.close()
        self._store.close()

    @abstractmethod
    def optimize(self) -> Optimized:
        """Build what makes searches fast, now."""

    # -- inside ------------------------------------------------------------------------------------------------------

    def _set_up(
        self,
        clock: Callable[[], float] | None,
        profile: ProfileLike,
        history: int,
        hooks: tuple[Any, Any],
        telemetry: bool | None,
        where: str,
    ) -> None:
        """Check and store the options of all kinds of vaults."""
        self._now = time.time if clock is None else called(clock, "clock", StoreError)
        self._watch = watch_of(*hooks, telemetry, StoreError, where)
        self._profile = resolve(profile)
        self._versions = whole(history, "history", StoreError, 0, MOST_VERSIONS)

    def _begin_embedding(self) -> None:
        """Raise on a malformed configuration now, not in the first search."""
        if any(option is not None for option in self._embedding):
            self._embeddings  # noqa: B018 - creates them

    def _check_writable(self, to: str) -> None:
        if self._store.read_only:
            raise ReadOnly(f"{self.path} was opened with read_only=True: open it for writing to {to} it")

    def _clock(self) -> float:
        # Inlined, since every search calls this.
        now = self._now()
        return now if type(now) is float and BEGIN_OF_DATES <= now < END_OF_DATES else clock_time(now, StoreError)

    def _embeds(self) -> bool:
        return "_embeddings" in self.__dict__ and self._embeddings.affects_searches

    def _embeds_now(self) -> bool:
        return self._embeds() and self._answering()

    def _embeddings_of(self) -> Mapping[str, Embeddings]:
        return {self._tier.name: self._embeddings}

    def _tiers(self) -> Sequence[Tier]:
        return [self._tier]

    @abstractmethod
    def _as_tier(self, name: str, priority: float) -> ServedTier: ...

    def _settle(self) -> None:
        """Build what the next search would otherwise lack."""

    def _feedback_counts(self) -> Mapping[str, int]:
        with self._store.reading() as read:
            return self._remembered(read, "feedback", lambda: read.tables.feedback.counts(read))
