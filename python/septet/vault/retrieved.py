"""Retrievers of a vault or a federation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from septet.retrieval.account.envelope import Envelope
    from septet.retrieval.config import RetrievalConfigLike
    from septet.retrieval.corpora.given import CorpusLike
    from septet.retrieval.expansion.expanding import Expander
    from septet.retrieval.knowledge import Knowledge
    from septet.retrieval.planning.environment import Resolver
    from septet.retrieval.planning.policy import Policy
    from septet.retrieval.retriever import Retriever
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
