"""The Profile model: recall legs, signals, fusion and cuts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

import numpy as np

from septet import _core
from septet.inputs.checked import Bounds, Checked
from septet.model.entry import SNIPPET_CHARS
from septet.ranking.bm25_scale import K1, B
from septet.ranking.fusion import (
    AtLeastOne,
    Balance,
    Bounded,
    Confidence,
    Count,
    Estimate,
    Expression,
    Few,
    Missing,
    NotNegative,
    Positive,
    Share,
    Smoothing,
    Top,
    contains,
    names,
    parts,
)
from septet.ranking.pool import AGES, SECONDS_A_DAY, TIMES, is_fact

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A profile's set of weights: ``text`` without vectors, ``hybrid`` with them.
WeightSet: TypeAlias = Literal["text", "hybrid"]

#: Columns that need texts, roles or times of candidates.
ENTRY_COLUMNS = frozenset({"role", "instruction", "span", "order", "answered", "beside"})
#: Columns for a profile's expressions, filled by legs, corpus scores and facts. Further columns are times, ages, and
#: numbers in attrs by ``attrs.PATH`` (see `septet.ranking.pool`).
COLUMNS = ENTRY_COLUMNS.union(
    "bm25 title trigram tfidf feedback cosine path severity decay tags domain graph".split(),
)

#: Columns that need the corpus.
CORPUS_COLUMNS = frozenset({"bm25", "tfidf", "trigram", "feedback", "cosine"})
#: Bounds within which sums and ratios of weights stay exact enough.
MOST_WEIGHT, LEAST_WEIGHT = 1e9, 1e-9


class ColumnWeights(Checked):
    """BM25 weights of the five indexed columns."""

    id: NotNegative = 1.0
    title: NotNegative = 1.0
    description: NotNegative = 1.0
    context: NotNegative = 1.0
    tags: NotNegative = 1.0

    @cached_property
    def array(self) -> NDArray[np.float64]:
        """The weights in the order of the columns ``(5,)``."""
        return np.array([self.id, self.title, self.description, self.context, self.tags], dtype=np.float64)


class Feedback(Checked):
    """Pseudo-relevance feedback, column ``feedback``: informative words of the best matches as a second query.

    Only for searches by text alone.

    Attributes:
        rows: number of best full-text matches to read.
        terms: number of their terms that count, and ties with the last.
        agreeing: minimum number of these matches with a term.
        covered: no feedback if a candidate has this share of the query's information.
    """

    rows: Few = 5
    terms: Few = 20
    agreeing: AtLeastOne = 2
    covered: Share = 0.85


class TextRules(Checked):
    """Rules that turn a query into a full-text expression.

    Attributes:
        match: ``any`` recalls the best entries with any word of the query. ``all`` first recalls entries with every
            word, in any of its forms (the strict wave), then fills up with others if there are fewer than the
            candidates needed (the relaxed wave). Queries of more than 64 words match any. ``cascade`` treats words as
            prefixes and recalls entries with all of them, else with fewer, else with any.
        min_terms: a cascade drops the shortest word repeatedly while no entry matches and more words than this remain;
            then any word matches. None drops none.
        stop_words: ``drop`` drops the 95 English stop words, unless nothing else remains; a list drops its words. A
            cascade also drops single letters, and matches nothing if nothing else remains.
        least_chars: minimum characters of words; shorter ones are dropped if a query has others; not in a cascade. With
            1, the ``7`` of `chapter 7` counts, and the ``t`` of `don't` does not.
        grams: add character pairs, folded words and parts of identifiers (see `septet.query.parse`); not in a cascade.
        names: with grams, add names with punctuation as one term: `get_home_dir`, `--no-cache`, `C++`.
        max_terms: maximum terms of a query; further ones are dropped with a note.
        feedback: rules for the column ``feedback``, if a signal reads it.
        snippet: ``match`` shows the passage around the best match, ``start`` the start of the description.
        snippet_chars: maximum characters of the snippet.
        typos: guess corrections of unknown words, with a note; they are searched for if nothing else matches.
        conversation: questions are about a conversation: phrases that ask for a summary or an order of it are no words
            of the query, nor are times that count from now; requests fill the column ``instruction``, and times
            ``span`` and ``order``, summaries ``answered``, and messages of people by name ``beside``.
        k1: saturation of repeated words: near 0, one occurrence counts as much as many.
        b: normalization by text length, from 0, none, to 1, full.
    """

    match: Literal["any", "all", "cascade"] = "any"
    min_terms: Annotated[int, Bounds(ge=1, le=4096)] | None = 3
    stop_words: Literal["keep", "drop"] | Annotated[tuple[str, ...], Bounds(max_length=10_000)] = "keep"
    least_chars: Annotated[int, Bounds(ge=1, le=64)] = 2
    grams: bool = True
    names: bool = True
    max_terms: Annotated[int, Bounds(ge=1, le=4096)] = 256
    feedback: Feedback = field(default_factory=Feedback.known)
    snippet: Literal["match", "start"] = "match"
    snippet_chars: Annotated[int, Bounds(ge=1, le=1_000_000)] = SNIPPET_CHARS
    typos: bool = True
    conversation: bool = False
    weights: ColumnWeights = field(default_factory=ColumnWeights.known)
    k1: Annotated[float, Bounds(ge=0.01, le=1_000)] = K1
    b: Share = B

    @cached_property
    def dropped(self) -> bool | frozenset[str]:
        """The dropped stop words: False for none, True for the documented ones."""
        if isinstance(self.stop_words, str):
            return self.stop_words == "drop"
        return frozenset(word.lower() for word in self.stop_words)

    @cached_property
    def weighed(self) -> tuple[str, ...]:
        """Columns with a weight above 0."""
        return tuple(name for name in ColumnWeights.__dataclass_fields__ if getattr(self.weights, name) > 0)

    @cached_property
    def constants(self) -> tuple[float, float] | None:
        """The constants of BM25; None for FTS5's own."""
        return None if (self.k1, self.b) == (K1, B) else (self.k1, self.b)


class Facts(Checked):
    """Rules that turn facts of an entry into signals, 0 to 1.

    Attributes:
        roles: value of the column ``role`` by ``attrs.role``; others are unknown.
        ramp: share of a validity window in which an entry fades to 0.
    """

    roles: dict[str, Share] = field(default_factory=dict)
    severity: dict[str, Share] = field(default_factory=lambda: {"critical": 1.0, "warning": 0.7, "suggestion": 0.4})
    half_life_days: Positive = 365.0
    ramp: Annotated[float, Bounds(gt=0, le=1)] = 0.25

    @cached_property
    def rules(self) -> _core.FactRules:
        """The rules in native form."""
        return _core.FactRules(self.severity, half_life_s=self.half_life_days * SECONDS_A_DAY, ramp=self.ramp)


class Graph(Checked):
    """Proximity over links: anchors are the best of the first pass with a ``semantic`` signal above 0.

    Attributes:
        most_links: maximum neighbours followed per entry: the latest links, and the first added of those stored
            together; None for all. Links are followed from candidates, too, which are near if the walks meet.
        most_pulled: maximum neighbours that become candidates, nearest first, so that an entry with thousands of links
            does not flood a search.
        proximity: signal by distance, from 1.
    """

    anchors: Count = 5
    most_links: Count | None = None
    most_pulled: Count = 100
    proximity: Annotated[tuple[Share, ...], Bounds(max_length=16)] = (1 / 2, 1 / 3)


class Cuts(Checked):
    """Numbers of candidates and results.

    Attributes:
        limit: default limit of results.
        factor, minimum, maximum: each leg of each tier takes ``min(maximum, max(factor * limit, minimum))`` candidates;
            a maximum of None is none. With a factor of 0 the limit does not affect recall: the candidates decide half
            as many places, and further places are decided by more candidates, as on later pages; if words and vectors
            are both searched, each leg takes half.
        guard_below: small-corpus guard. Without an explicit limit, all results are returned if fewer entries than this
            match the full text, and the limit would drop more than half of them; 0 turns it off.
        budget: handling of a result that exceeds the token budget: ``skip`` continues with the next; ``stop`` ends the
            results, but always returns the first, however large.
        confident_score, confident_limit: with a token budget, a best score of at least ``confident_score`` limits the
            results to ``confident_limit``.
        min_score: default ``min_score``: lower results are dropped; None keeps all.
        diversity: default ``diversity`` of the results, 0 to 1.
        likeness: measure of likeness between results: ``vectors``, or words without vectors, with scores as fractions
            of the best; or ``words`` alone, with scores scaled from 0, the lowest, to 1, the highest.
        ties: order of equal scores: ``found``, by rank in the legs; or ``path``, by path, lines and id, which is stable
            when a vault is rebuilt, as long as all tied entries are candidates.
    """

    limit: AtLeastOne = 10
    factor: Count = 3
    minimum: AtLeastOne = 30
    maximum: AtLeastOne | None = None
    guard_below: Count = 50
    budget: Literal["skip", "stop"] = "skip"
    confident_score: Bounded | None = None
    confident_limit: AtLeastOne = 3
    min_score: Bounded | None = None
    diversity: Share = 0.0
    likeness: Literal["vectors", "words"] = "vectors"
    ties: Literal["found", "path"] = "found"


class Adaptive(Checked):
    """Weights adjusted by feedback: from ``min_rows`` rows on, the moving signals gain or lose up to ``span``.

    Attributes:
        values: value of a row by action; other actions are not counted.
        text, hybrid: moving signals in each set of weights, in constant proportion to each other.
        fixed: signals with constant weights; all others are rescaled so that the weights sum to 1.
    """

    min_rows: AtLeastOne = 30
    span: Share = 0.15
    values: dict[str, Share] = field(default_factory=lambda: {"accepted": 1.0, "modified": 0.5, "dismissed": 0.0})
    text: tuple[str, ...] = ("semantic",)
    hybrid: tuple[str, ...] = ("semantic",)
    fixed: tuple[str, ...] = ()


class Profile(Checked):
    """A ranking configuration.

    Attributes:
        signals: named signals, expressions over columns, in the order of a hit's breakdown.
        weights: one weight per signal, without vectors (``text``) and with them (``hybrid``).
        missing: ``zero`` counts an unknown signal as 0; ``share`` redistributes the weight of signals that the query or
            the vault lacks to the others, so that the weights in use sum to 1.
        factors: named expressions that multiply the score, in this order; unknown counts as 1.
        floor: candidates with a positive value are raised to ``cuts.min_score``, or to the caller's ``min_score`` if
            lower, so that a score of several signals never drops them.
        pinned: candidates with a positive value come first, highest first, with score 1.
        vectors: ``one`` vector per entry, or one ``per-model``.
        memory_score: fixed score of memories; None scores and embeds them like entries.
    """

    name: Annotated[str, Bounds(min_length=1, max_length=256)]
    description: str = ""
    text: TextRules = field(default_factory=TextRules.known)
    signals: Annotated[dict[str, Expression], Bounds(min_length=1, max_length=256)]
    weights: dict[WeightSet, dict[str, float]]
    missing: Missing = "zero"
    factors: Annotated[dict[str, Expression], Bounds(max_length=256)] = field(default_factory=dict)
    floor: Expression | None = None
    pinned: Expression | None = None
    balance: Balance | None = None
    smoothing: Smoothing | None = None
    confidence: Confidence = field(default_factory=Confidence.known)
    facts: Facts = field(default_factory=Facts.known)
    graph: Graph = field(default_factory=Graph.known)
    cuts: Cuts = field(default_factory=Cuts.known)
    adaptive: Adaptive = field(default_factory=Adaptive.known)
    vectors: Literal["one", "per-model"] = "one"
    memory_score: Bounded | None = None

    def __post_init__(self) -> None:
        for name in get_args(WeightSet):
            weights = self.weights.get(name)
            if weights is None or set(weights) != set(self.signals):
                raise ValueError(f"weights.{name} must name exactly the signals {sorted(self.signals)}")
            if any(not 0 <= w <= MOST_WEIGHT for w in weights.values()) or sum(weights.values()) < LEAST_WEIGHT:
                raise ValueError(f"weights.{name} must be from 0 to {MOST_WEIGHT:g}, and not all 0")
        # Signals, factors, floor and pinned share the keys of a hit's breakdown.
        if duplicates := [name for name in self.signal_names if self.signal_names.count(name) > 1]:
            raise ValueError(f"duplicate name {duplicates[0]!r} in signals and factors: rename one")
        if self.floor is not None and self.cuts.min_score is None:
            raise ValueError("floor requires cuts.min_score: set it, or omit floor")
        if unknown := {name for name in self.columns - COLUMNS if not is_fact(name)}:
            known = sorted(COLUMNS | TIMES | AGES.keys())
            raise ValueError(f"unknown column {sorted(unknown)[0]!r}; known are {known} and attrs.NAME")
        rule, balance, near = self.adaptive, self.balance, self.smoothing
        # Skip names that come from defaults: not every profile has a `semantic` signal.
        references = {
            "adaptive": () if rule == Adaptive.known() else (*rule.text, *rule.hybrid, *rule.fixed),
            "balance": () if balance in (None, Balance.known()) else (balance.words, balance.vectors),
            "smoothing": () if near in (None, Smoothing.known()) else near.signals,
        }
        for rule_name, signals in references.items():
            if unknown_signals := [name for name in signals if name not in self.signals]:
                raise ValueError(f"{rule_name} names {unknown_signals[0]!r}, which is not a signal of this profile")

    @cached_property
    def columns(self) -> frozenset[str]:
        """Columns that signals and adjustments read."""
        return frozenset().union(*map(names, (*self.signals.values(), *self._changes)))

    @cached_property
    def text_columns(self) -> frozenset[str]:
        """Columns read by signals with a weight in text-only searches."""
        return frozenset().union(*(names(self.signals[name]) for name, w in self.weights["text"].items() if w))

    @cached_property
    def ages(self) -> frozenset[str]:
        """Age columns that the signals read."""
        return self.columns & AGES.keys()

    @cached_property
    def attrs_columns(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of numbers in attrs that the signals read, with their paths."""
        return {name: tuple(name.split(".")[1:]) for name in sorted(self.columns) if name.startswith("attrs.")}

    @cached_property
    def asks_store(self) -> bool:
        """True if ranking needs candidate data that only the store holds."""
        return bool(self.attrs_columns) or self.cuts.ties != "found" or self.reads_entries

    @cached_property
    def reads_entries(self) -> bool:
        """True if ranking needs texts, roles or times of candidates."""
        return not self.columns.isdisjoint(ENTRY_COLUMNS)

    @cached_property
    def estimated(self) -> tuple[str, ...]:
        """Signals that estimate the cosines of candidates without a vector."""
        return tuple(name for name, signal in self.signals.items() if contains(signal, Estimate))

    @property
    def estimates(self) -> bool:
        """True if a signal estimates the cosines of candidates without a vector."""
        return bool(self.estimated)

    @cached_property
    def takes_top(self) -> bool:
        """True if an expression contains a `Top`."""
        return any(contains(part, Top) for part in (*self.signals.values(), *self._changes))

    @cached_property
    def signal_names(self) -> tuple[str, ...]:
        """Names of signals and adjustments, in the order of a hit's breakdown."""
        changes = [name for name in ("floor", "pinned") if getattr(self, name) is not None]
        return (*self.signals, *self.factors, *changes)

    @property
    def _changes(self) -> tuple[Expression, ...]:
        """Adjustments of the score: factors, floor, pinned."""
        return (*self.factors.values(), *(e for e in (self.floor, self.pinned) if e is not None))

    @cached_property
    def corpus_columns(self) -> frozenset[str]:
        """Columns that tiers fill: corpus columns that the signals read, and vectors for smoothing."""
        return self.columns & CORPUS_COLUMNS | ({"vectors"} if self.smoothing is not None else frozenset())

    @cached_property
    def formula(self) -> _core.Formula:
        """The native formula of all signals."""
        place = {name: at for at, name in enumerate(self.signals)}
        c, balance, near = self.confidence, self.balance, self.smoothing
        balanced = smoothed = adjusted = None
        if balance is not None and {balance.words, balance.vectors} <= place.keys():
            balanced = place[balance.words], place[balance.vectors], balance.factor
        if near is not None:
            smoothed_signals = [place[name] for name in near.signals if name in place]
            limits = near.lead, near.covered, near.prominence
            smoothed = smoothed_signals, near.share, near.neighbours, near.most, limits
        if self._changes:
            floor = None if self.floor is None else (parts(self.floor), self.cuts.min_score or 0.0)
            pinned = None if self.pinned is None else parts(self.pinned)
            adjusted = [*map(parts, self.factors.values())], floor, pinned
        return _core.Formula(
            [*map(parts, self.signals.values())],
            missing=self.missing,
            confidence=(
                (c.reach_weight, c.information_weight, c.share_penalty),
                c.words_intercept,
                c.half_information,
                (c.words_weight, c.cosine_weight, c.intercept),
                (c.cosine_only_weight, c.cosine_only_intercept),
                c.agreeing,
            ),
            balance=balanced,
            smoothing=smoothed,
            adjustment=adjusted,
        )
