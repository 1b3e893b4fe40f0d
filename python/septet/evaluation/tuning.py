"""Fit the weights of a profile to judgements, and estimate the gain.

Each query is searched once, and its candidates are ranked again for each try.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from septet._core import Pool
from septet.errors import QueryError
from septet.evaluation.evaluator import depth_of, evaluated, feedback_judgements, searchable, vectors_by_query
from septet.evaluation.judgements import Qrels, Queries, Query, judged
from septet.evaluation.measures import UNJUDGED, Measure, measures_of
from septet.evaluation.outcomes import Difference, difference_of
from septet.inputs.arguments import file_path, shown, whole
from septet.profiles import resolve
from septet.profiles.builtin import BUILTIN
from septet.query.options import SearchOptions, takes_options
from septet.ranking.profile import Profile, WeightSet
from septet.ranking.score import rank, weights_of
from septet.search.federated import FederatedSearch, next_attempt
from septet.search.run import ranked
from septet.search.searchable import Searchable
from septet.system.target import complete_file
from septet.tiers.protocol import SearchAgain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.federation import Federation
    from septet.vault import Vault

#: Minimum queries: with fewer, the interval is meaningless.
LEAST_QUERIES = 10
MOST_FOLDS = 20
#: Factors tried on a signal's share of the weights; of equal gains the first, smallest change wins.
FACTORS = (1.33, 0.75, 2.0, 0.5, 4.0, 0.25, 0.0)
#: Shares tried for a signal with weight 0.
FROM_NOTHING = (0.05, 0.15, 0.35)
MOST_SHARE = 0.95
#: Minimum gain of the mean for a change to be accepted.
LEAST_GAIN = 1e-4
MOST_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `tune`. It has no effect until its profile is used or saved.

    Attributes:
        accepted: True if the gain is significant: its whole 95 % interval is above 0.
        reason: reason for acceptance or refusal, in one sentence.
        profile: profile to use: with the fitted weights if accepted, otherwise unchanged.
        before, after: weights by signal of each fitted row (searches by text, searches with vectors); ``after`` has the
            fitted weights, accepted or not.
        gain: expected gain on queries that the weights were not fitted on; None with too few queries.
        queries: number of queries with a relevant entry.
    """

    accepted: bool
    reason: str
    profile: Profile
    before: Mapping[WeightSet, Mapping[str, float]]
    after: Mapping[WeightSet, Mapping[str, float]]
    gain: Difference | None
    queries: int

    def __repr__(self) -> str:
        lines = [f"<Tuning over {self.queries} queries, {'accepted' if self.accepted else 'refused'}: {self.reason}>"]
        for row, weights in self.before.items():
            lines.append(f"  {row:<16} {'before':>7} {'after':>7}")
            lines += [f"  {name:<16} {value:7.3f} {self.after[row][name]:7.3f}" for name, value in weights.items()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict, with the profile as `save` writes it."""
        return {
            "accepted": self.accepted,
            "reason": self.reason,
            "queries": self.queries,
            "before": {row: dict(weights) for row, weights in self.before.items()},
            "after": {row: dict(weights) for row, weights in self.after.items()},
            "gain": None if self.gain is None else asdict(self.gain),
            "profile": _written(self.profile),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile to a JSON file, for use as ``profile=`` of a vault or a search.

        An existing file is kept as ``<path>.before``; `undo_tuning` restores it.

        Raises:
            QueryError: the tuning was refused, or the name does not end in ``.json``.
            StoreError: the file cannot be written.
        """
        target = _json_path(path)
        if not self.accepted:
            raise QueryError(f"the tuning was refused, nothing to save: {self.reason}")
        backup = _before(target)
        if target.is_file():
            with complete_file(backup) as part:
                part.write(target.read_bytes())
        else:
            backup.unlink(missing_ok=True)
        text = json.dumps(_written(self.profile), ensure_ascii=False, indent=2) + "\n"
        with complete_file(target) as part:
            part.write(text.encode())


def undo_tuning(path: str | os.PathLike[str]) -> None:
    """Restore the profile file that `Tuning.save` replaced.

    Raises:
        QueryError: the name does not end in ``.json``, or there is no earlier file.
    """
    target = _json_path(path)
    backup = _before(target)
    if not backup.is_file():
        raise QueryError(f"no earlier file {shown(str(backup))}: delete the profile, or name another")
    backup.replace(target)


@takes_options
def tune(
    vault: Vault | Federation,
    queries: Queries | None = None,
    qrels: Qrels | None = None,
    *,
    measure: str = "nDCG@10",
    folds: int = 5,
    seed: int = 0,
    query_vectors: Mapping[str, ArrayLike] | ArrayLike | Sequence[ArrayLike | None] | None = None,
    **options: Unpack[SearchOptions],
) -> Tuning:
    """Fit the weights of a profile to judgements, and estimate the gain on other queries.

    Weights are fitted by coordinate ascent. The gain is cross-validated: the queries are split into folds; each fold is
    searched with weights fitted on the others, and compared with the original profile. The tuning is refused if the
    95 % interval of the gain (paired t) includes 0. Nothing is changed: use or save ``tuning.profile``.

    Fitting ranks every query's candidates some hundred times; 200 queries take seconds. It changes only the order of
    the candidates, not their selection.

    Args:
        vault: a `Vault` or a `Federation`.
        queries: as for `evaluate`; None for the feedback of the vault (`feedback_judgements`).
        qrels: as for `evaluate`.
        measure: measure to maximise.
        folds: number of folds, 2 to 20.
        seed: seed of the split.
        query_vectors: as for `evaluate`.
        **options: options of `Vault.search` except ``group_by``; ``profile`` is the profile to start from.

    Raises:
        QueryError: as for `evaluate`.
        ProfileError: an unknown or malformed profile.
        VectorError: a vector matches no vector space of the vault.
        StoreError: the vault cannot be read.
    """
    opened = searchable(vault)
    all_queries = judged(feedback_judgements(vault) if queries is None else queries, qrels)
    chosen, *more = measures_of(measure)
    if more or options.get("group_by") is not None:
        raise QueryError("tune accepts exactly one measure and no group_by")
    folds = whole(folds, "folds", QueryError, 2, MOST_FOLDS)
    random = np.random.default_rng(whole(seed, "seed", QueryError, 0, 2**63 - 1))
    vectors = vectors_by_query(query_vectors, all_queries)
    usable = [query for query in all_queries if any(grade > 0 for grade in (query.grades or {}).values())]
    named = options.get("profile")
    base = resolve(opened._profile if named is None else named)
    searched: dict[str, Any] = {**options, "profile": base, "limit": depth_of(chosen, options)}
    if len(usable) < LEAST_QUERIES:
        why = f"{len(usable)} queries with a relevant entry are too few: judge {LEAST_QUERIES} or more"
        return Tuning(False, why, base, {}, {}, None, len(usable))
    folds = min(folds, len(usable))
    pools = list(judged_pools(opened, usable, vectors, searched))
    after = _fitted(base, pools, chosen)
    fold_of = random.permutation(np.arange(len(usable)) % folds).tolist()

    def values(profile: Profile, fold_queries: Sequence[Query]) -> dict[str, float]:
        evaluation = evaluated(opened, fold_queries, [chosen], vectors, {**searched, "profile": profile})
        return {id: row[chosen.name] for id, row in evaluation.per_query.items()}

    held_out: dict[str, float] = {}
    for fold in range(folds):
        fitted_on = [pool for pool, of in zip(pools, fold_of) if of != fold]
        held_out |= values(_fitted(base, fitted_on, chosen), [q for q, of in zip(usable, fold_of) if of == fold])
    original = values(base, usable)
    before, after_folds = (np.array([scores[query.id] for query in usable]) for scores in (original, held_out))
    gain = difference_of(chosen.name, before, after_folds)
    rows: list[WeightSet] = sorted({pool.row for pool in pools})
    return _tuning(base, after, rows, gain, len(usable))


def _fitted(base: Profile, pools: Sequence[JudgedPool], measure: Measure) -> Profile:
    """Return the profile with each row of weights fitted to its queries."""
    profile = base
    for row in sorted({pool.row for pool in pools}):
        of_row = [pool for pool in pools if pool.row == row]
        profile = with_weights(profile, row, fitted(base, row, of_row, measure))
    return profile


def _tuning(base: Profile, after: Profile, rows: Sequence[WeightSet], gain: Difference, queries: int) -> Tuning:
    change = f"{gain.measure} {gain.before:.4f} -> {gain.after:.4f}, {gain.difference:+.4f}"
    change += f" (95 % interval {gain.low:+.4f} to {gain.high:+.4f}) on held-out queries"
    accepted = gain.low > 0 and after.weights != base.weights
    reason = change if accepted else f"not above noise: {change}"
    profile = base
    if accepted:
        name = base.name if base.name.endswith("(tuned)") else f"{base.name[:240]} (tuned)"
        profile = after._with(name=name, description=f"Weights fitted to {queries} queries: {change}.")
    before_, after_ = ({row: dict(profiled.weights[row]) for row in rows} for profiled in (base, after))
    return Tuning(accepted, reason, profile, before_, after_, gain, queries)


def _written(profile: Profile) -> dict[str, Any]:
    """Return a profile as data; a built-in one with other weights is written as an extension of it."""
    data = profile.to_dict()
    changed = ("name", "description", "weights")
    for name, known in BUILTIN.items():
        plain = known.to_dict()
        if all(data[field] == plain[field] for field in plain if field not in changed):
            return {"extends": name, **{field: data[field] for field in changed}}
    return data


def _json_path(path: object) -> Path:
    target = Path(file_path(path, "path", QueryError))
    if target.suffix != ".json":
        raise QueryError(f"path is {shown(str(target))}: wanted a name that ends in .json")
    return target


def _before(target: Path) -> Path:
    return target.with_name(f"{target.name}.before")


class JudgedPool(NamedTuple):
    """The candidates of one query, with their judgements.

    Attributes:
        row: the row of weights that ranks it.
        grades: grades of the candidates ``(m,)``.
        judged: grades of all judged entries, best first.
        moving: signals whose values differ between candidates.
    """

    query: str
    row: WeightSet
    pool: Pool
    now: float
    domain: str | None
    feedback: Mapping[str, int]
    grades: Sequence[float]
    judged: Sequence[float]
    moving: frozenset[str]

    def value(self, profile: Profile, weights: Mapping[str, float], measure: Measure) -> float:
        """Return the measure of the candidates ranked by weights."""
        order = rank(self.pool, profile, weights, now=self.now, domain=self.domain).order[: measure.at].tolist()
        return measure.function([self.grades[at] for at in order], self.judged, measure.at)


def judged_pools(
    vault: Searchable, queries: Sequence[Query], vectors: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[JudgedPool]:
    """Search for each query and yield all its ranked candidates.

    Link neighbours come from the current weights: other weights may choose other anchors.
    """
    if not queries:
        return
    base = vault._plan(queries[0].text, {**options, "query_vector": vectors.get(queries[0].id)}, "tune")
    for query in queries:
        plan = vault._embedded(base.of_query(query.text, vectors.get(query.id), vault._embeds()))
        # Otherwise the ids of candidates are not read.
        plan, attempts = plan._replace(needs_ids=True), 1
        while True:
            try:
                search = FederatedSearch(vault._tiers(), [plan]).find_candidates()
                break
            except SearchAgain as fault:
                attempts = next_attempt(attempts, fault)
        try:
            ranking = ranked(search, 0).ranking
            vectors_count = any(answer.candidates[0].with_vectors for answer in search.answers)
            feedback = dict(search.feedback())
        finally:
            search.close()
        grades = query.grades or {}
        with np.errstate(invalid="ignore"):
            signals = ranking.signals
            known = np.where(np.isnan(signals), -1.0, signals)
            spread = np.ptp(known, axis=1) if known.shape[1] else np.zeros(len(known))
        yield JudgedPool(
            query=query.id,
            row="hybrid" if vectors_count else "text",
            pool=ranking.pool,
            now=plan.now,
            domain=plan.domain,
            feedback=feedback,
            grades=[grades.get(id, UNJUDGED) for id in ranking.pool.ids or ()],
            judged=sorted(grades.values(), reverse=True),
            moving=frozenset(name for name, width in zip(ranking.names, spread.tolist()) if width > 0),
        )


def with_weights(profile: Profile, row: WeightSet, weights: Mapping[str, float]) -> Profile:
    """Return the profile with other weights in one row."""
    return profile._with(weights={**profile.weights, row: dict(weights)})


def fitted(profile: Profile, row: WeightSet, pools: Sequence[JudgedPool], measure: Measure) -> dict[str, float]:
    """Return the weights of a row with the highest mean of a measure, by coordinate ascent.

    Each signal's share is multiplied by each factor in turn, and the other weights are scaled to keep the sum. A change
    that raises the mean by 0.0001 or more is accepted, until none does (Metzler and Croft 2007).
    """
    weights = dict(profile.weights[row])
    moving = [name for name in weights if any(name in pool.moving for pool in pools)]

    def mean(tried: Mapping[str, float]) -> float:
        changed = with_weights(profile, row, tried)
        # Feedback moves the weights of searches too.
        counted = weights_of(changed, row, pools[0].feedback).values
        return sum(pool.value(profile, counted, measure) for pool in pools) / len(pools)

    best = mean(weights)
    for _ in range(MOST_ROUNDS):
        before = best
        for name in moving:
            for tried in list(_steps(weights, name)):
                value = mean(tried)
                if value >= best + LEAST_GAIN:
                    best, weights = value, tried
        if best < before + LEAST_GAIN:
            break
    return weights


def _steps(weights: Mapping[str, float], name: str) -> Iterator[dict[str, float]]:
    """Yield the weights with each other share of one signal."""
    total = sum(weights.values())
    share, rest = weights[name] / total, total - weights[name]
    shares = FROM_NOTHING if share == 0 else [share * factor for factor in FACTORS]
    for new in shares:
        if rest > 0 and new <= MOST_SHARE:
            scale = (1 - new) * total / rest
            yield {other: new * total if other == name else value * scale for other, value in weights.items()}
