"""The built-in profiles, as values. All ranking numbers of Septet are here or in the defaults of the model.

They are made unchecked, because checking loads pydantic; a test checks them.
"""

from __future__ import annotations

from septet.ranking.fusion import Clamp, Col, Estimate, Expression, Found, Saturate, Scale, Sum, Term
from septet.ranking.profile import Adaptive, Balance, ColumnWeights, Cuts, Graph, Profile, Smoothing, TextRules

__all__ = [
    "BUILTIN",
    "CONNECTED_PRIORITY",
    "MARKDOWN_MEMORY",
    "SEPTET",
    "SEVEN_SIGNALS",
    "SIMILAR",
    "SIMILAR_WORDS",
    "SIX_SIGNALS",
    "TIER_PRIORITIES",
]

#: The documented tiers of a federation; any other name is a connected vault.
TIER_PRIORITIES = {"agent": 1.0, "project": 0.8, "team": 0.6}
CONNECTED_PRIORITY = 0.5

_DOCUMENTED_COLUMNS = ColumnWeights.known(id=5.0, title=10.0, description=3.0, context=1.0, tags=2.0)

SEVEN_SIGNALS = Profile.known(
    name="seven-signals",
    description="The documented seven-signal vault search, to the digit. The weights sum to 0.90, so 0.90 is the "
    "highest score until feedback has moved them; a score is no probability.",
    # `grams` off: the documented search has no such terms. Accents, scripts and punctuation follow the document
    # (letters and digits of every script count), where the original keeps a-z and 0-9 only.
    text=TextRules.known(stop_words="keep", grams=False, snippet="start", typos=False, weights=_DOCUMENTED_COLUMNS),
    signals={
        "semantic": Col.known(col="tfidf"),
        "vector": Col.known(col="cosine"),
        "severity": Col.known(col="severity"),
        "temporal_decay": Col.known(col="decay"),
        "tag_overlap": Col.known(col="tags"),
        "domain_match": Col.known(col="domain"),
        "graph_proximity": Col.known(col="graph"),
    },
    weights={
        "text": {
            "semantic": 0.35,
            "vector": 0.00,
            "severity": 0.10,
            "temporal_decay": 0.10,
            "tag_overlap": 0.10,
            "domain_match": 0.10,
            "graph_proximity": 0.15,
        },
        "hybrid": {
            "semantic": 0.20,
            "vector": 0.15,
            "severity": 0.10,
            "temporal_decay": 0.10,
            "tag_overlap": 0.10,
            "domain_match": 0.10,
            "graph_proximity": 0.15,
        },
    },
    missing="zero",
    cuts=Cuts.known(budget="stop", confident_score=0.8),
    adaptive=Adaptive.known(fixed=("vector",)),
    memory_score=0.5,
)

SIX_SIGNALS = Profile.known(
    name="six-signals",
    description="The documented six-signal ancestor: no graph, its own weights (they sum to 1), stop words left out "
    "of the full-text query, one vector per model kept.",
    text=TextRules.known(stop_words="drop", grams=False, snippet="start", typos=False, weights=_DOCUMENTED_COLUMNS),
    signals={name: e for name, e in SEVEN_SIGNALS.signals.items() if name != "graph_proximity"},
    weights={
        "text": {
            "semantic": 0.40,
            "vector": 0.00,
            "severity": 0.15,
            "temporal_decay": 0.15,
            "tag_overlap": 0.15,
            "domain_match": 0.15,
        },
        "hybrid": {
            "semantic": 0.25,
            "vector": 0.15,
            "severity": 0.15,
            "temporal_decay": 0.15,
            "tag_overlap": 0.15,
            "domain_match": 0.15,
        },
    },
    missing="zero",
    cuts=Cuts.known(budget="stop", confident_score=0.8),
    adaptive=Adaptive.known(fixed=("vector",)),
    memory_score=0.5,
    vectors="per-model",
)

# 0.78 (cos + 1) / (max cos + 1) + 0.15 bm25 / max + 0.07 trigram / max: the mean of twelve English collections was
# 0.575 nDCG@10, against 0.544 for RRF (k = 60) and 0.421 for the documented TF-IDF. The two signals share the
# documented weight of relevance, 0.35, in that proportion.
_BM25, _TRIGRAM, _COSINE, _FEEDBACK = 0.15, 0.07, 0.78, 0.06
_RELEVANCE = 0.35


def _scaled(column: str) -> Scale:
    return Scale.known(scale=Col.known(col=column))


def _estimated(by: Expression) -> Estimate:
    """Return the cosine, and where a vector has not come yet what one would be expected by words from 0 to 1."""
    return Estimate.known(estimate=Col.known(col="cosine"), by=by, intercept=0.40, slope=2.91, doubt=5.0)


_WORDS = Sum.known(
    sum=(
        Term.known(weight=_BM25, of=_scaled("bm25")),
        Term.known(weight=_TRIGRAM, of=_scaled("trigram")),
        Term.known(weight=_FEEDBACK, of=_scaled("feedback")),
    )
)

SEPTET = Profile.known(
    name="septet",
    description="The seven signals over the relevance that measured best; scores from 0 to 1 in every mode.",
    text=TextRules.known(
        stop_words="drop",
        grams=True,
        weights=ColumnWeights.known(id=1.0, title=2.0, description=1.0, context=1.0, tags=1.0),
    ),
    signals={
        **SEVEN_SIGNALS.signals,
        "semantic": _WORDS,
        # Cosine counted from -1: safe where the model does not know the language and all cosines are low.
        "vector": Scale.known(scale=_estimated(_WORDS), shift=1.0),
    },
    weights={
        "text": dict(SEVEN_SIGNALS.weights["text"]),
        "hybrid": {
            **SEVEN_SIGNALS.weights["hybrid"],
            "semantic": _RELEVANCE * (_BM25 + _TRIGRAM),
            "vector": _RELEVANCE * _COSINE,
        },
    },
    missing="share",
    balance=Balance.known(),
    smoothing=Smoothing.known(),
    # The five nearest by age, not by chance: with all of them an entry with thousands of links makes a search slow, and
    # brings a hundred candidates that only their place in a list recommends.
    graph=Graph.known(most_links=5),
    adaptive=Adaptive.known(hybrid=("semantic", "vector")),
)


MARKDOWN_MEMORY = Profile.known(
    name="markdown-memory",
    description="The documented search of a Markdown memory: 0.7 cosine + 0.3 BM25 as x / (1 + x), from 0.35 on, six "
    "results. What words found never falls under 0.35, cosines of what has no vector yet are estimated, and files that "
    "are named come first.",
    text=TextRules.known(match="all", stop_words="keep", grams=True, snippet="start", snippet_chars=700, typos=False),
    signals={
        # Where all chunks have vectors this is the cosine. While some have none yet, a cosine of 0 would put what words
        # find of them behind whatever has a vector.
        "vector": _estimated(_scaled("bm25")),
        "text": Saturate.known(saturate=Col.known(col="bm25")),
    },
    weights={"text": {"vector": 0.0, "text": 1.0}, "hybrid": {"vector": 0.7, "text": 0.3}},
    missing="zero",
    floor=Found.known(found=Col.known(col="bm25")),
    pinned=Col.known(col="path"),
    cuts=Cuts.known(
        limit=6, factor=4, minimum=1, maximum=200, guard_below=0, min_score=0.35, likeness="words", ties="path"
    ),
    adaptive=Adaptive.known(text=(), hybrid=()),
)


def _similar(signal: str) -> Profile:
    return Profile.known(
        name="similar",
        description="What is like an entry, a text or a vector: one cosine, as it is.",
        signals={signal: Clamp.known(clamp=Col.known(col=signal))},
        weights={"text": {signal: 1.0}, "hybrid": {signal: 1.0}},
    )


#: How `Vault.similar` ranks, by vectors and by words; no names to search by.
SIMILAR = _similar("cosine")
SIMILAR_WORDS = _similar("tfidf")

BUILTIN = {p.name: p for p in (SEPTET, SEVEN_SIGNALS, SIX_SIGNALS, MARKDOWN_MEMORY)}
