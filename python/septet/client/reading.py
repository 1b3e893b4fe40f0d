"""What a client reads: each method asks as that of `Vault`, and returns what that returns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from septet.client.answers import (
    Shown,
    entry_of,
    explanation_of,
    facets_of,
    link_of,
    page_of,
    results_of,
    stats_of,
    version_of,
    weights_of,
)
from septet.client.steps import Steps
from septet.client.transport import GRACE_S, Ask, Settings
from septet.errors import EntryError, QueryError, Unreachable
from septet.inputs.arguments import flag, listed, real, shown, utf8, whole
from septet.model.entry import Entry
from septet.model.pages import Page
from septet.profiles import resolve
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
from septet.vault.batch import ids_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.listing.counting import Bucket
    from septet.listing.request import OrderBy
    from septet.model.entry import Version
    from septet.model.explanation import Explanation
    from septet.model.fields import Time
    from septet.model.pages import Facets
    from septet.model.results import Results
    from septet.model.stats import Stats
    from septet.profiles import ProfileLike
    from septet.query.options import Mode
    from septet.ranking.adaptive import Weights
    from septet.sqlite.tables.links import Link

__all__ = ["Reads"]

#: So many ids, queries or entries one call names, and so many results it returns.
MOST_AT_ONCE, MOST_RESULTS = 500, 1_000
#: Options that are functions, or about them.
_AT_HOME = ("reranker", "rerank_top", "rerank_timeout_s")


class Reads:
    """The steps of methods that read, of a server with these settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @takes_options
    def search(self, query: str, **options: Unpack[SearchOptions]) -> Steps[Results]:
        """Find the entries that answer a query, best first; see `Vault.search`.

        Raises:
            QueryError: as for a vault, and for ``reranker=``: a function cannot travel.
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        request = _options("search", query, options)
        answer = yield Ask("search", {"query": query, **request}, self._within(options))
        return results_of(answer, lambda profile: _shown(query, profile, options))

    @takes_recall_options
    def recall(self, query: str, limit: int | None = None, **options: Unpack[RecallOptions]) -> Steps[Results]:
        """Find the memories that answer a query, best first; see `Vault.recall`.

        Raises:
            SeptetError: as `search`.
        """
        if not options.keys() <= RECALL_OPTIONS:
            raise unexpected("recall", options, RECALL_OPTIONS)
        given: Any = {**options, "limit": limit}
        request = _options("recall", query, given)
        answer = yield Ask("recall", {"query": query, **request}, self._within(options))
        return results_of(answer, lambda profile: _shown(query, profile, given))

    @takes_options
    def search_many(
        self,
        queries: Sequence[str],
        *,
        query_vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
        threads: int | None = None,
        **options: Unpack[SearchOptions],
    ) -> Steps[list[Results]]:
        """Search for many queries, some hundred in one call; see `Vault.search_many`.

        Queries with ``query_vectors`` are calls of their own. The server chooses its ``threads``.

        Raises:
            SeptetError: as `search`.
        """
        texts = listed(queries, "queries", QueryError, "a sequence of queries", of=str)
        if options.get("query_vector") is not None:
            raise QueryError("search_many takes query_vectors=, one for each query, and no query_vector=")
        found: list[Results] = []
        if query_vectors is not None:
            vectors = listed(query_vectors, "query_vectors", QueryError, "one vector for each query")
            if len(vectors) != len(texts):
                raise QueryError(f"{len(vectors)} query_vectors for {len(texts)} queries: wanted one for each")
            for text, vector in zip(texts, vectors):
                given: Any = {**options, "query_vector": vector}
                found.append((yield from self.search(text, **given)))
            return found
        for start in range(0, len(texts), MOST_AT_ONCE):
            part = texts[start : start + MOST_AT_ONCE]
            request = {"queries": part, **_options("search_many", part[0], options)}
            answer = yield Ask("search_many", request, self._within(options))
            if len(answer["results"]) != len(part):
                raise self._wrong(f"{len(answer['results'])} results for {len(part)} queries")
            found += map(results_of, answer["results"], (partial(_shown, text, options=options) for text in part))
        return found

    @takes_options
    def explain(self, query: str, id: str, **options: Unpack[SearchOptions]) -> Steps[Explanation]:
        """Explain why an entry ranks where it does; see `Vault.explain`.

        Raises:
            EntryNotFound: no entry has this id.
            SeptetError: as `search`.
        """
        request = _options("explain", query, options)
        request.pop("mode", None)
        asked = {"query": query, "id": utf8(id, "id", QueryError), **request}
        return explanation_of((yield Ask("explain", asked, self._within(options))))

    def similar(
        self,
        id: str | None = None,
        *,
        text: str | None = None,
        vector: ArrayLike | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
        where: Mapping[str, object] | None = None,
        kinds: str | Collection[str] | None = None,
        include_expired: bool = False,
        include_memories: bool = False,
        model: str | None = None,
        mode: Mode = "full",
    ) -> Steps[Results]:
        """Find entries like an entry, a text or a vector; see `Vault.similar`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        given = {"id": id, "text": text, "vector": vector, "min_similarity": min_similarity, "where": where}
        asked = {"limit": limit, "include_expired": include_expired, "include_memories": include_memories, "mode": mode}
        more = _given({**given, "kinds": kinds, "model": model})
        return results_of((yield Ask("similar", {**asked, **more})))

    def weights(self, *, profile: ProfileLike | None = None, vectors: bool | None = None) -> Steps[Weights]:
        """Return the weights that a search would give the signals now; see `Vault.weights`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        asked: dict[str, Any] = {} if profile is None else {"profile": _profile(profile)}
        if vectors is not None:
            flag(vectors, "vectors", QueryError)
            asked["vectors"] = vectors
        return weights_of((yield Ask("weights", asked)))

    # -- without a query -----------------------------------------------------------------------------------------------

    def load(self, ids: Iterable[str]) -> Steps[list[Entry]]:
        """Return whole entries in the order of the ids; see `Vault.load`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        known: dict[str, Entry] = {}
        # No entry has a longer id, or none.
        asked = [one for one in dict.fromkeys(wanted) if one and len(one) <= MOST_ID_CHARS]
        for start in range(0, len(asked), MOST_AT_ONCE):
            answer = yield Ask("load", {"ids": asked[start : start + MOST_AT_ONCE]})
            known.update((one["id"], entry_of(one)) for one in answer["entries"])
        return [known[one] for one in wanted if one in known]

    def get(self, id: str) -> Steps[Entry | None]:
        """Return the entry with this id, or None; see `Vault.get`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        if not 0 < len(utf8(id, "id")) <= MOST_ID_CHARS:
            return None
        return next(map(entry_of, (yield Ask("load", {"ids": [id]}))["entries"]), None)

    def get_many(self, ids: Iterable[str]) -> Steps[list[Entry | None]]:
        """Return one entry for each id, None for ids that do not exist; see `Vault.get_many`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        known = {entry.id: entry for entry in (yield from self.load(wanted))}
        return [known.get(one) for one in wanted]

    def ids_beginning(self, text: str, *, limit: int = 20) -> Steps[list[str]]:
        """Return the ids that begin with a text, in order; see `Vault.ids_beginning`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        asked = {"text": utf8(text, "text"), "limit": whole(limit, "limit", EntryError, 1)}
        return list((yield Ask("ids_beginning", asked))["ids"])

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

        Large pages, and all entries at once (``limit=None``), are several calls, each at the state of its time.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        most = None if limit is None else whole(limit, "limit", QueryError, 1)
        asked = {"order_by": order_by, **_given({"where": where, "as_of": as_of})}
        found, known = list[Entry](), set[str]()
        while True:
            left = MOST_AT_ONCE if most is None else min(most - len(found), MOST_AT_ONCE)
            page = page_of((yield Ask("entries", {**asked, "limit": left, **_given({"after": after})})))
            after = page.next
            # Of the same entries again and again there would be no end.
            if len(page) > left or (after is not None and known.issuperset(page.ids)):
                raise self._wrong(f"{len(page)} entries where {left} others are asked for")
            found += page.entries
            known.update(page.ids)
            if after is None or (most is not None and len(found) >= most):
                return Page(tuple(found), after)

    def count(self, where: Mapping[str, Any] | None = None, *, as_of: Time | None = None) -> Steps[int]:
        """Return how many entries pass a filter; see `Vault.count`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        return int((yield Ask("count", _given({"where": where, "as_of": as_of})))["count"])

    def facets(
        self,
        field: str,
        where: Mapping[str, Any] | None = None,
        *,
        by: Bucket | None = None,
        limit: int | None = 100,
        as_of: Time | None = None,
    ) -> Steps[Facets]:
        """Return how many entries have each value of a field, at most 1,000 values; see `Vault.facets`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        most = MOST_VALUES if limit is None else whole(limit, "limit", QueryError, 1)
        asked = {"field": field, "limit": min(most, MOST_VALUES), **_given({"where": where, "by": by, "as_of": as_of})}
        return facets_of((yield Ask("facets", asked)))

    def history(self, id: str) -> Steps[list[Version]]:
        """Return the earlier versions of an entry; see `Vault.history`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        return list(map(version_of, (yield Ask("history", {"id": utf8(id, "id")}))["versions"]))

    def links(self, id: str) -> Steps[list[Link]]:
        """Return the links from and to an entry; see `Vault.links`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        return list(map(link_of, (yield Ask("links", {"id": utf8(id, "id")}))["links"]))

    def stats(self) -> Steps[Stats]:
        """Count what the server holds; ``path`` is its address. See `Vault.stats`.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        asked = _given({"tier": self._settings.tier})
        return stats_of((yield Ask("stats", asked)), self._settings.url)

    def status(self) -> Steps[dict[str, Any]]:
        """Return what is served: version, tiers, profiles, counts, and whether it may be changed.

        Raises:
            Unreachable: the server does not answer.
        """
        return dict((yield Ask("status")))

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
        """Ask several corpora at once, and return the dict that `Retrieval.to_dict` makes; see `Retriever.retrieve`.

        Without a ``profile`` it is that of the server's configuration.

        Raises:
            SeptetError: as that method; `Unreachable` when the server does not answer.
        """
        asked = _given({"limit": limit, "corpora": corpora, "mode": mode, "timeout_s": timeout_s})
        asked |= _given({"scope": scope, "profile": profile})
        return dict((yield Ask("retrieve", {"query": query, **asked}, self._within({"timeout_s": timeout_s}))))

    def _wrong(self, what: str) -> Unreachable:
        return Unreachable(f"{self._settings.url} answers with {what}")

    def _within(self, options: Mapping[str, Any]) -> float | None:
        """Return how long a call may take: the search answers in its own time, if it has one."""
        timeout_s = options.get("timeout_s")
        return None if timeout_s is None else real(timeout_s, "timeout_s", QueryError) + GRACE_S


#: So many results, and values of a field, one call returns, and so long an id is.
MOST_RESULTS, MOST_VALUES, MOST_ID_CHARS = 1_000, 1_000, 256


def _given(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if value is not None}


def _profile(profile: ProfileLike) -> str | dict[str, Any]:
    """Return a profile as a server takes it: by a built-in name, or as a whole; a file is read here."""
    found = resolve(profile)
    return found.name if BUILTIN.get(found.name) is found else found.to_dict()


def _options(method: str, query: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a search that are not as they are by default, checked as a vault checks them.

    Raises:
        QueryError: one that cannot be understood, or cannot travel.
    """
    if len({**DEFAULTS, **options}) != len(DEFAULTS):
        raise unexpected(method, options)
    if options.get("reranker") is not None:
        raise QueryError(
            "reranker= is a function, which cannot travel: sort the hits by it, or make the client a tier of a "
            "Federation, which takes it"
        )
    _plan(query, options, options.get("profile"))
    asked = {name: value for name, value in options.items() if name not in _AT_HOME and value is not DEFAULTS[name]}
    if asked.get("profile") is not None:
        asked["profile"] = _profile(asked["profile"])
    if isinstance(limit := asked.get("limit"), int) and limit > MOST_RESULTS:
        raise QueryError(f"limit is {shown(limit)}: a server returns at most {MOST_RESULTS:,} results; turn the pages")
    return asked


def _plan(query: str, options: Mapping[str, Any], profile: ProfileLike | None) -> Any:
    given = {**DEFAULTS, **options, "tiers": None}
    return make_plan(query, now=0.0, profile="septet" if profile is None else profile, options=given, embeds=True)


def _shown(query: str, profile: str, options: Mapping[str, Any]) -> Shown:
    """Return what whole hits show of themselves, as a search here would say it."""
    named = options.get("profile")
    used = named if named is not None else profile if profile in BUILTIN else None
    plan = _plan(query, options, used)
    asked, rules = plan.query, plan.profile.text
    sought = ((), asked.terms, False) if asked.steps else (asked.terms, asked.begun, asked.grams)
    return sought, rules.snippet == "match", rules.snippet_chars
