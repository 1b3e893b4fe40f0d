"""Weights of a profile, fitted to judgements, with the gain to expect of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from septet.errors import QueryError
from septet.evaluation.evaluator import depth_of, evaluated, searchable, vectors_by_query
from septet.evaluation.feedback import feedback_judgements
from septet.evaluation.fitting import Found, fitted, found_for, with_weights
from septet.evaluation.judgements import Qrels, Queries, Query, judged
from septet.evaluation.measures import Measure, measures_of
from septet.evaluation.outcomes import Difference, difference_of
from septet.inputs.arguments import file_path, shown, whole
from septet.profiles import resolve
from septet.profiles.builtin import BUILTIN
from septet.query.options import SearchOptions, takes_options
from septet.ranking.profile import Profile, WeightSet
from septet.system.target import complete_file

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.federation import Federation
    from septet.vault import Vault

__all__ = ["Tuning", "tune", "undo_tuning"]

#: With fewer queries an interval says nothing.
LEAST_QUERIES = 10
MOST_FOLDS = 20


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `tune` found. Nothing uses it until it is passed on, or saved and named.

    Attributes:
        accepted: whether the gain is above noise: its whole 95 % interval is above 0.
        reason: why, in one sentence.
        profile: the profile to use: with the fitted weights if they are accepted, otherwise as it was.
        before, after: the weights by signal, for searches by text and with vectors, of those that were fitted;
            ``after`` is what was fitted, accepted or not.
        gain: what to expect on queries that the weights were not fitted on; None with too few queries.
        queries: how many queries have a relevant entry.
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
        """Return everything as a JSON-ready dict; the profile as `save` writes it."""
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
        """Write the profile to a JSON file, to be named as ``profile`` of a vault or a search.

        A file that was there before is kept as ``<path>.before``; `undo_tuning` puts it back.

        Raises:
            QueryError: the tuning was refused, or the name does not end in ``.json``.
            StoreError: the file cannot be written.
        """
        target = _json_path(path)
        if not self.accepted:
            raise QueryError(f"the tuning was refused, so there is nothing to save: {self.reason}")
        kept = _before(target)
        if target.is_file():
            with complete_file(kept) as part:
                part.file.write(target.read_bytes())
        else:
            kept.unlink(missing_ok=True)
        text = json.dumps(_written(self.profile), ensure_ascii=False, indent=2) + "\n"
        with complete_file(target) as part:
            part.file.write(text.encode())


def undo_tuning(path: str | os.PathLike[str]) -> None:
    """Put back the profile file that `Tuning.save` found under this name.

    Raises:
        QueryError: the name does not end in ``.json``, or there was no file before.
    """
    target = _json_path(path)
    kept = _before(target)
    if not kept.is_file():
        raise QueryError(f"there is no {shown(str(kept))} to go back to: delete the profile, or name another")
    kept.replace(target)


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
    """Fit the weights of a profile to judgements, and say what they gain on queries that they were not fitted on.

    Weights are fitted by coordinate ascent. The gain is that of cross-validation: the queries are dealt into folds;
    each fold is searched with weights fitted on the others, and compared with the profile as it is. The tuning is
    refused if the 95 % interval of that gain (paired t) reaches 0. Nothing is changed: pass ``tuning.profile`` on, or
    save it.

    Fitting ranks every query's candidates some hundred times; 200 queries take seconds. Which candidates are found does
    not change, only their order.

    Args:
        vault: a `Vault` or a `Federation`.
        queries: as for `evaluate`; None takes the feedback of the vault, as `feedback_judgements` gives it.
        qrels: as for `evaluate`.
        measure: what to raise.
        folds: how many parts the queries are dealt into, 2 to 20.
        seed: of the dealing.
        query_vectors: as for `evaluate`.
        **options: those of `Vault.search`, apart from ``group_by``; ``profile`` is the one to begin with.

    Raises:
        QueryError: as for `evaluate`.
        ProfileError: an unknown or malformed profile.
        VectorError: a vector fits no vectors of the vault.
        StoreError: the vault cannot be read.
    """
    opened = searchable(vault)
    given = judged(feedback_judgements(vault) if queries is None else queries, qrels)
    taken, *more = measures_of(measure)
    if more or options.get("group_by") is not None:
        raise QueryError("tune takes one measure, and no group_by")
    folds = whole(folds, "folds", QueryError, 2, MOST_FOLDS)
    random = np.random.default_rng(whole(seed, "seed", QueryError, 0, 2**63 - 1))
    vectors = vectors_by_query(query_vectors, given)
    found = [query for query in given if any(grade > 0 for grade in (query.grades or {}).values())]
    named = options.get("profile")
    base = resolve(opened._profile if named is None else named)
    searched: dict[str, Any] = {**options, "profile": base, "limit": depth_of(taken, options)}
    if len(found) < LEAST_QUERIES:
        why = f"{len(found)} queries with a relevant entry are too few: judge {LEAST_QUERIES} or more"
        return Tuning(False, why, base, {}, {}, None, len(found))
    folds = min(folds, len(found))
    pools = list(found_for(opened, found, vectors, searched))
    after = _fitted(base, pools, taken)
    fold_of = random.permutation(np.arange(len(found)) % folds).tolist()

    def values(profile: Profile, asked: Sequence[Query]) -> dict[str, float]:
        made = evaluated(opened, asked, [taken], vectors, {**searched, "profile": profile})
        return {id: own[taken.name] for id, own in made.per_query.items()}

    others: dict[str, float] = {}
    for fold in range(folds):
        fitted_on = [pool for pool, of in zip(pools, fold_of) if of != fold]
        others |= values(_fitted(base, fitted_on, taken), [q for q, of in zip(found, fold_of) if of == fold])
    own = values(base, found)
    first, second = (np.array([one[query.id] for query in found]) for one in (own, others))
    gain = difference_of(taken.name, first, second)
    rows: list[WeightSet] = sorted({pool.row for pool in pools})
    return _tuning(base, after, rows, gain, len(found))


def _fitted(base: Profile, pools: Sequence[Found], measure: Measure) -> Profile:
    """Return the profile with each row of weights fitted to its queries."""
    profile = base
    for row in sorted({pool.row for pool in pools}):
        mine = [pool for pool in pools if pool.row == row]
        profile = with_weights(profile, row, fitted(base, row, mine, measure))
    return profile


def _tuning(base: Profile, after: Profile, rows: Sequence[WeightSet], gain: Difference, queries: int) -> Tuning:
    told = f"{gain.measure} {gain.before:.4f} -> {gain.after:.4f}, {gain.difference:+.4f}"
    told += f" (95 % {gain.low:+.4f} to {gain.high:+.4f}) on queries not fitted on"
    accepted = gain.low > 0 and after.weights != base.weights
    reason = told if accepted else f"not above noise: {told}"
    profile = base
    if accepted:
        fields = {name: getattr(after, name) for name in Profile.__dataclass_fields__}
        name = base.name if base.name.endswith("(tuned)") else f"{base.name[:240]} (tuned)"
        profile = Profile.known(
            **{**fields, "name": name, "description": f"Weights fitted to {queries} queries: {told}."}
        )
    before_, after_ = ({row: dict(one.weights[row]) for row in rows} for one in (base, after))
    return Tuning(accepted, reason, profile, before_, after_, gain, queries)


def _written(profile: Profile) -> dict[str, Any]:
    """Return a profile as data: what differs, where it is a built-in one but for its weights."""
    whole_ = profile.to_dict()
    said = ("name", "description", "weights")
    for name, known in BUILTIN.items():
        plain = known.to_dict()
        if all(whole_[field] == plain[field] for field in plain if field not in said):
            return {"extends": name, **{field: whole_[field] for field in said}}
    return whole_


def _json_path(path: object) -> Path:
    target = Path(file_path(path, "path", QueryError))
    if target.suffix != ".json":
        raise QueryError(f"path is {shown(str(target))}: wanted a name that ends in .json")
    return target


def _before(target: Path) -> Path:
    return target.with_name(f"{target.name}.before")
