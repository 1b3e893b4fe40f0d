"""What each step of `septet` gives, what late vectors cost, and how well confidence tells answers from none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from septet import LocalEmbedder, Profile, Vault
from septet.profiles import BUILTIN
from septet.ranking.fusion import Scale, Sum, Term

__all__ = ["FOREIGN", "SHARES", "auc", "steps", "thinned", "words_of"]

#: Shares of entries with vectors.
SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
#: Questions that a collection about aerodynamics does not answer.
FOREIGN = (
    "how long do I boil rice", "best way to knead bread dough", "symptoms of vitamin D deficiency in children",
    "when does a lease end without notice", "how to appeal a parking fine", "history of the roman senate",
    "who painted the ceiling of the chapel", "how do bees choose a new queen", "treatment of seasonal allergies",
    "difference between a cello and a viola", "how to train a puppy not to bite", "rules of offside in football",
    "what causes inflation to rise", "how to file a tax return late", "side effects of ibuprofen",
    "grammar of the subjunctive in Spanish", "why do leaves turn red in autumn", "how to graft an apple tree",
    "origins of the French revolution", "how does a bill become law", "diet for people with diabetes",
    "how to knit a sweater sleeve", "what is the plot of Hamlet", "how to brew coffee in a moka pot",
    "which birds migrate at night", "how to remove red wine stains", "life cycle of the monarch butterfly",
    "meaning of compound interest on a mortgage", "how to write a cover letter", "vaccines before travelling to Kenya",
    "how to reset a forgotten password", "parse a date string in Python", "index a table in a database",
    "how does public key encryption work", "symptoms and treatment of migraine", "how to prune roses in winter",
    "what did Kant mean by duty", "how to tune a guitar by ear", "who won the first world cup", "how to cure a ham",
)  # fmt: skip

_S = BUILTIN["septet"]


def words_of(profile: Profile) -> Sequence[Term]:
    """Return the terms of a profile's signal of words: BM25, trigrams, titles, exact titles."""
    words = profile.signals["semantic"]
    if not isinstance(words, Scale) or not isinstance(words.scale, Sum) or len(words.scale.sum) != 4:
        raise TypeError("the signal semantic is no sum of four: what it is made of must follow the profile")
    return words.scale.sum


def steps() -> Iterator[tuple[str, Profile, bool]]:
    """Yield each step by name, as a profile, and whether it is one with vectors; each adds to the one before."""
    terms = words_of(_S)

    def profile(count: int, **changes: object) -> Profile:
        words = Scale(scale=Sum(sum=terms[:count]))
        return replace(_S, signals={**_S.signals, "semantic": words}, **changes)

    for count, name in ((1, "BM25"), (2, "+ trigrams"), (4, "+ titles")):
        yield f"text: {name}", profile(count), False
    yield "vectors: words and cosines", profile(4, balance=None, smoothing=None), True
    yield "vectors: + balance", profile(4, smoothing=None), True
    yield "vectors: + smoothing", _S, True


def thinned(vectors: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """Return vectors ``(n, d)`` of which only a share is there; the others are 0."""
    kept = np.random.default_rng(3).permutation(len(vectors)) < round(share * len(vectors))
    return vectors * kept[:, None].astype(np.float32)


def auc(vault: Vault, questions: Sequence[str], vectors: NDArray[np.float32] | None) -> float:
    """Return how often the confidence of a question of the collection exceeds that of a foreign one, 0 to 1."""
    foreign = None if vectors is None else LocalEmbedder().embed(FOREIGN, "query")

    def confidences(asked: Sequence[str], rows: NDArray[np.float32] | None) -> NDArray[np.float64]:
        return np.array([found.confidence for found in vault.search_many(asked, query_vectors=rows)])

    own, other = confidences(questions, vectors), confidences(FOREIGN, foreign)
    above = own[:, None] > other[None, :]
    return float((above + 0.5 * (own[:, None] == other[None, :])).mean())
