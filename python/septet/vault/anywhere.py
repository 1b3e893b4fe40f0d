"""The base of all vaults, in files and on servers."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, cast

from septet._core import Lock
from septet.errors import EntryError, ReadOnly, StoreError
from septet.inputs.arguments import BEGIN_OF_DATES, END_OF_DATES, called, clock_time, file_path, whole
from septet.profiles import ProfileLike, resolve
from septet.search.context import GivesContext
from septet.system.forks import OfOneProcess
from septet.vault.embedded import Embedded
from septet.vault.history import Historic, Judged
from septet.vault.listed import Listed
from septet.vault.near import KnowsNear, Similar
from septet.vault.reading import Readable, VectorReader
from septet.watch.hooks import watch_of
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from septet.embedding.embeddings import Embeddings
    from septet.exchange.source import Format, Imported, OnError, Rest
    from septet.files.drift import OnSearch
    from septet.model.fields import FrameLike, Split
    from septet.model.stats import Optimized
    from septet.retrieval.account.envelope import Envelope
    from septet.retrieval.config import RetrievalConfigLike
    from septet.retrieval.corpora.given import CorpusLike
    from septet.retrieval.expansion.expanding import Expander
    from septet.retrieval.knowledge import Knowledge
    from septet.retrieval.planning.knobs import Resolver
    from septet.retrieval.planning.policy import Policy
    from septet.retrieval.retriever import Retriever
    from septet.store.protocol import Store
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


class Copied(Historic, Judged):
    """A store with export and import."""

    def export(self, target: str | os.PathLike[str] | IO[str]) -> int:
        """Write everything (entries, memories, vectors, links, feedback) as JSON lines; return the number of lines.

        Args:
            target: an open stream, or a file, which appears when complete; a new file is readable by its owner only.

        Raises:
            StoreError: the vault cannot be read, or the target cannot be written: it belongs to a vault or a database
                in use, or is not a file.
        """
        from septet.exchange.copying import export

        # A module, such as os, may have a function of the name.
        is_stream = hasattr(target, "write") and not isinstance(target, ModuleType)
        return export(self._store, target if is_stream else file_path(target, "target", StoreError))

    @with_progress("entries", EntryError)
    def import_(
        self,
        source: str | os.PathLike[str] | Iterable[Any] | FrameLike,
        *,
        format: Format | None = None,
        map: Mapping[str, str | None] | None = None,
        rest: Rest = "attrs",
        on_error: OnError = "stop",
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Import an export, or records and texts of other programs.

        Each record becomes an entry. Its fields are those of `add`, after ``map``; a missing title is taken from the
        first line of the text. Times may be ISO dates (UTC without a zone, with a note) or epoch seconds, tags one
        comma-separated text; links and feedback of an export come last. Ids are those of the source, or derived from
        title and text, so importing the same source again changes nothing: entries that are already stored are
        counted as ``unchanged`` and not written. After an interrupt, import the source again.

        An `export` is restored exactly. Other entries are stored with ``import:`` and the file name as ``source``, and
        ``unverified`` as ``trust``, unless the record has these fields; raise the trust with `update` after a review.

        Args:
            source: a file; a folder of texts (each file an entry, its path in the folder the id); an open stream; lines
                of JSON; dicts and entries, also from an iterator; or a data frame of pandas, polars or Arrow.
            format: ``jsonl`` (an object per line), ``json`` (an array, or concatenated objects, read incrementally),
                ``csv`` (with a header; the delimiter is detected), ``tsv``, or ``text``; None detects it by the file
                name, else by the first bytes. All are UTF-8.
            map: fields of the source to those of an entry: ``{"body": "description", "meta.author": "attrs.author",
                "junk": None}``; None drops a field.
            rest: unknown fields are stored in ``attrs``, dropped (``drop``), or raise an error (``error``).
            on_error: action for a record that cannot be stored: ``stop``, ``skip``, or a function that is called with
                the `ImportFault`; the record is then skipped.
            vectors: numbers of shape ``(n, d)``, one row per record of a list or a frame, in order.
            model: the model that produced ``vectors``.
            split: as for `add_many`.
            progress: called after each transaction with the number of entries stored and the total, which is estimated
                from the part of a file that was read, or None; True shows a bar, as of `embed`.

        Returns:
            Counts of stored, unchanged and skipped records.

        Raises:
            BatchError: a record cannot be stored; the ``written`` entries before it are.
            EntryError: the source cannot be read, or an option is unknown.
        """
        from septet.exchange.run import import_from

        options: dict[str, Any] = {"format": format, "map": map, "rest": rest, "on_error": on_error}
        report = reporter(progress)
        return import_from(self, source, **options, vectors=vectors, model=model, split=split, progress=report)


#: Maximum earlier versions per entry.
MOST_VERSIONS = 1_000_000


class AnyVault(
    Readable, Listed, VectorReader, Embedded, Similar, GivesContext, KnowsNear, Copied, Retrievable, OfOneProcess
):
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
        self._own = Lock(again=True)
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
