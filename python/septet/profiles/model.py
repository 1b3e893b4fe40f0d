"""The Profile model: which legs find candidates, which signals score them, how they are fused and cut."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from septet.ranking.fusion import Expression, Missing, names

__all__ = ["Adaptive", "ColumnWeights", "Cuts", "Facts", "Graph", "Profile", "Row", "TextRules"]

Row: TypeAlias = Literal["text", "hybrid"]

#: Columns that legs, corpus scores and facts fill; a profile's expressions may name these and no others.
COLUMNS = frozenset({"bm25", "trigram", "tfidf", "cosine", "severity", "decay", "tags", "domain", "graph"})


#: A number from 0 to 1.
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class ColumnWeights(_Part):
    """BM25 weights of the five indexed columns."""

    id: float = Field(default=1.0, ge=0)
    title: float = Field(default=1.0, ge=0)
    description: float = Field(default=1.0, ge=0)
    context: float = Field(default=1.0, ge=0)
    tags: float = Field(default=1.0, ge=0)


class TextRules(_Part):
    """How a query becomes a full-text expression.

    Attributes:
        stop_words: ``drop`` leaves the 95 English stop words out, unless nothing else is left.
        grams: add character pairs, folded words and parts of identifiers (see `septet.text.query`).
        max_terms: longer queries are cut, with a note.
    """

    stop_words: Literal["keep", "drop"] = "keep"
    grams: bool = True
    max_terms: int = Field(default=256, ge=1, le=4096)
    weights: ColumnWeights = Field(default_factory=ColumnWeights.model_construct)


class Facts(_Part):
    """How facts about an entry become signals of 0 to 1."""

    severity: dict[str, Share] = {"critical": 1.0, "warning": 0.7, "suggestion": 0.4}
    half_life_days: float = Field(default=365.0, gt=0)
    ramp: float = Field(default=0.25, gt=0, le=1, description="share of a validity window in which it fades to 0")


class Graph(_Part):
    """Proximity over links: anchors are the best of the first pass whose ``semantic`` signal is above 0.

    Attributes:
        most_pulled: at most so many neighbours become candidates, the nearest first; an entry with thousands of links
            must not flood a search.
    """

    anchors: int = Field(default=5, ge=0)
    most_pulled: int = Field(default=100, ge=0)
    proximity: tuple[Share, ...] = Field(default=(1 / 2, 1 / 3), description="by distance, from 1")


class Cuts(_Part):
    """How many candidates are taken and how many results leave.

    Attributes:
        limit: results when the caller names no limit.
        factor, minimum: each leg of each tier takes ``max(factor * limit, minimum)`` candidates.
        guard_below: small-corpus guard. With no explicit limit, fewer full-text matches than this, and more than half
            of them about to be dropped, every result is returned; 0 turns it off.
        confident_score, confident_limit: with a token budget, a best score of at least this keeps so many at most.
    """

    limit: int = Field(default=10, ge=1)
    factor: int = Field(default=3, ge=1)
    minimum: int = Field(default=30, ge=1)
    guard_below: int = Field(default=50, ge=0)
    confident_score: float | None = None
    confident_limit: int = Field(default=3, ge=1)

    def candidates(self, limit: int) -> int:
        """Return how many candidates each leg of each tier takes for a limit."""
        return max(self.factor * limit, self.minimum)


class Adaptive(_Part):
    """Weights that follow feedback: from ``min_rows`` rows on, the moving signals gain or lose up to ``span``.

    Attributes:
        values: what one row of each action counts; actions not named here are not counted.
        text, hybrid: the signals that move, in each row of weights; they keep their proportion to each other.
        fixed: signals that stay as they are; all others are rescaled so that the weights sum to 1.
    """

    min_rows: int = Field(default=30, ge=1)
    span: float = Field(default=0.15, ge=0, le=1)
    values: dict[str, Share] = {"accepted": 1.0, "modified": 0.5, "dismissed": 0.0}
    text: tuple[str, ...] = ("semantic",)
    hybrid: tuple[str, ...] = ("semantic",)
    fixed: tuple[str, ...] = ()


class Profile(_Part):
    """One way to rank, as a value.

    Attributes:
        signals: the named signals, each an expression over columns, in the order of a hit's breakdown.
        weights: one weight per signal, without vectors (``text``) and with them (``hybrid``).
        missing: ``zero`` counts an unknown signal as 0; ``share`` gives the weight of signals that the query or the
            vault cannot have to the others, so that the weights in use sum to 1.
        vectors: ``one`` vector per entry, or one ``per-model``.
        memory_score: the fixed score of memories.
    """

    name: str = Field(min_length=1)
    description: str = ""
    text: TextRules = Field(default_factory=TextRules.model_construct)
    signals: dict[str, Expression] = Field(min_length=1)
    weights: dict[Row, dict[str, float]]
    missing: Missing = "zero"
    facts: Facts = Field(default_factory=Facts.model_construct)
    graph: Graph = Field(default_factory=Graph.model_construct)
    cuts: Cuts = Field(default_factory=Cuts.model_construct)
    adaptive: Adaptive = Field(default_factory=Adaptive.model_construct)
    vectors: Literal["one", "per-model"] = "one"
    memory_score: float = 0.5

    @model_validator(mode="after")
    def _consistent(self) -> Profile:
        for row in ("text", "hybrid"):
            weights = self.weights.get(row)
            if weights is None or set(weights) != set(self.signals):
                raise ValueError(f"weights.{row} must name exactly the signals {sorted(self.signals)}")
            if any(w < 0 for w in weights.values()) or sum(weights.values()) <= 0:
                raise ValueError(f"weights.{row} must be 0 or more, and not all 0")
        if unknown := self.columns - COLUMNS:
            raise ValueError(f"unknown column {sorted(unknown)[0]!r}; known are {sorted(COLUMNS)}")
        rule = self.adaptive if "adaptive" in self.model_fields_set else Adaptive(text=(), hybrid=())
        for name in (*rule.text, *rule.hybrid, *rule.fixed):
            if name not in self.signals:
                raise ValueError(f"adaptive names {name!r}, which is no signal of this profile")
        return self

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the signals read."""
        # Kept beside the signals it was made from: a copy with other signals takes over what was kept.
        kept: tuple[object, frozenset[str]] = self.__dict__.get("_columns", (None, frozenset()))
        if kept[0] is not self.signals:
            kept = self.signals, frozenset().union(*(names(e) for e in self.signals.values()))
            self.__dict__["_columns"] = kept
        return kept[1]
