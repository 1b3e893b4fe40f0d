"""Reading methods of a client: the arguments and results of those of `Vault`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from septet.client.answers import (
    HitContext,
    context_of,
    entry_of,
    explanation_of,
    facets_of,
    page_of,
    results_of,
)
from septet.client.steps import Steps, profile_data
from septet.client.transport import GRACE_S, ConnectionSettings, ServerCall
from septet.client.wire import present
from septet.errors import QueryError, Unreachable
from septet.inputs.arguments import listed, real, shown, utf8, whole
from septet.model.entry import Entry
from septet.model.pages import Page
from septet.profiles.builtin import BUILTIN
from septet.query.options import (
    DEFAULTS,
    RECALL_OPTIONS,
    RecallOptions,
    SearchOptions,
    takes_options,
    takes_recall_options,
    unexpected,
)
from septet.query.plan import make_plan
from septet.search.context import GivesContext
from septet.vault.batch import ids_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.listing.request import OrderBy
    from septet.model.context import Context
    from septet.model.explanation import Explanation
    from septet.model.fields import Time
    from septet.model.pages import Facets
    from septet.model.results import Results
    from septet.profiles import ProfileLike
    from septet.query.facets import Bucket

#: Maximum number of ids, queries or entries per call; of results; of values of a field.
MOST_AT_ONCE, MOST_RESULTS, MOST_VALUES = 500, 1_000, 1_000
#: Maximum length of an id, in characters.
MOST_ID_CHARS = 256


class Reads:
    """The steps of the reading methods, for a server with these settings."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings

    @takes_options
    def search(self, query: str, **options: Unpack[SearchOptions]) -> Steps[Results]:
        """Find the entries that answer a query, best first; see `Vault.search`.

        Raises:
            QueryError: as for a vault, and for ``rerank=``: a function cannot be sent.
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        request = _options("search", query, options)
        answer = yield ServerCall("search", {"query": query, **request}, self._within(options))
        return results_of(answer, lambda profile: _hit_context(query, profile, options))

    @takes_recall_options
    def recall(self, query: str, limit: int | None = None, **options: Unpack[RecallOptions]) -> Steps[Results]:
        """Find the memories that answer a query, best first; see `Vault.recall`.

        Raises:
            SeptetError: as `search`.
        """
        if not options.keys() <= RECALL_OPTIONS:
            raise unexpected("recall", options, RECALL_OPTIONS)
        named: Any = {**options, "limit": limit}
        request = _options("recall", query, named)
        answer = yield ServerCall("recall", {"query": query, **request}, self._within(options))
        return results_of(answer, lambda profile: _hit_context(query, profile, named))

    @wraps(GivesContext.context, assigned=(), updated=())
    def context(self, query: str, **options: Any) -> Steps[Context]:
        """Return what belongs into the prompt of a language model for a query; see `Vault.context`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        signature(GivesContext.context).bind(self, query, **options)
        searched = {name: value for name, value in options.items() if name in DEFAULTS and value is not None}
        request = {**present(options), **_options("context", query, searched)}
        answer = yield ServerCall("context", {"query": query, **request}, self._within(options))
        return context_of(answer, lambda profile: _hit_context(query, profile, searched))

    @takes_options
    def search_many(
        self,
        queries: Sequence[str],
        *,
        query_vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
        threads: int | None = None,
        **options: Unpack[SearchOptions],
    ) -> Steps[list[Results]]:
        """Search for many queries, 500 per call; see `Vault.search_many`.

        Queries with ``query_vectors`` are one call each. ``threads`` is ignored: the server chooses.

        Raises:
            SeptetError: as `search`.
        """
        texts = listed(queries, "queries", QueryError, "a sequence of queries", of=str)
        if options.get("query_vector") is not None:
            raise QueryError("search_many takes query_vectors=, one for each query, not query_vector=")
        results: list[Results] = []
        if query_vectors is not None:
            vectors = listed(query_vectors, "query_vectors", QueryError, "one vector for each query")
            if len(vectors) != len(texts):
                raise QueryError(f"{len(vectors)} query_vectors for {len(texts)} queries: wanted one for each")
            for text, vector in zip(texts, vectors):
                named: Any = {**options, "query_vector": vector}
                results.append((yield from self.search(text, **named)))
            return results
        for start in range(0, len(texts), MOST_AT_ONCE):
            part = texts[start : start + MOST_AT_ONCE]
            request = {"queries": part, **_options("search_many", part[0], options)}
            answer = yield ServerCall("search_many", request, self._within(options))
            if len(answer["results"]) != len(part):
                raise self._unreachable(f"{len(answer['results'])} results for {len(part)} queries")
            contexts = (partial(_hit_context, text, options=options) for text in part)
            results += map(results_of, answer["results"], contexts)
        return results

    @takes_options
    def explain(self, query: str, id: str, **options: Unpack[SearchOptions]) -> Steps[Explanation]:
        """Explain why an entry ranks where it does; see `Vault.explain`.

        Raises:
            EntryNotFound: no entry has this id.
            SeptetError: as `search`.
        """
        request = _options("explain", query, options)
        request.pop("mode", None)
        request = {"query": query, "id": utf8(id, "id", QueryError), **request}
        return explanation_of((yield ServerCall("explain", request, self._within(options))))

    # -- without a query -----------------------------------------------------------------------------------------------

    def load(self, ids: Iterable[str]) -> Steps[list[Entry]]:
        """Return full entries in the order of the ids; see `Vault.load`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        entry_ids = ids_of([ids] if isinstance(ids, str) else ids)
        known: dict[str, Entry] = {}
        # No entry has an empty id or a longer one.
        valid = [id_ for id_ in dict.fromkeys(entry_ids) if id_ and len(id_) <= MOST_ID_CHARS]
        for start in range(0, len(valid), MOST_AT_ONCE):
            answer = yield ServerCall("load", {"ids": valid[start : start + MOST_AT_ONCE]})
            known.update((id_["id"], entry_of(id_)) for id_ in answer["entries"])
        return [known[id_] for id_ in entry_ids if id_ in known]

    def get(self, id: str) -> Steps[Entry | None]:
        """Return the entry with this id, or None; see `Vault.get`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        if not 0 < len(utf8(id, "id")) <= MOST_ID_CHARS:
            return None
        return next(map(entry_of, (yield ServerCall("load", {"ids": [id]}))["entries"]), None)

    def entries(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        order_by: OrderBy = "created_at",
        limit: int | None = 100,
        after: str | None = None,
        as_of: Time | None = None,
    ) -> Steps[Page]:
        """List entries without a query, page by page; see `Vault.entries`.

        More than 500 entries, or all of them (``limit=None``), are several calls; entries may change between them.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        most = None if limit is None else whole(limit, "limit", QueryError, 1)
        request = {"order_by": order_by, **present({"where": where, "as_of": as_of})}
        rows, known = list[Entry](), set[str]()
        while True:
            size = MOST_AT_ONCE if most is None else min(most - len(rows), MOST_AT_ONCE)
            page = page_of((yield ServerCall("entries", {**request, "limit": size, **present({"after": after})})))
            after = page.next
            # A server that repeats entries would make this loop endless.
            if len(page) > size or (after is not None and known.issuperset(page.ids)):
                raise self._unreachable(f"{len(page)} entries instead of {size} further ones")
            rows += page.entries
            known.update(page.ids)
            if after is None or (most is not None and len(rows) >= most):
                return Page(tuple(rows), after)

    def facets(
        self,
        field: str,
        where: Mapping[str, Any] | None = None,
        *,
        by: Bucket | None = None,
        limit: int | None = 100,
        as_of: Time | None = None,
    ) -> Steps[Facets]:
        """Return the number of entries by value of a field, at most 1,000 values; see `Vault.facets`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        most = MOST_VALUES if limit is None else whole(limit, "limit", QueryError, 1)
        optional = present({"where": where, "by": by, "as_of": as_of})
        return facets_of((yield ServerCall("facets", {"field": field, "limit": min(most, MOST_VALUES), **optional})))

    def status(self) -> Steps[dict[str, Any]]:
        """Return version, tiers, profiles, counts, and whether the server accepts writes.

        Raises:
            Unreachable: the server does not answer.
        """
        return dict((yield ServerCall("status")))

    def retrieve(
        self,
        query: str,
        *,
        limit: int | None = None,
        corpora: Sequence[str] | None = None,
        mode: str | None = None,
        scope: Mapping[str, object] | None = None,
        profile: str | None = None,
        timeout_s: float | None = None,
    ) -> Steps[dict[str, Any]]:
        """Search several corpora, and return the dict of `Retrieval.to_dict`; see `Retriever.retrieve`.

        Without a ``profile``, that of the server's configuration is used.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        request = present({"limit": limit, "corpora": corpora, "mode": mode, "timeout_s": timeout_s})
        request |= present({"scope": scope, "profile": profile})
        return dict((yield ServerCall("retrieve", {"query": query, **request}, self._within({"timeout_s": timeout_s}))))

    def _unreachable(self, detail: str) -> Unreachable:
        return Unreachable(f"{self._settings.url} answers with {detail}")

    def _within(self, options: Mapping[str, Any]) -> float | None:
        """Return the maximum time of a call: that of the search plus a grace period; None for the client's."""
        timeout_s = options.get("timeout_s")
        return None if timeout_s is None else real(timeout_s, "timeout_s", QueryError) + GRACE_S


def _options(method: str, query: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a search that differ from the defaults, checked as by a vault.

    Raises:
        QueryError: an option is invalid, or cannot be sent.
    """
    if len({**DEFAULTS, **options}) != len(DEFAULTS):
        raise unexpected(method, options)
    if options.get("rerank") is not None:
        raise QueryError(
            "rerank= is a function, which cannot be sent: sort the hits by it, or make the client a tier of a "
            "Federation, which supports it"
        )
    _plan(query, options, options.get("profile"))
    request = {name: value for name, value in options.items() if value is not DEFAULTS[name]}
    if request.get("profile") is not None:
        request["profile"] = profile_data(request["profile"])
    if isinstance(limit := request.get("limit"), int) and limit > MOST_RESULTS:
        raise QueryError(
            f"limit is {shown(limit)}: a server returns at most {MOST_RESULTS:,} results; use offset= for more"
        )
    return request


def _plan(query: str, options: Mapping[str, Any], profile: ProfileLike | None) -> Any:
    named = {**DEFAULTS, **options, "tiers": None}
    return make_plan(query, now=0.0, profile="septet" if profile is None else profile, options=named, embeds=True)


def _hit_context(query: str, profile: str, options: Mapping[str, Any]) -> HitContext:
    """Return the query words and snippet rules of full hits, as a local search would."""
    named = options.get("profile")
    used = named if named is not None else profile if profile in BUILTIN else None
    plan = _plan(query, options, used)
    words, rules = plan.query, plan.profile.text
    sought = ((), words.terms, False) if words.steps else (words.terms, words.begun, words.grams)
    return sought, rules.snippet == "match", rules.snippet_chars
