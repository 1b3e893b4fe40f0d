"""Retriever: what an application keeps to retrieve with."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from septet.errors import Closed, QueryError, SeptetError
from septet.inputs.arguments import called, flag, real, shown, utf8, whole
from septet.model.entry import Entry
from septet.query.deadline import deadline_of
from septet.retrieval.account.envelope import Envelope
from septet.retrieval.account.retrieval import Retrieval
from septet.retrieval.building import attributes_of, retrieval_of
from septet.retrieval.config import MAX_LIMIT, MAX_TIMEOUT_S, RetrievalConfig
from septet.retrieval.corpus import Asked, Corpus, RetrievalMode
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.planning.policy import Policy
from septet.retrieval.planning.query_words import normalized
from septet.retrieval.rules import Rules
from septet.retrieval.running import Runner
from septet.system.forks import OfOneProcess
from septet.watch.hooks import Watch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from septet.retrieval.account.explaining import RetrievalExplanation
    from septet.retrieval.expansion.expanding import Expanding
    from septet.watch.spans import Tracer

__all__ = ["Retriever"]

MOST_QUERY_CHARS, MOST_SCOPE = 100_000, 100
#: Hooks that are being told, in this thread or task: what they retrieve themselves is told to nobody.
_TELLING: ContextVar[bool] = ContextVar("septet_telling_retrieval", default=False)


class Retriever(OfOneProcess):
    """Retrieves from several corpora: plans, asks them side by side, fuses what they find, and judges the evidence.

    `Vault.retriever` and `Federation.retriever` make it. Threads may share it, and forked processes may use it.

    Attributes:
        config: what it was made from.
        policy: the knobs.
        corpora: what can be asked, by name.
    """

    _elsewhere = "make it in the other process, of a vault opened there"

    def __init__(
        self,
        config: RetrievalConfig,
        policy: Policy,
        corpora: Mapping[str, Corpus],
        rules: Rules,
        *,
        expanding: Expanding | None = None,
        timeout_s: float | None = None,
        on_retrieval: Callable[[Envelope], object] | None = None,
        tracer: Tracer | None = None,
        sqlite: Mapping[str, Any] | None = None,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self.config, self.policy, self.corpora = config, policy, corpora
        self._rules, self._timeout_s = rules, timeout_s
        self._runner = Runner(corpora, rules, expanding)
        self._on_retrieval, self._tracer, self._watch = on_retrieval, tracer, Watch(None, None, tracer)
        self._sqlite = sqlite or {}
        given: Callable[[], object] | None = close
        self._close: Callable[[], object] | None = called(given, "close", QueryError) or (lambda: None)

    def __repr__(self) -> str:
        return f"Retriever({self.config.profile!r}, {len(self.corpora)} corpora)"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def retrieve(
        self,
        query: str,
        *,
        limit: int | None = None,
        plan: RetrievalPlan | Mapping[str, Any] | None = None,
        corpora: Collection[str] | str | None = None,
        mode: RetrievalMode | None = None,
        verification: bool | None = None,
        scope: Mapping[str, object] | None = None,
        query_vector: ArrayLike | None = None,
        model: str | None = None,
        timeout_s: float | None = None,
    ) -> Retrieval:
        """Return what answers a query, best first, with an account of how it was found.

        Corpora are asked side by side. What is late, or fails, is left out, and a note says so.

        Args:
            query: a question or keywords.
            limit: at most so many hits, and so many of each list, 1 to 1,000; None for what the profile says.
            plan: a plan to follow instead of a new one, such as that of an earlier retrieval: the same corpora, mode
                and waves. Not together with ``corpora``, ``mode`` and ``verification``.
            corpora: ask these, whatever the plan would be.
            mode: ``full_text``, ``vector`` or ``hybrid``; None for what the plan says.
            verification: whether weak evidence may be verified by a second wave; None for what the plan says.
            scope: names and values that narrow what some corpora search, such as ``{"session": "s1"}``.
            query_vector: the query as a vector ``(d,)``.
            model: the model of that vector.
            timeout_s: answer after so many seconds with what was found by then, 0.01 to 86,400; None for the limit of
                the retriever.

        Raises:
            QueryError: an argument cannot be understood.
            VectorError: the vector holds what is no number, or nothing.
            StoreError: the vault cannot be read, and nothing else was asked that could.
        """
        given = {"limit": limit, "plan": plan, "corpora": corpora, "mode": mode, "verification": verification}
        more = {"scope": scope, "query_vector": query_vector, "model": model, "timeout_s": timeout_s}
        return self._watched(query, given | more)

    def plan(
        self,
        query: str,
        *,
        corpora: Collection[str] | str | None = None,
        mode: RetrievalMode | None = None,
        verification: bool | None = None,
    ) -> RetrievalPlan:
        """Return what `retrieve` would ask, and why; `RetrievalPlan.why` says it of one corpus.

        Args:
            query: as for `retrieve`.
            corpora: as for `retrieve`.
            mode: as for `retrieve`.
            verification: as for `retrieve`.

        Raises:
            QueryError: an argument cannot be understood.
            Closed: the retriever was closed.
        """
        self._check_open()
        return self._planned(_query(query), {"corpora": corpora, "mode": mode, "verification": verification})

    def explain(
        self,
        query: str,
        id: str,
        *,
        limit: int | None = None,
        plan: RetrievalPlan | Mapping[str, Any] | None = None,
        corpora: Collection[str] | str | None = None,
        mode: RetrievalMode | None = None,
        verification: bool | None = None,
        scope: Mapping[str, object] | None = None,
        query_vector: ArrayLike | None = None,
        model: str | None = None,
        timeout_s: float | None = None,
    ) -> RetrievalExplanation:
        """Retrieve, and say where an entry stands in each list of each wave, or why it is in none.

        Args:
            query: as for `retrieve`, as are the other arguments.
            id: of the entry, as a hit carries it.

        Raises:
            QueryError: as for `retrieve`.
            VectorError: as for `retrieve`.
            StoreError: as for `retrieve`.
        """
        from septet.retrieval.account.explaining import explained

        wanted = utf8(id, "id", QueryError)
        given = {"limit": limit, "plan": plan, "corpora": corpora, "mode": mode, "verification": verification}
        more = {"scope": scope, "query_vector": query_vector, "model": model, "timeout_s": timeout_s}
        found = self._watched(query, given | more)
        rules, ordered = self._rules, found._ordered
        return explained(found, wanted, self.corpora, rules.kept(ordered), rules.least_score(ordered))

    def get(self, id: str) -> Entry | None:
        """Return a whole entry by the id that a hit carries, from the first corpus that has it; None if none has.

        Raises:
            QueryError: the id is no text.
            StoreError: no corpus has it, and one of them cannot be read.
        """
        self._check_open()
        wanted = utf8(id, "id", QueryError)
        fault: Exception | None = None
        for corpus in self.corpora.values():
            try:
                if (found := corpus.get(wanted)) is not None:
                    return found
            except Exception as error:  # noqa: BLE001 - a corpus may be foreign code; another one may have the entry
                fault = fault or error
        if isinstance(fault, SeptetError):
            raise fault
        return None

    def close(self) -> None:
        """Let go of what the retriever opened itself; using it afterwards raises `Closed`. Closing twice is fine.

        The vault that it was made from stays open. What is still being asked is not waited for.
        """
        close, self._close = self._close, None
        if close is not None:
            close()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._close is None:
            raise Closed("the retriever was closed: make another one")

    def _watched(self, query: str, given: Mapping[str, Any]) -> Retrieval:
        """Retrieve, inside a span, and tell the hook."""
        self._check_open()
        span = None if self._tracer is None else self._tracer.begin("septet.retrieve", db__operation__name="retrieve")
        fault: BaseException | None = None
        said: dict[str, Any] = {}
        try:
            found = self._retrieve(query, given)
            said = attributes_of(found)
        except BaseException as error:
            fault = error
            raise
        finally:
            if span is not None:
                span.close(fault, said)
        if self._on_retrieval is not None and not _TELLING.get():
            token = _TELLING.set(True)
            try:
                self._watch.tell(self._on_retrieval, found.envelope)
            finally:
                _TELLING.reset(token)
        return found

    def _retrieve(self, query: str, given: Mapping[str, Any]) -> Retrieval:
        started = time.perf_counter()
        asked, most, plan = self._request(query, given)
        rounds = self._runner.rounds(plan, asked)
        name, shown = self.config.profile, self.config.search.recall
        return retrieval_of(query, plan, rounds, self._rules, most, name, started, self._sqlite, shown)

    def _request(self, query: str, given: Mapping[str, Any]) -> tuple[Asked, int, RetrievalPlan]:
        """Return what is asked, how many hits are wanted, and the plan.

        Raises:
            QueryError: an argument cannot be understood.
            VectorError: the vector holds what is no number, or nothing.
        """
        text = _query(query)
        timeout_s = self._timeout_s if given["timeout_s"] is None else given["timeout_s"]
        deadline = None
        if timeout_s is not None:
            deadline = deadline_of(real(timeout_s, "timeout_s", QueryError, 0.01, MAX_TIMEOUT_S))
        limit, most = self._rules.limit, self._rules.most
        if given["limit"] is not None:
            limit = most = whole(given["limit"], "limit", QueryError, 1, MAX_LIMIT)
        vector = None
        if given["query_vector"] is not None:
            from septet.model.vector import query_vector

            vector = query_vector(given["query_vector"]).scan
        model = None if given["model"] is None else utf8(given["model"], "model", QueryError)
        plan = self._planned(text, given)
        asked = Asked(plan.query, limit, plan.mode, 0, vector, model, _scope(given["scope"]), deadline)
        return asked, most, plan

    def _planned(self, query: str, given: Mapping[str, Any]) -> RetrievalPlan:
        """Return the plan that is given, or a new one.

        Raises:
            QueryError: an argument cannot be understood, or names a corpus that there is not.
        """
        corpora, mode, verification = given["corpora"], given["mode"], given["verification"]
        if verification is not None:
            flag(verification, "verification", QueryError)
        names = [corpora] if isinstance(corpora, str) else corpora
        if (plan := given.get("plan")) is not None:
            if (corpora, mode, verification) != (None, None, None):
                raise QueryError("a plan says what is asked, and how: leave out corpora, mode and verification")
            return self._replayed(query, plan)
        made = self._rules.plan(query, names, mode, tuple(self.corpora))
        return made if verification is None else replace(made, allow_verification_pass=verification)

    def _replayed(self, query: str, plan: object) -> RetrievalPlan:
        made = plan if isinstance(plan, RetrievalPlan) else RetrievalPlan.from_dict(_mapping(plan))
        if missing := [name for name in made.corpora if name not in self.corpora]:
            known = ", ".join(self.corpora)
            raise QueryError(f"the plan asks {shown(missing[0])}, which there is not: known are {known}")
        text = normalized(query)
        return made if text == made.normalized_query else replace(made, normalized_query=text, rewritten_query=None)


def _mapping(plan: object) -> Mapping[str, object]:
    if not isinstance(plan, Mapping):
        raise QueryError(f"plan is {shown(plan)}: wanted a RetrievalPlan, or a dict of one")
    return plan


def _query(query: object) -> str:
    return utf8(query, "query", QueryError, MOST_QUERY_CHARS)


def _scope(scope: object) -> Mapping[str, object]:
    if scope is None:
        return {}
    if not isinstance(scope, Mapping) or len(scope) > MOST_SCOPE:
        raise QueryError(f"scope is {shown(scope)}: wanted a dict of names and values, {MOST_SCOPE} at most")
    return {utf8(name, "a name of scope", QueryError): value for name, value in scope.items()}
