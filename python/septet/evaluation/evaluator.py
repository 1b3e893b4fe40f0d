"""Evaluate searches on judged queries, or on the feedback of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from septet.errors import QueryError
from septet.evaluation.judgements import MOST_QUERIES, Qrels, Queries, Query, judged
from septet.evaluation.measures import MEASURES, Measure, measures_of
from septet.evaluation.outcomes import Evaluation
from septet.federation import Federation
from septet.inputs.arguments import listed, shown, whole
from septet.query.options import SearchOptions, takes_options
from septet.query.plan import MOST
from septet.search.searchable import Searchable
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.model.results import Results
    from septet.postgres.vault import PostgresVault
    from septet.vault import Vault

#: Maximum queries per batch: their results are in memory together.
AT_ONCE = 256
#: Minimum limit of the searches: measures with a lower rank use the same results.
LEAST_DEPTH = 10
#: Grade of each action; `failed` is no judgement of the entry.
GRADES: Mapping[str, int] = {"accepted": 2, "modified": 1, "dismissed": 0}


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
    """Run judged queries and measure the quality of their results.

    Each measure uses a search whose limit is the measure's rank, at least 10: the results that a user with that limit
    sees. With ``limit=`` all measures use one search. Values equal those of ``trec_eval``: a query without relevant
    entries, or without hits, counts as 0.

    Args:
        vault: a `Vault` or a `Federation`.
        queries: texts by id; dicts with ``query`` and, optionally, ``id`` (otherwise their number) and ``relevant``;
            or a file of JSON lines of such dicts (BEIR's ``_id`` and ``text`` too) or of ``id<TAB>text``, packed
            (``.gz``) or not. ``relevant`` is a list of ids, or a dict of grades by id.
        qrels: the judgements, if the queries have none: for each query's id a list of ids, or grades by id; or a
            file with the columns ``qid iteration id grade`` of TREC, or ``qid id grade`` of BEIR. A grade above 0 is
            relevant.
        measures: ``nDCG``, ``MAP``, ``MRR``, ``Bpref``, ``P``, ``R`` and ``Success``, each with ``@`` and a rank; the
            first four also without, up to rank 1,000. `septet.evaluation.measures` defines them.
        query_vectors: vectors by query id, or one per query in order (None for a query without a vector).
        **options: options of `Vault.search`, for all queries, such as ``profile``. With ``group_by="parent"`` the
            judgements are of parents.

    Raises:
        QueryError: invalid queries, judgements, measures or options, or no query is judged.
        ProfileError: an unknown or malformed profile.
        VectorError: a vector matches no vector space of the vault.
        StoreError: the vault cannot be read.
    """
    parsed, chosen = judged(queries, qrels), measures_of(measures)
    return evaluated(searchable(vault), parsed, chosen, vectors_by_query(query_vectors, parsed), options)


def evaluated(
    vault: Searchable,
    queries: Sequence[Query],
    measures: Sequence[Measure],
    vectors: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Evaluation:
    """Return the evaluation of parsed queries; those without a judgement are skipped."""
    answerable = [query for query in queries if query.grades is not None]
    depths = sorted({depth_of(measure, options) for measure in measures})
    values: dict[str, dict[str, float]] = {query.id: {} for query in answerable}
    notes: Counter[str] = Counter()
    missed: dict[str, None] = {
        id: None for query in answerable for id, grade in (query.grades or {}).items() if grade > 0
    }
    name = ""
    for depth in depths:
        of_depth = [measure for measure in measures if depth_of(measure, options) == depth]
        for query, results in _searched(vault, answerable, vectors, {"mode": "scan", **options, "limit": depth}):
            ids = results.ids if options.get("group_by") is None else [hit.parent or hit.id for hit in results]
            for measure in of_depth:
                values[query.id][measure.name] = measure.of(ids, query.grades or {})
            for id in ids:
                missed.pop(id, None)
            if depth == depths[-1]:
                notes.update({note.code for note in results.notes})
            name = results.profile
    means = {m.name: sum(values[q.id][m.name] for q in answerable) / len(answerable) for m in measures}
    return Evaluation(
        profile=name,
        means=means,
        per_query={id: {m.name: row[m.name] for m in measures} for id, row in values.items()},
        unjudged=tuple(query.id for query in queries if query.grades is None),
        unknown=tuple(sorted(_unknown(vault, list(missed)))),
        notes=dict(sorted(notes.items())),
    )


def searchable(vault: object) -> Searchable:
    """Return the vault; raise QueryError if it is neither a vault nor a federation."""
    if not isinstance(vault, Searchable):
        raise QueryError(f"vault is {shown(vault)}: wanted an open Vault or Federation")
    return vault


def depth_of(measure: Measure, options: Mapping[str, Any]) -> int:
    """Return the limit of the search that a measure uses."""
    if options.get("limit") is not None:
        return whole(options["limit"], "limit", QueryError, 1, MOST)
    return max(LEAST_DEPTH, measure.at)


def _searched(
    vault: Searchable, queries: Sequence[Query], vectors: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[tuple[Query, Results]]:
    for start in range(0, len(queries), AT_ONCE):
        part = queries[start : start + AT_ONCE]
        row_vectors = [vectors.get(query.id) for query in part] if vectors else None
        batch = vault.search_many([query.text for query in part], query_vectors=row_vectors, **cast("Any", options))
        yield from zip(part, batch)


def vectors_by_query(vectors: object, queries: Sequence[Query]) -> Mapping[str, Any]:
    """Return vectors by query id, from a mapping or from a sequence with one per query."""
    if vectors is None:
        return {}
    if isinstance(vectors, Mapping):
        return vectors
    rows = listed(vectors, "query_vectors", QueryError, "vectors by query id, or one for each query", MOST_QUERIES)
    if len(rows) != len(queries):
        raise QueryError(f"there are {len(rows)} query_vectors for {len(queries)} queries: wanted one for each")
    return {query.id: row for query, row in zip(queries, rows)}


def _unknown(vault: Searchable, ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE]
        known = {entry.id for entry in vault.load(part)}
        yield from (id for id in part if id not in known)


def feedback_judgements(vault: Vault | PostgresVault | Federation) -> list[dict[str, Any]]:
    """Return the feedback of a vault, or of all tiers, as judged queries for `evaluate` and `tune`.

    An accepted result has grade 2, a modified one 1, a dismissed one 0; the last action on a result counts. Users can
    only accept results that a search has shown, so these judgements favour the ranking in use at the time.

    Raises:
        QueryError: it is neither a vault nor a federation.
        StoreError: a vault cannot be read.
    """
    grades: dict[str, dict[str, int]] = {}
    opened = searchable(vault)
    members: list[AnyVault] = []
    if isinstance(opened, Federation):
        # Read the highest tier last: for equal ids its feedback wins.
        members = [*reversed(opened._here().values())]
    elif isinstance(opened, AnyVault):
        members = [opened]
    for member in members:
        with member._store.reading() as read:
            for row in read.tables.feedback.all_rows(read):
                if row.action in GRADES:
                    grades.setdefault(row.query, {})[row.entry_id] = GRADES[row.action]
    return [
        {"id": str(number), "query": text, "relevant": relevant}
        for number, (text, relevant) in enumerate(grades.items(), start=1)
    ]
