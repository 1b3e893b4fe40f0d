"""The built-in profiles, as values. All ranking numbers of Septet are here or in the defaults of the model.

They are created without validation, which would load pydantic; a test validates them.
"""

from __future__ import annotations

from septet.ranking.fusion import (
    Above,
    Balance,
    Clamp,
    Col,
    Const,
    Estimate,
    Expression,
    Found,
    Linear,
    Rrf,
    Saturate,
    Scale,
    Smoothing,
    Standing,
    Sum,
    Term,
    Top,
    Unless,
)
from septet.ranking.profile import Adaptive, ColumnWeights, Cuts, Facts, Graph, Profile, TextRules

#: Priorities of the documented tiers; any other name is a connected vault.
TIER_PRIORITIES = {"agent": 1.0, "project": 0.8, "team": 0.6}
CONNECTED_PRIORITY = 0.5

_DOCUMENTED_COLUMNS = ColumnWeights.known(id=5.0, title=10.0, description=3.0, context=1.0, tags=2.0)

_FACTS = {"severity": 0.10, "temporal_decay": 0.10, "tag_overlap": 0.10, "domain_match": 0.10}

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
        "text": {"semantic": 0.35, "vector": 0.00, **_FACTS, "graph_proximity": 0.15},
        "hybrid": {"semantic": 0.20, "vector": 0.15, **_FACTS, "graph_proximity": 0.15},
    },
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
        "text": {"semantic": 0.40, "vector": 0.00, **dict.fromkeys(_FACTS, 0.15)},
        "hybrid": {"semantic": 0.25, "vector": 0.15, **dict.fromkeys(_FACTS, 0.15)},
    },
    cuts=Cuts.known(budget="stop", confident_score=0.8),
    adaptive=Adaptive.known(fixed=("vector",)),
    memory_score=0.5,
    vectors="per-model",
)

# 0.78 (cos + 1) / (max cos + 1) + 0.15 bm25 / max + 0.07 trigram / max: the mean of twelve English collections was
# 0.575 nDCG@10, against 0.544 for RRF (k = 60) and 0.421 for the documented TF-IDF. The two signals share the
# documented weight of relevance, 0.35, in that proportion.
_BM25, _TRIGRAM, _COSINE, _FEEDBACK = 0.15, 0.07, 0.78, 0.06
_SPELLING, _TITLE, _EXACT = 0.045, 0.2, 0.1
_RELEVANCE = 0.35
_SHIFT = 10.0


def _scaled(column: str) -> Scale:
    return Scale.known(scale=Col.known(col=column))


def _estimated(by: Expression) -> Estimate:
    """Return the cosine, or its estimate from a word score of 0 to 1 for entries without a vector."""
    return Estimate.known(estimate=Col.known(col="cosine"), by=by, intercept=0.40, slope=2.91, doubt=5.0)


_ESTIMATING = (
    Term.known(weight=_BM25, of=_scaled("bm25")),
    Term.known(weight=_TRIGRAM, of=_scaled("trigram")),
    Term.known(weight=_FEEDBACK, of=_scaled("feedback")),
)
# Tuned on queries over technical texts: names, titles and documentation (docs/ranking.md). Scaled to a maximum of 1, so
# that facts keep their relative weight.
_WORDS = Scale.known(
    scale=Sum.known(
        sum=(
            Term.known(weight=_BM25, of=_scaled("bm25")),
            Term.known(weight=_SPELLING, of=_scaled("trigram")),
            Term.known(weight=_TITLE, of=Col.known(col="title")),
            # An exact title ranks first.
            Term.known(
                weight=_EXACT, of=Clamp.known(clamp=Linear.known(linear=Col.known(col="title"), times=10.0, plus=-9.0))
            ),
        )
    )
)

#: Entries reached only by links rank after matches.
_UNMATCHED = Unless.known(
    unless=Sum.known(
        sum=(
            Term.known(weight=1.0, of=Found.known(found=Col.known(col="bm25"))),
            Term.known(weight=1.0, of=Found.known(found=Linear.known(linear=Col.known(col="cosine"), plus=2.0))),
        )
    ),
    of=Const.known(const=0.02),
)

SEPTET = Profile.known(
    name="septet",
    description="The seven signals over the relevance that measured best; scores from 0 to 1 in every mode.",
    text=TextRules.known(
        stop_words="drop",
        least_chars=1,
        grams=True,
        # Context, such as neighbouring turns of a conversation, is weaker evidence than the entry's own text.
        weights=ColumnWeights.known(id=1.0, title=5.0, description=1.0, context=0.2, tags=1.0),
    ),
    signals={
        **SEVEN_SIGNALS.signals,
        # A fact shared by all candidates must not affect scores.
        **{name: Above.known(above=SEVEN_SIGNALS.signals[name]) for name in ("severity", "temporal_decay")},
        "semantic": _WORDS,
        # z-scores shifted by 10, so that scores do not depend on the range of a model's cosines.
        "vector": Scale.known(scale=Standing.known(standing=_estimated(Sum.known(sum=_ESTIMATING))), shift=_SHIFT),
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
    factors={"neighbour": _UNMATCHED},
    # Factor 0: the best results do not depend on the limit.
    cuts=Cuts.known(factor=0, minimum=200),
    balance=Balance.known(),
    smoothing=Smoothing.known(),
    # The five latest links: with all of them, an entry with thousands of links slows down a search, and adds a hundred
    # arbitrary candidates.
    graph=Graph.known(most_links=5),
    adaptive=Adaptive.known(hybrid=("semantic", "vector")),
)

#: Hits of a lower score than this share of the best are not part of a `Vault.context`. Chosen on half of the questions
#: of `benches/context.py`: without a budget only Cranfield by words loses answers (2 of 92), all lose up to half of the
#: entries.
CONTEXT_CUT = 0.5

_INSTRUCTION = 0.17
#: Share of the score outside the span of time that a question names.
_OUTSIDE = 0.5
#: Share of the best score from which messages are compared if a question asks for the first or the latest, and of
#: their score that the others keep.
CLOSE = 0.6
#: Share of a message's score that is that of the better neighbour, in conversations of people.
_BESIDE = 1 / 3


def _preferring(column: str, share: float) -> Linear:
    """Return a factor of 1 where a column is 1, and of a share where it is 0."""
    return Linear.known(linear=Col.known(col=column), times=1 - share, plus=share)


CONVERSATION = SEPTET._with(
    name="conversation",
    description="The profile septet for messages with a role: those of a user count more than those of an assistant, "
    "requests find standing instructions, and questions that name a time what was said then.",
    text=SEPTET.text._with(conversation=True),
    signals={**SEPTET.signals, "instruction": Col.known(col="instruction")},
    weights={row: {**weights, "instruction": _INSTRUCTION} for row, weights in SEPTET.weights.items()},
    factors={
        **SEPTET.factors,
        "role": Col.known(col="role"),
        "span": _preferring("span", _OUTSIDE),
        "order": _preferring("order", CLOSE),
        # The mean of an answer's score and of that of its question.
        "answered": _preferring("answered", 0.5),
        # Short turns of people have their words in a neighbour: two thirds of a score are its own.
        "beside": Linear.known(linear=Col.known(col="beside"), times=_BESIDE, plus=1 - _BESIDE),
    },
    facts=Facts.known(roles={"user": 1.0, "assistant": 0.4}),
)


MARKDOWN_MEMORY = Profile.known(
    name="markdown-memory",
    description="The documented search of a Markdown memory: 0.7 cosine + 0.3 BM25 as x / (1 + x), from 0.35 on, six "
    "results. What words found never falls under 0.35, cosines of what has no vector yet are estimated, and files that "
    "are named come first.",
    text=TextRules.known(
        match="all", stop_words="keep", grams=True, names=False, snippet="start", snippet_chars=700, typos=False
    ),
    signals={
        # The cosine if all chunks have vectors. For chunks without one yet, a cosine of 0 would rank their word matches
        # after every chunk with a vector.
        "vector": _estimated(_scaled("bm25")),
        "text": Saturate.known(saturate=Col.known(col="bm25")),
    },
    weights={"text": {"vector": 0.0, "text": 1.0}, "hybrid": {"vector": 0.7, "text": 0.3}},
    floor=Found.known(found=Col.known(col="bm25")),
    pinned=Col.known(col="path"),
    cuts=Cuts.known(
        limit=6, factor=4, minimum=1, maximum=200, guard_below=0, min_score=0.35, likeness="words", ties="path"
    ),
    adaptive=Adaptive.known(text=(), hybrid=()),
)


#: The documented 93 words, without `and`.
RECALL_STOP_WORDS = tuple(
    "an the this that these those some each every he it me my we us or am they them their there here what which where "
    "when whom is be do no so if as at by in of on to up are was has had not but can did for got let may our its nor "
    "yet how all any too own out why who few have been were will would could should does being also with from into "
    "about than over such after before between just only very more most really already".split()
)

# The documented category of an entry is one of its tags. Ids are not searched: prefixes would match random ids of
# letters and digits.
_RECALL_COLUMNS = ColumnWeights.known(id=0.0, title=6.0, description=2.0, context=2.0, tags=3.0)

RECALL = Profile.known(
    name="recall",
    description="The documented recall of one source: all words by their beginnings, else fewer, else any, ranked by "
    "BM25, and vectors; fused by ranks from 0 with k = 60, the first ten of each list, or as many as the limit.",
    text=TextRules.known(
        match="cascade",
        stop_words=RECALL_STOP_WORDS,
        grams=False,
        snippet="start",
        typos=False,
        weights=_RECALL_COLUMNS,
    ),
    signals={
        "recall": Rrf.known(
            rrf=(
                Term.known(weight=1.0, of=Top.known(top=Col.known(col="bm25"))),
                # Shifted, so that a cosine of 0 has a rank, too.
                Term.known(weight=1.0, of=Top.known(top=Linear.known(linear=Col.known(col="cosine"), plus=2.0))),
            ),
            k=60.0,
            first_rank=0,
        )
    },
    weights={"text": {"recall": 1.0}, "hybrid": {"recall": 1.0}},
    cuts=Cuts.known(limit=10, factor=1, minimum=10, guard_below=0),
    adaptive=Adaptive.known(text=(), hybrid=()),
)

_NEAR = Top.known(top=Clamp.known(clamp=Col.known(col="cosine")))
_WORDED = Top.known(top=Saturate.known(saturate=Col.known(col="bm25")))
_FUSED = 0.55

PLANNED_RETRIEVAL = Profile.known(
    name="planned-retrieval",
    description=(
        "The documented fusion for planned retrieval: 0.55 cosine + 0.45 BM25 for entries found by both "
        "legs; entries found by one leg keep their score. Both scores range from 0 to 1, BM25 as x / (1 + "
        "x). With vectors, entries found by one leg rank above entries found by both; the profile septet "
        "ranks far better, as does this profile with shares set for vector_alone and text_alone."
    ),
    text=TextRules.known(match="any", stop_words="keep", grams=True, names=False, snippet="match", typos=False),
    signals={
        "vector": Unless.known(unless=Unless.known(unless=_WORDED, of=Const.known(const=1.0)), of=_NEAR),
        "text": Unless.known(unless=Unless.known(unless=_NEAR, of=Const.known(const=1.0)), of=_WORDED),
        "vector_alone": Unless.known(unless=_WORDED, of=_NEAR),
        "text_alone": Unless.known(unless=_NEAR, of=_WORDED),
    },
    weights={
        "text": {"vector": 0.0, "text": 0.0, "vector_alone": 0.0, "text_alone": 1.0},
        "hybrid": {"vector": _FUSED, "text": 1.0 - _FUSED, "vector_alone": 1.0, "text_alone": 1.0},
    },
    cuts=Cuts.known(limit=10, factor=4, minimum=1, guard_below=0),
    adaptive=Adaptive.known(text=(), hybrid=()),
)


def _similar(signal: str) -> Profile:
    return Profile.known(
        name="similar",
        description="Similarity to an entry, a text or a vector: the plain cosine.",
        signals={signal: Clamp.known(clamp=Col.known(col=signal))},
        weights={"text": {signal: 1.0}, "hybrid": {signal: 1.0}},
    )


#: Profiles of `Vault.similar`, by vectors and by words; not available by name.
SIMILAR = _similar("cosine")
SIMILAR_WORDS = _similar("tfidf")

BUILTIN = {
    p.name: p for p in (SEPTET, CONVERSATION, SEVEN_SIGNALS, SIX_SIGNALS, MARKDOWN_MEMORY, RECALL, PLANNED_RETRIEVAL)
}
