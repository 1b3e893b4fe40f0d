"""Whole searches: ids, scores and all seven signals of every recorded query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from golden.differences import QUERIES, SWITCHES
from golden.loader import SIGNALS, is_zero, recording, where_of
from golden.reference import RECORDED, Corpus, Ranked, Ranking, search
from septet import Vault
from septet.model.results import Results

CLOSE = 1e-9


@dataclass(frozen=True)
class Case:
    """A recorded search."""

    config: str
    query: str
    options: dict[str, Any]
    results: Sequence[Sequence[Any]]

    @property
    def links(self) -> bool:
        return "graph" in self.config

    @property
    def hybrid(self) -> bool:
        return "hybrid" in self.config

    @property
    def vector(self) -> Sequence[float]:
        return recording("queries")["queryVectors"][self.query] if self.hybrid else ()

    @property
    def recorded(self) -> list[Ranked]:
        return [Ranked(row[0], row[1], tuple(row[2:])) for row in self.results]

    @property
    def listed(self) -> frozenset[str]:
        return QUERIES.get((self.config, self.query), RECORDED)

    def by_reference(self, corpus: Callable[..., Corpus], choices: frozenset[str]) -> Ranking:
        made = corpus("agent", self.links, self.hybrid)
        return search(made, self.query, self.options, choices, hybrid=self.hybrid, vector=self.vector)

    def by_septet(self, agent: Callable[[bool, bool], Vault]) -> Results:
        options = {k: v for k, v in self.options.items() if k not in ("maxTokens", "confidenceThreshold")}
        options |= where_of(options)
        if "tags" in options:
            options["boost_tags"] = options.pop("tags")
        if "maxTokens" in self.options:
            options["max_tokens"] = self.options["maxTokens"]
            cuts = {"confident_score": self.options["confidenceThreshold"]}
            options["profile"] = {"extends": "seven-signals", "cuts": cuts}
        if not is_zero(self.vector):
            options["query_vector"] = self.vector
        return agent(self.links, self.hybrid).search(self.query, **options)


CASES = [
    Case(config["config"]["name"], query["query"], query["options"], query["results"])
    for config in recording("queries")["configs"]
    for query in config["queries"]
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.config}-{c.query!a}")


def disagreement(got: Sequence[Ranked], wanted: Ranking) -> str:
    """Say how a result list departs from a ranking; equal scores may stand in any order, and be cut anywhere."""
    if len(got) != wanted.shown:
        return f"{len(got)} results, wanted {wanted.shown}"
    if len({r.id for r in got}) != len(got):
        return "an id comes twice"
    known = {r.id: r for r in wanted.rows}
    for place, (row, at_place) in enumerate(zip(got, wanted.rows)):
        if abs(row.score - at_place.score) > CLOSE:
            return f"place {place}: {row.id} with {row.score}, wanted {at_place.id} with {at_place.score}"
        own = known.get(row.id)
        if own is None:
            return f"{row.id} is no candidate"
        for name, value, right in zip(("score", *SIGNALS), (row.score, *row.signals), (own.score, *own.signals)):
            if abs(value - right) > CLOSE:
                return f"{row.id}: {name} is {value}, wanted {right}"
    return ""


def answered(results: Results) -> list[Ranked]:
    return [Ranked(hit.id, hit.score, tuple(hit.signals[name] or 0.0 for name in SIGNALS)) for hit in results]


@every_case
def test_the_reference_without_switches_gives_the_recorded_results(case, corpus):
    assert disagreement(case.recorded, case.by_reference(corpus, RECORDED)) == ""


@every_case
def test_septet_gives_the_recorded_results_but_for_the_listed_differences(case, agent, corpus):
    got = answered(case.by_septet(agent))
    assert disagreement(got, case.by_reference(corpus, case.listed)) == ""
    if not case.listed:
        assert disagreement(got, Ranking(case.recorded, len(case.recorded))) == ""


@every_case
def test_all_differences_together_change_nothing_beyond_the_listed_ones(case, agent, corpus):
    got = answered(case.by_septet(agent))
    assert disagreement(got, case.by_reference(corpus, frozenset(SWITCHES))) == ""


@pytest.mark.parametrize(
    ("case", "name"),
    [pytest.param(c, n, id=f"{c.config}-{c.query!a}-{n}") for c in CASES for n in sorted(c.listed)],
)
def test_each_listed_difference_is_needed(case, name, agent, corpus):
    right = case.by_reference(corpus, case.listed)
    without = case.by_reference(corpus, case.listed - {name})
    assert disagreement(right.rows[: right.shown], without) != ""


@every_case
def test_the_breakdown_sums_to_the_score_under_the_documented_weights(case, agent):
    results = case.by_septet(agent)
    recorded = {"temporalDecay": "temporal_decay", "tagOverlap": "tag_overlap", "domainMatch": "domain_match"}
    recorded["graphProximity"] = "graph_proximity"
    config = next(c["config"] for c in recording("queries")["configs"] if c["config"]["name"] == case.config)
    weights = {recorded.get(name, name): weight for name, weight in config["weights"].items()}
    if "text-weights-without-a-vector" in case.listed or (case.hybrid and is_zero(case.vector)):
        weights |= {"semantic": 0.35, "vector": 0.0}
    assert dict(results.weights) == pytest.approx(weights, abs=CLOSE)
    for hit in results:
        assert sum(hit.breakdown.values()) == pytest.approx(hit.score, abs=CLOSE)
        for name, value in hit.breakdown.items():
            assert value == pytest.approx(weights[name] * (hit.signals[name] or 0.0), abs=CLOSE)


def test_every_configuration_is_compared_with_results_in_it():
    assert len(CASES) == 102
    assert {c.config for c in CASES} == {"timestamps-fts", "timestamps-graph", "timestamps-hybrid-graph"}
    assert sum(bool(c.results) for c in CASES) > 60
    assert sum(not c.listed for c in CASES) > 40


def test_the_comparison_notices_a_wrong_id_a_wrong_score_and_a_wrong_signal():
    right = [Ranked("a", 0.5, (0.5,) * 7), Ranked("b", 0.4, (0.4,) * 7), Ranked("c", 0.4, (0.3,) * 7)]
    wanted = Ranking(right, 2)
    assert disagreement(right[:2], wanted) == ""
    assert disagreement([right[0], right[2]], wanted) == ""
    assert "results" in disagreement(right, wanted)
    assert "twice" in disagreement([right[0], right[0]], wanted)
    assert "no candidate" in disagreement([Ranked("x", 0.5, (0.5,) * 7), right[1]], wanted)
    assert "place 1" in disagreement([right[0], Ranked("b", 0.41, (0.4,) * 7)], wanted)
    assert "temporal_decay" in disagreement([right[0], Ranked("b", 0.4, (0.4, 0.4, 0.4, 0.5, 0.4, 0.4, 0.4))], wanted)
