"""Retriever: the object an application keeps for retrievals."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from septet.errors import Closed, QueryError, SeptetError
from septet.inputs.arguments import called, flag, real, shown, utf8, whole
from septet.model.entry import Entry
from septet.query.refine import deadline_of
from septet.retrieval.account.envelope import Envelope
from septet.retrieval.account.retrieval import Retrieval, attributes_of, retrieval_of
from septet.retrieval.config import MAX_LIMIT, MAX_TIMEOUT_S, RetrievalConfig
from septet.retrieval.corpus import Corpus, CorpusRequest, RetrievalMode
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.planning.policy import Policy
from septet.retrieval.planning.queries import normalized
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

MOST_QUERY_CHARS, MOST_SCOPE = 100_000, 100
#: True while a hook runs in this thread or task: its own retrievals call no hook.
_IN_HOOK: ContextVar[bool] = ContextVar("septet_in_retrieval_hook", default=False)


class Retriever(OfOneProcess):
    """Retrieves from several corpora: plans, searches them in parallel, fuses their hits, and judges the evidence.

    Create it with `Vault.retriever` or `Federation.retriever`. Threads and forked processes may share it.

    Attributes:
        config: the configuration.
        policy: the knobs.
        corpora: the corpora by name.
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
        on_close: Callable[[], object] | None = close
        self._close: Callable[[], object] | None = called(on_close, "close", QueryError) or (lambda: None)

    def __repr__(self) -> str:
        return f"Retriever({self.config.profile!r}, {len(self.corpora)} corpora)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        """Return the hits for a query, best first, with an account of the search.

        Corpora are searched in parallel. A late or failing corpus is left out, with a note.

        Args:
            query: a question or keywords.
            limit: maximum number of hits, and of items in each list, 1 to 1,000; None for the profile's.
            plan: a plan to follow instead of a new one, such as that of an earlier retrieval: the same corpora, mode
                and waves. Not together with ``corpora``, ``mode`` and ``verification``.
            corpora: the corpora to search, regardless of the plan.
            mode: ``full_text``, ``vector`` or ``hybrid``; None for the plan's.
            verification: allow a second wave to verify weak evidence; None for the plan's.
            scope: names and values that narrow the search of some corpora, such as ``{"session": "s1"}``.
            query_vector: the query as a vector ``(d,)``.
            model: the model of that vector.
            timeout_s: maximum seconds, 0.01 to 86,400: then the hits so far are returned; None for the limit of the
                retriever.

        Raises:
            QueryError: an argument is invalid.
            VectorError: the vector is empty or contains a non-finite number.
            StoreError: the vault cannot be read, and no other corpus answered.
        """
        options = {"limit": limit, "plan": plan, "corpora": corpora, "mode": mode, "verification": verification}
        search_options = {"scope": scope, "query_vector": query_vector, "model": model, "timeout_s": timeout_s}
        return self._watched(query, options | search_options)

    def plan(
        self,
        query: str,
        *,
        corpora: Collection[str] | str | None = None,
        mode: RetrievalMode | None = None,
        verification: bool | None = None,
    ) -> RetrievalPlan:
        """Return the plan of `retrieve`; `RetrievalPlan.why` gives the reason for a corpus.

        Args:
            query: as for `retrieve`.
            corpora: as for `retrieve`.
            mode: as for `retrieve`.
            verification: as for `retrieve`.

        Raises:
            QueryError: an argument is invalid.
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
        """Retrieve, and report the rank of an entry in each list of each wave, or why it is missing.

        Args:
            query: as for `retrieve`, as are the other arguments.
            id: of the entry, as in a hit.

        Raises:
            QueryError: as for `retrieve`.
            VectorError: as for `retrieve`.
            StoreError: as for `retrieve`.
        """
        from septet.retrieval.account.explaining import explained

        entry_id = utf8(id, "id", QueryError)
        options = {"limit": limit, "plan": plan, "corpora": corpora, "mode": mode, "verification": verification}
        search_options = {"scope": scope, "query_vector": query_vector, "model": model, "timeout_s": timeout_s}
        retrieval = self._watched(query, options | search_options)
        rules, ordered = self._rules, retrieval._ordered
        return explained(retrieval, entry_id, self.corpora, rules.kept(ordered), rules.least_score(ordered))

    def get(self, id: str) -> Entry | None:
        """Return a whole entry by the id of a hit, from the first corpus that has it; None if none has.

        Raises:
            QueryError: the id is not text.
            StoreError: no corpus has it, and one of them cannot be read.
        """
        self._check_open()
        entry_id = utf8(id, "id", QueryError)
        fault: Exception | None = None
        for corpus in self.corpora.values():
            try:
                if (entry := corpus.get(entry_id)) is not None:
                    return entry
            except Exception as error:  # noqa: BLE001 - a corpus may be foreign code; another one may have the entry
                fault = fault or error
        if isinstance(fault, SeptetError):
            raise fault
        return None

    def close(self) -> None:
        """Release the resources that the retriever opened; later calls raise `Closed`. Closing twice is fine.

        The vault that it was made from stays open. Requests in progress are not awaited.
        """
        close, self._close = self._close, None
        if close is not None:
            close()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._close is None:
            raise Closed("the retriever was closed: make another one")

    def _watched(self, query: str, options: Mapping[str, Any]) -> Retrieval:
        """Retrieve inside a span, and call the hook."""
        self._check_open()
        span = None if self._tracer is None else self._tracer.begin("septet.retrieve", db__operation__name="retrieve")
        fault: BaseException | None = None
        attributes: dict[str, Any] = {}
        try:
            retrieval = self._retrieve(query, options)
            if span is not None:
                attributes = attributes_of(retrieval)
        except BaseException as error:
            fault = error
            raise
        finally:
            if span is not None:
                span.close(fault, attributes)
        if self._on_retrieval is not None and not _IN_HOOK.get():
            token = _IN_HOOK.set(True)
            try:
                self._watch.tell(self._on_retrieval, retrieval.envelope)
            finally:
                _IN_HOOK.reset(token)
        return retrieval

    def _retrieve(self, query: str, options: Mapping[str, Any]) -> Retrieval:
        started = time.perf_counter()
        request, most, plan = self._request(query, options)
        rounds = self._runner.rounds(plan, request)
        profile_name, shown = self.config.profile, self.config.search.recall
        return retrieval_of(query, plan, rounds, self._rules, most, profile_name, started, self._sqlite, shown)

    def _request(self, query: str, options: Mapping[str, Any]) -> tuple[CorpusRequest, int, RetrievalPlan]:
        """Return the request, the maximum number of hits, and the plan."""
        text = _query(query)
        timeout_s = self._timeout_s if options["timeout_s"] is None else options["timeout_s"]
        deadline = None
        if timeout_s is not None:
            deadline = deadline_of(real(timeout_s, "timeout_s", QueryError, 0.01, MAX_TIMEOUT_S))
        limit, most = self._rules.limit, self._rules.most
        if options["limit"] is not None:
            limit = most = whole(options["limit"], "limit", QueryError, 1, MAX_LIMIT)
        vector = None
        if options["query_vector"] is not None:
            from septet.model.vector import query_vector

            vector = query_vector(options["query_vector"]).scan
        model = None if options["model"] is None else utf8(options["model"], "model", QueryError)
        plan = self._planned(text, options)
        request = CorpusRequest(plan.query, limit, plan.mode, 0, vector, model, _scope(options["scope"]), deadline)
        return request, most, plan

    def _planned(self, query: str, options: Mapping[str, Any]) -> RetrievalPlan:
        """Return the caller's plan, or a new one."""
        corpora, mode, verification = options["corpora"], options["mode"], options["verification"]
        if verification is not None:
            flag(verification, "verification", QueryError)
        names = [corpora] if isinstance(corpora, str) else corpora
        if (plan := options.get("plan")) is not None:
            if (corpora, mode, verification) != (None, None, None):
                raise QueryError("plan includes corpora, mode and verification: leave these out")
            # A changed query is not rewritten as the earlier one.
            replayed = RetrievalPlan.from_dict(plan.to_dict() if isinstance(plan, RetrievalPlan) else plan)
            if missing := [name for name in replayed.corpora if name not in self.corpora]:
                known = ", ".join(self.corpora)
                raise QueryError(f"unknown corpus {shown(missing[0])} in plan; available: {known}")
            text = normalized(query)
            is_same = text == replayed.normalized_query
            return replayed if is_same else replace(replayed, normalized_query=text, rewritten_query=None)
        new_plan = self._rules.plan(query, names, mode, tuple(self.corpora))
        return new_plan if verification is None else replace(new_plan, allow_verification_pass=verification)


def _query(query: object) -> str:
    return utf8(query, "query", QueryError, MOST_QUERY_CHARS)


def _scope(scope: object) -> Mapping[str, object]:
    if scope is None:
        return {}
    if not isinstance(scope, Mapping) or len(scope) > MOST_SCOPE:
        raise QueryError(f"scope is {shown(scope)}: wanted a dict of names and values, {MOST_SCOPE} at most")
    return {utf8(name, "a name of scope", QueryError): value for name, value in scope.items()}
