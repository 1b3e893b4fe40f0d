"""Contexts for prompts: the answers in them, and what else, beside the best hits of a search within the same budget.

python benches/context.py [--tune] [--max-tokens N]

Sets: conversations (BEAM; the profile `conversation`), Cranfield by words and with vectors, docstrings and pages of
documentation as in `technical.py`. ``hits`` are the eight best of a search with a confidence of 0.5, by `to_prompt`.
Half of the questions are reported, ``--tune`` reports the other half, on which the cut was chosen.

- ``in``: share of the questions with an answer of which an answer is in the text
- ``entries``, ``tokens``: mean of all questions
- ``right``: share of the entries that are answers
- ``words``: share of the words of a reference answer, beside those of the question, that are in the text
- ``none``: share of the questions without an answer of which the text is empty
"""

from __future__ import annotations

import argparse
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import conversation
from confidence import unanswerable
from evaluate import load, vault_of
from septet import Vault
from septet._core import tokenize
from technical import filled, names, pages

TOKENS, MOST, CONFIDENCE = 800, 8, 0.5
KINDS = ("hits", "context")


class Asked(NamedTuple):
    """A question of a vault: its text, the ids that answer it, its half, options of a search, a reference answer."""

    text: str
    answers: frozenset[str]
    half: bool
    options: Mapping[str, Any] = {}
    reference: str = ""


class Measured(NamedTuple):
    """A text for a question: answers, entries, tokens and words of the answer in it, and if the question has one."""

    right: int
    entries: int
    tokens: float
    words: float
    answerable: bool


def main() -> None:
    parser = argparse.ArgumentParser(description="Contexts for prompts.")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--max-tokens", type=int, default=TOKENS)
    arguments = parser.parse_args()
    data = Path(os.environ.get("SEPTET_DATA") or Path(__file__).parents[2] / "shared") / "data"
    print(f"{'':24}{'':9}{'questions':>10}{'in':>8}{'entries':>9}{'tokens':>8}{'right':>8}{'words':>8}{'none':>8}")
    for title, sets in (
        ("conversations", lambda: conversations(data / "beam100k")),
        ("Cranfield, words", lambda: cranfield(data / "cranfield", vectors=False)),
        ("Cranfield, vectors", lambda: cranfield(data / "cranfield", vectors=True)),
        ("docstrings", lambda: technical(names)),
        ("pages", lambda: technical(pages)),
    ):
        measured: dict[str, list[Measured]] = defaultdict(list)
        for vault, asked in sets():
            for question in asked:
                if question.half != arguments.tune:
                    for kind in KINDS:
                        measured[kind].append(text_of(kind, vault, question, arguments.max_tokens))
        for kind in KINDS:
            print(line(title, kind, measured[kind]), flush=True)


def text_of(kind: str, vault: Vault, question: Asked, most: int) -> Measured:
    if kind == "context":
        context = vault.context(question.text, max_tokens=most, **question.options)
        text, ids = context.text, context.ids
    else:
        options = {"include_memories": True, "min_confidence": CONFIDENCE, **question.options}
        results = vault.search(question.text, limit=MOST, **options)
        text = results.to_prompt(most, citations=False) if results else ""
        ids = [match[1] for match in re.finditer(r'^\{"id": "((?:[^"\\]|\\.)*)"', text, re.MULTILINE)]
    right = sum(id in question.answers for id in ids)
    expected = {*tokenize(question.reference)} - {*tokenize(question.text)}
    words = len(expected & {*tokenize(text)}) / len(expected) if expected else 0.0
    return Measured(right, len(ids), len(text) / 4, words, bool(question.answers))


def conversations(folder: Path) -> Iterator[tuple[Vault, list[Asked]]]:
    collection = load(folder)
    for number, group in enumerate(dict.fromkeys(message["group"] for message in collection.docs)):
        messages = [message for message in collection.docs if message["group"] == group]
        with Vault(":memory:", clock=lambda: conversation.ASKED, profile="conversation") as vault:
            vault.add_many(conversation.entry(message, at) for at, message in enumerate(messages))
            questions = [query for query in collection.queries if query["group"] == group]
            of = collection.qrels
            yield (
                vault,
                [
                    Asked(q["text"], frozenset(of.get(q["id"], {})), number % 2 == 1, reference=str(q["answer"]))
                    for q in questions
                ],
            )


def cranfield(folder: Path, *, vectors: bool) -> Iterator[tuple[Vault, list[Asked]]]:
    collection = load(folder)
    if not vectors:
        collection = replace(collection, doc_vectors=None, query_vectors=None)
    queries = collection.query_vectors
    asked = [
        Asked(
            query["text"],
            frozenset(collection.qrels.get(query["id"], {})),
            place % 2 == 1,
            {} if queries is None else {"query_vector": queries[place]},
        )
        for place, query in enumerate(collection.queries)
    ]
    with vault_of(collection) as vault:
        yield vault, asked


def technical(make: Callable[[], Any]) -> Iterator[tuple[Vault, list[Asked]]]:
    collection = make()
    by_key: dict[str, set[str]] = defaultdict(set)
    for entry in collection.entries:
        by_key[entry["id"]].add(entry["id"])
        by_key[collection.keys[entry["id"]]].add(entry["id"])
    asked = [
        Asked(question.text, frozenset().union(*(by_key[key] for key in question.answers)), question.report)
        for question in collection.questions
    ]
    asked += [Asked(text, frozenset(), place % 2 == 1) for place, text in enumerate(unanswerable())]
    with filled(collection.entries) as vault:
        yield vault, asked


def line(title: str, kind: str, measured: Sequence[Measured]) -> str:
    own, foreign = [m for m in measured if m.answerable], [m for m in measured if not m.answerable]
    figures = (fmean(m.right > 0 for m in own), fmean(m.entries for m in own), fmean(m.tokens for m in own))
    right = sum(m.right for m in own) / max(1, sum(m.entries for m in own))
    words = fmean(m.words for m in own)
    none = f"{fmean(m.entries == 0 for m in foreign):8.3f}" if foreign else ""
    head = f"{title:24}{kind:9}{len(own):10}{figures[0]:8.3f}{figures[1]:9.2f}{figures[2]:8.0f}{right:8.3f}"
    return f"{head}{f'{words:.3f}' if words else '':>8}{none}"


if __name__ == "__main__":
    main()
