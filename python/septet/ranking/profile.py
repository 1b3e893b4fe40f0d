"""The Profile model: which legs find candidates, which signals score them, how they are fused and cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Annotated, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.inputs.checked import Bounds, Checked
from septet.model.entry import SNIPPET_CHARS
from septet.ranking.bm25_scale import K1, B
from septet.ranking.facts import AGES, TIMES, attrs_paths, is_fact
from septet.ranking.fusion import Expression, Missing, estimates, formula, names, takes_top
from septet.ranking.passes import (
    AtLeastOne,
    Balance,
    Bounded,
    Confidence,
    Count,
    Few,
    NotNegative,
    Positive,
    Share,
    Smoothing,
)

__all__ = [
    "Adaptive",
    "Balance",
    "ColumnWeights",
    "Confidence",
    "Cuts",
    "Facts",
    "Feedback",
    "Graph",
    "Profile",
    "Smoothing",
    "TextRules",
    "WeightSet",
]

#: Which of a profile's sets of weights counts: without vectors, or with them.
WeightSet: TypeAlias = Literal["text", "hybrid"]

#: Columns that legs, corpus scores and facts fill; a profile's expressions may name these and no others.
#: Facts are columns too: times, ages, and numbers in attrs by ``attrs.PATH`` (see `septet.ranking.facts`).
COLUMNS = frozenset(
    {"bm25", "title", "trigram", "tfidf", "feedback", "cosine", "path", "severity", "decay", "tags", "domain", "graph"}
)

#: Those that need the corpus.
CORPUS_COLUMNS = frozenset({"bm25", "tfidf", "trigram", "feedback", "cosine"})
SECONDS_A_DAY = 86_400.0
#: Between these bounds weights add up, and divide, without a loss.
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
    """Word feedback, the column ``feedback``: the words that tell most of the best matches count as a second query.

    It is filled for searches by text alone.

    Attributes:
        rows: so many of the best full-text matches are read.
        terms: so many of their terms count, and those that tell as much as the last.
        agreeing: in how many of the matches a term must be.
        covered: no feedback when a candidate holds this share of the query's information.
    """

    rows: Few = 5
    terms: Few = 20
    agreeing: AtLeastOne = 2
    covered: Share = 0.85


class TextRules(Checked):
    """How a query becomes a full-text expression.

    Attributes:
        match: ``any`` takes the best of the entries that hold a word of the query. ``all`` first takes those that hold
            every word, in any of its forms (the strict wave), and fills up with others where they are fewer than the
            candidates wanted (the relaxed wave). Queries of more than 64 words are searched for any. ``cascade`` takes
            words for beginnings and finds entries that hold all of them, else those that hold fewer, else any.
        min_terms: a cascade drops the shortest word, again and again, while no entry holds all that are left and more
            than so many are; then any word will do. None drops none.
        stop_words: ``drop`` leaves the 95 English stop words out, unless nothing else is left; a list leaves these out.
            A cascade leaves single letters out, too, and finds nothing where nothing else is left.
        least_chars: words of fewer characters are left out where a query has others; not in a cascade. With 1 the ``7``
            of `chapter 7` counts, and the ``t`` of `don't` does not.
        grams: add character pairs, folded words and parts of identifiers (see `septet.query.parse`); not in a cascade.
        names: with grams, add names that signs join or mark, as one term: `get_home_dir`, `--no-cache`, `C++`.
        max_terms: longer queries are cut, with a note.
        feedback: how the column ``feedback`` is filled, if a signal reads it.
        snippet: ``match`` shows hits by the passage around the best match, ``start`` by the start of the description.
        snippet_chars: how many characters of the text it has at most.
        typos: guess at words that no entry holds, with a note; the guesses are searched for where nothing else matches.
        k1: how slowly more occurrences of a word tell more: near 0 one is as good as many.
        b: how much the length of a text counts, from 0, not at all, to 1, in proportion.
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
    weights: ColumnWeights = field(default_factory=ColumnWeights.known)
    k1: Annotated[float, Bounds(ge=0.01, le=1_000)] = K1
    b: Share = B

    @cached_property
    def dropped(self) -> bool | frozenset[str]:
        """The stop words that are left out: False for none, True for the documented ones."""
        if isinstance(self.stop_words, str):
            return self.stop_words == "drop"
        return frozenset(word.lower() for word in self.stop_words)

    @cached_property
    def weighed(self) -> tuple[str, ...]:
        """The columns with a weight above 0."""
        return tuple(name for name in ColumnWeights.__dataclass_fields__ if getattr(self.weights, name) > 0)

    @cached_property
    def constants(self) -> tuple[float, float] | None:
        """The constants of BM25; None for FTS5's own."""
        return None if (self.k1, self.b) == (K1, B) else (self.k1, self.b)


class Facts(Checked):
    """How facts about an entry become signals of 0 to 1.

    Attributes:
        ramp: the share of a validity window in which an entry fades to 0.
    """

    severity: dict[str, Share] = field(default_factory=lambda: {"critical": 1.0, "warning": 0.7, "suggestion": 0.4})
    half_life_days: Positive = 365.0
    ramp: Annotated[float, Bounds(gt=0, le=1)] = 0.25

    @cached_property
    def rules(self) -> _core.FactRules:
        """These facts in the form in which they are evaluated."""
        return _core.FactRules(self.severity, half_life_s=self.half_life_days * SECONDS_A_DAY, ramp=self.ramp)


class Graph(Checked):
    """Proximity over links: anchors are the best of the first pass whose ``semantic`` signal is above 0.

    Attributes:
        most_links: from each entry, only so many neighbours are walked to: those linked last, and of those stored
            together the ones that were added first; None for all. Candidates walk too, and are near where they meet.
        most_pulled: at most so many neighbours become candidates, the nearest first; an entry with thousands of links
            must not flood a search.
        proximity: by distance, from 1.
    """

    anchors: Count = 5
    most_links: Count | None = None
    most_pulled: Count = 100
    proximity: Annotated[tuple[Share, ...], Bounds(max_length=16)] = (1 / 2, 1 / 3)


class Cuts(Checked):
    """How many candidates are taken and how many results leave.

    Attributes:
        limit: results when the caller names no limit.
        factor, minimum, maximum: each leg of each tier takes ``min(maximum, max(factor * limit, minimum))`` candidates;
            a maximum of None is none. With a factor of 0 a limit only cuts: the candidates decide half as many places,
            whatever the limit, and more of them the places behind, as those of later pages; where words and vectors are
            both searched, each takes half.
        guard_below: small-corpus guard. With no explicit limit, fewer full-text matches than this, and more than half
            of them about to be dropped, every result is returned; 0 turns it off.
        budget: what becomes of a result that a token budget has no room for: ``skip`` leaves it out and goes on with
            the next; ``stop`` ends the results there, but always keeps the first, however large.
        confident_score, confident_limit: with a token budget, a best score of at least this keeps so many at most.
        min_score: results under this score are dropped when the caller names no ``min_score``; None keeps all.
        diversity: how much unlike each other results should be when the caller names no ``diversity``, 0 to 1.
        likeness: what tells how much results are like each other: ``vectors``, and words where there are none, beside
            scores as parts of the best; or ``words`` alone, beside scores from the lowest, 0, to the highest, 1.
        ties: what puts equal scores in order: ``found``, how the legs ranked them; or ``path``, path, lines and id of
            each, which stay the same when a vault is made anew, as long as all equal ones are candidates.
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
    """Weights that follow feedback: from ``min_rows`` rows on, the moving signals gain or lose up to ``span``.

    Attributes:
        values: what one row of each action counts; actions not named here are not counted.
        text, hybrid: the signals that move, in each set of weights; they keep their proportion to each other.
        fixed: signals that stay as they are; all others are rescaled so that the weights sum to 1.
    """

    min_rows: AtLeastOne = 30
    span: Share = 0.15
    values: dict[str, Share] = field(default_factory=lambda: {"accepted": 1.0, "modified": 0.5, "dismissed": 0.0})
    text: tuple[str, ...] = ("semantic",)
    hybrid: tuple[str, ...] = ("semantic",)
    fixed: tuple[str, ...] = ()


class Profile(Checked):
    """One way to rank, as a value.

    Attributes:
        signals: the named signals, each an expression over columns, in the order of a hit's breakdown.
        weights: one weight per signal, without vectors (``text``) and with them (``hybrid``).
        missing: ``zero`` counts an unknown signal as 0; ``share`` gives the weight of signals that the query or the
            vault cannot have to the others, so that the weights in use sum to 1.
        factors: named expressions that the score is multiplied by, in this order; unknown counts 1.
        floor: candidates for which it is above 0 are raised to ``cuts.min_score``, or to the ``min_score`` that the
            caller names where that is less, so that a score made of several signals never drops them.
        pinned: candidates for which it is above 0 come first, the highest first, with the score 1.
        vectors: ``one`` vector per entry, or one ``per-model``.
        memory_score: a fixed score for memories; None scores, and embeds, them like entries.
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
        # Each change of a score is a part of a hit's breakdown, by name.
        if doubled := [name for name in self.signal_names if self.signal_names.count(name) > 1]:
            raise ValueError(f"two parts of the score have the name {doubled[0]!r}: rename one")
        if self.floor is not None and self.cuts.min_score is None:
            raise ValueError("floor raises to cuts.min_score, which is not there: name a score, or leave floor out")
        if unknown := {name for name in self.columns - COLUMNS if not is_fact(name)}:
            known = sorted(COLUMNS | TIMES | AGES.keys())
            raise ValueError(f"unknown column {sorted(unknown)[0]!r}; known are {known} and attrs.NAME")
        rule, balance, near = self.adaptive, self.balance, self.smoothing
        # What nobody named need not be there: the defaults name `semantic`, in the profiles that have it.
        named = {
            "adaptive": () if rule == Adaptive.known() else (*rule.text, *rule.hybrid, *rule.fixed),
            "balance": () if balance in (None, Balance.known()) else (balance.words, balance.vectors),
            "smoothing": () if near in (None, Smoothing.known()) else near.signals,
        }
        for rule_name, signals in named.items():
            if unknown_signals := [name for name in signals if name not in self.signals]:
                raise ValueError(f"{rule_name} names {unknown_signals[0]!r}, which is no signal of this profile")

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns that the signals and the changes of scores read."""
        return frozenset().union(*map(names, (*self.signals.values(), *self._changes)))

    @cached_property
    def text_columns(self) -> frozenset[str]:
        """The columns that signals with a weight in searches by text alone read."""
        return frozenset().union(*(names(self.signals[name]) for name, w in self.weights["text"].items() if w))

    @cached_property
    def ages(self) -> frozenset[str]:
        """The columns of ages that the signals read."""
        return self.columns & AGES.keys()

    @cached_property
    def attrs_columns(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of numbers in attrs that the signals read, each with its path."""
        return attrs_paths(self.columns)

    @cached_property
    def asks_store(self) -> bool:
        """Whether ranking needs what the store alone knows of candidates."""
        return bool(self.attrs_columns) or self.cuts.ties != "found"

    @cached_property
    def estimates(self) -> bool:
        """Whether a signal estimates the cosines of candidates whose vector has not come yet."""
        return any(map(estimates, self.signals.values()))

    @cached_property
    def takes_top(self) -> bool:
        """Whether a signal reads as many candidates as a leg takes."""
        return any(map(takes_top, (*self.signals.values(), *self._changes)))

    @cached_property
    def signal_names(self) -> tuple[str, ...]:
        """The names of the signals and of what changes scores afterwards, in the order of a hit's breakdown."""
        changes = [name for name in ("floor", "pinned") if getattr(self, name) is not None]
        return (*self.signals, *self.factors, *changes)

    @property
    def _changes(self) -> tuple[Expression, ...]:
        """What changes scores after the signals were weighed."""
        return (*self.factors.values(), *(e for e in (self.floor, self.pinned) if e is not None))

    @cached_property
    def corpus_columns(self) -> frozenset[str]:
        """What a tier fills: the columns that the signals read and that need the corpus, and vectors to smooth by."""
        return self.columns & CORPUS_COLUMNS | ({"vectors"} if self.smoothing is not None else frozenset())

    @cached_property
    def formula(self) -> _core.Formula:
        """The signals in the form in which they are evaluated, all in one call."""
        place = {name: at for at, name in enumerate(self.signals)}
        balance, near = self.balance, self.smoothing
        return formula(
            tuple(self.signals.values()),
            self.missing,
            self.confidence._numbers,
            None
            if balance is None or not {balance.words, balance.vectors} <= place.keys()
            else (place[balance.words], place[balance.vectors], balance.factor),
            None
            if near is None
            else (
                [place[name] for name in near.signals if name in place],
                near.share,
                near.neighbours,
                near.most,
                (near.lead, near.covered, near.prominence),
            ),
            None
            if not self._changes
            else (
                tuple(self.factors.values()),
                None if self.floor is None else (self.floor, self.cuts.min_score or 0.0),
                self.pinned,
            ),
        )
