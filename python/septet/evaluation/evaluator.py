"""How well searches answer judged queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from septet.errors import QueryError
from septet.evaluation.judgements import MOST_QUERIES, Qrels, Queries, Query, judged
from septet.evaluation.measures import MEASURES, Measure, measures_of
from septet.evaluation.outcomes import Evaluation
from septet.inputs.arguments import listed, shown, whole
from septet.query.options import SearchOptions, takes_options
from septet.query.plan import MOST
from septet.search.searchable import Searchable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.federation import Federation
    from septet.model.results import Results
    from septet.vault import Vault

__all__ = ["depth_of", "evaluate", "evaluated", "searchable", "vectors_by_query"]

#: So many queries are in memory with their results.
AT_ONCE = 256
#: Measures of fewer results are taken of a search for so many, as users see them.
LEAST_DEPTH = 10


@takes_options
def evaluate(
    vault: Vault | Federation,
    queries: Queries,
    qrels: Qrels | None = None,
    measures: Sequence[str] | str = MEASURES,
    *,
    query_vectors: Mapping[str, ArrayLike] | ArrayLike | Sequence[ArrayLike | None] | None = None,
    **options: Unpack[SearchOptions],
) -> Evaluation:
    """Search for judged queries and measure how good the results are.

    Each measure is taken of a search whose limit is the rank that the measure stops at, at least 10: what a user with
    that limit sees. ``limit=`` takes all of them of one search. Values equal those of ``trec_eval``: a query whose
    judgements have no relevant entry counts as 0, as one that finds nothing does.

    Args:
        vault: a `Vault` or a `Federation`.
        queries: texts by id; dicts with ``query`` and, optionally, ``id`` (otherwise their number) and ``relevant``;
            or a file of JSON lines of such dicts (BEIR's ``_id`` and ``text`` too) or of ``id<TAB>text``, packed
            (``.gz``) or not. ``relevant`` is a list of ids, or a dict of grades by id.
        qrels: the judgements, unless the queries bring them: for each query's id a list of ids, or grades by id; or a
            file with the columns ``qid iteration id grade`` of TREC, or ``qid id grade`` of BEIR. Above
            grade 0 an entry is relevant.
        measures: ``nDCG``, ``MAP``, ``MRR``, ``Bpref``, ``P``, ``R`` and ``Success``, each with ``@`` and a rank; the
            first four also without, up to rank 1,000. `septet.evaluation.measures` defines them.
        query_vectors: vectors by query id, or one for each query in their order (None for one without).
        **options: those of `Vault.search`, for all queries, such as ``profile``. With ``group_by="parent"`` the
            judgements are of parents.

    Raises:
        QueryError: queries, judgements, measures or options cannot be understood, or no query is judged.
        ProfileError: an unknown or malformed profile.
        VectorError: a vector fits no vectors of the vault.
        StoreError: the vault cannot be read.
    """
    found, taken = judged(queries, qrels), measures_of(measures)
    return evaluated(searchable(vault), found, taken, vectors_by_query(query_vectors, found), options)


def evaluated(
    vault: Searchable,
    queries: Sequence[Query],
    measures: Sequence[Measure],
    vectors: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Evaluation:
    """Return the evaluation of queries that were read; those without a judgement are left out."""
    asked = [query for query in queries if query.grades is not None]
    depths = sorted({depth_of(measure, options) for measure in measures})
    values: dict[str, dict[str, float]] = {query.id: {} for query in asked}
    notes: Counter[str] = Counter()
    missed: dict[str, None] = {id: None for query in asked for id, grade in (query.grades or {}).items() if grade > 0}
    name = ""
    for depth in depths:
        mine = [measure for measure in measures if depth_of(measure, options) == depth]
        for query, results in _searched(vault, asked, vectors, {"mode": "scan", **options, "limit": depth}):
            ids = _ids(results, options)
            for measure in mine:
                values[query.id][measure.name] = measure.of(ids, query.grades or {})
            for id in ids:
                missed.pop(id, None)
            if depth == depths[-1]:
                notes.update({note.code for note in results.notes})
            name = results.profile
    means = {m.name: sum(values[q.id][m.name] for q in asked) / len(asked) for m in measures}
    return Evaluation(
        profile=name,
        means=means,
        per_query={id: {m.name: own[m.name] for m in measures} for id, own in values.items()},
        unjudged=tuple(query.id for query in queries if query.grades is None),
        unknown=tuple(sorted(_unknown(vault, list(missed)))),
        notes=dict(sorted(notes.items())),
    )


def searchable(vault: object) -> Searchable:
    """Return what can be searched.

    Raises:
        QueryError: it is neither a vault nor a federation.
    """
    if not isinstance(vault, Searchable):
        raise QueryError(f"vault is {shown(vault)}: wanted an open Vault or Federation")
    return vault


def depth_of(measure: Measure, options: Mapping[str, Any]) -> int:
    """Return the limit of the search that a measure is taken of."""
    if options.get("limit") is not None:
        return whole(options["limit"], "limit", QueryError, 1, MOST)
    return max(LEAST_DEPTH, measure.at)


def _searched(
    vault: Searchable, queries: Sequence[Query], vectors: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[tuple[Query, Results]]:
    for start in range(0, len(queries), AT_ONCE):
        part = queries[start : start + AT_ONCE]
        given = [vectors.get(query.id) for query in part] if vectors else None
        found = vault.search_many([query.text for query in part], query_vectors=given, **cast("Any", options))
        yield from zip(part, found)


def _ids(results: Results, options: Mapping[str, Any]) -> list[str]:
    if options.get("group_by") is None:
        return results.ids
    return [hit.parent or hit.id for hit in results]


def vectors_by_query(given: object, queries: Sequence[Query]) -> Mapping[str, Any]:
    """Return vectors by query id, from a mapping or from one for each query."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    rows = listed(given, "query_vectors", QueryError, "vectors by query id, or one for each query", MOST_QUERIES)
    if len(rows) != len(queries):
        raise QueryError(f"there are {len(rows)} query_vectors for {len(queries)} queries: wanted one for each")
    return {query.id: row for query, row in zip(queries, rows)}


def _unknown(vault: Searchable, ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE]
        held = {entry.id for entry in vault.load(part)}
        yield from (id for id in part if id not in held)
