"""Facts that change: verdicts over pairs of statements written by hand, and their weights.

python benches/facts.py [FOLDER] [--fit] [--show]

Families of ``facts_families.txt`` are filled with subjects and values. The weights are fitted on every second family,
and on every second pair of ``facts_pairs.tsv``; the others are reported apart. ``--fit`` prints the weights for
``septet/profiles/statements.py``, ``--show`` the pairs that are wrong.
Of a collection of conversations (``FOLDER``, as for ``benches/conversation.py``), the first and the last evidence of
each question are compared by their sentences that share a word with it. Types other than changed facts and
contradictions show how often facts that hold together are taken for a change.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evaluate import load
from septet.query.comparing import compared, features
from septet.query.statements import statement_of

HERE = Path(__file__).parent
VERDICTS = ("same", "changes", "contradicts", "new")
OTHERS = VERDICTS[1:]
#: Strength of the penalty on weights, and steps of Newton's method.
PENALTY, STEPS = 1.0, 30
#: Maximum share of pairs that are wrongly the same.
MOST_FALSE = 0.005


class Pair(NamedTuple):
    verdict: str
    old: str
    new: str
    family: str
    tuned: bool


class Family(NamedTuple):
    name: str
    flags: frozenset[str]
    lines: dict[str, list[str]]


def families() -> Iterator[Family]:
    for block in re.split(r"\n(?=\[)", (HERE / "facts_families.txt").read_text(encoding="utf-8"))[1:]:
        name, *rest = block.strip().splitlines()
        flags = frozenset(line for line in rest if " " not in line)
        lines: dict[str, list[str]] = {}
        for line in rest:
            if " " in line:
                mark, _, text = line.partition(" ")
                lines.setdefault(mark, []).extend(text.split(" | ") if mark in ("s:", "v:") else [text])
        yield Family(name.strip("[]"), flags, lines)


def pairs() -> list[Pair]:
    found: dict[tuple[str, str], Pair] = {}
    for number, family in enumerate(families()):
        rng = random.Random(family.name)
        for verdict, old, new in pairs_of(family, rng):
            pair = Pair(verdict, old[0].upper() + old[1:], new[0].upper() + new[1:], family.name, number % 2 == 0)
            found.setdefault((pair.old, pair.new), pair)
    return list(found.values())


def pairs_of(family: Family, rng: random.Random) -> Iterator[tuple[str, str, str]]:
    many, changed = "many" in family.flags, family.lines.get(">", [])
    for _ in range(16):
        (s, other), (v, w) = rng.sample(family.lines["s:"], 2), rng.sample(family.lines["v:"], 2)
        fill = {"s": s, "v": v, "w": w}
        first, second = (text.format(**fill) for text in rng.sample(family.lines["="], 2))
        yield "same", first, second
        another = rng.choice(family.lines["="]).format(s=s, v=w)
        yield "new" if many else "changes", another, first
        if changed:
            yield "changes", another, rng.choice(changed).format(**fill)
            yield "same", second, rng.choice([text for text in changed if "{w}" not in text]).format(**fill)
        yield "contradicts", first, rng.choice(family.lines["!"]).format(**fill)
        yield "new", first, rng.choice(family.lines["="]).format(s=other, v=rng.choice([v, w]))
        yield "new", first, rng.choice(family.lines["~"]).format(s=s)
        fact, other_fact = (text.format(s=s) for text in rng.sample(family.lines["~"], 2))
        yield "new", fact, other_fact
        longer = ". ".join(text[0].upper() + text[1:] for text in (first, fact, other_fact))
        pick = rng.random()
        if pick < 0.3:
            yield "new", second, longer
        elif pick < 0.5:
            yield "new", first, rng.choice(family.lines["?"]).format(s=s)


def written() -> list[Pair]:
    rows = (HERE / "facts_pairs.tsv").read_text(encoding="utf-8").splitlines()
    return [
        Pair(verdict, old, new, f"written {at // 2 % 9}", at % 2 == 0)
        for at, (verdict, old, new) in enumerate(row.split("\t") for row in rows)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Facts that change.")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the pairs that are wrong")
    arguments = parser.parse_args()
    from_families, by_hand = pairs(), written()
    if arguments.fit:
        fitted([pair for pair in (*from_families, *by_hand) if pair.tuned])
        return
    if arguments.folder is not None:
        of_conversations(arguments.folder)
        return
    for name, chosen in (
        ("tuned on", [pair for pair in from_families if pair.tuned]),
        ("other families", [pair for pair in from_families if not pair.tuned]),
        ("tuned on, written pairs", [pair for pair in by_hand if pair.tuned]),
        ("other written pairs", [pair for pair in by_hand if not pair.tuned]),
    ):
        report(name, chosen, arguments.show)


def of_conversations(folder: Path) -> None:
    """Print the verdicts on the evidence of a conversation, of its nearest pair of sentences from two messages."""
    collection = load(folder)
    texts = {message["id"]: message["text"].partition("```")[0] for message in collection.docs}
    places = {message["id"]: at for at, message in enumerate(collection.docs)}
    counts: Counter[tuple[str, str]] = Counter()
    for query in collection.queries:
        evidence = sorted(collection.qrels.get(query["id"], {}), key=lambda id: places[id])
        if len(evidence) < 2:
            continue
        asked = statement_of(query["text"]).words.keys()
        old, new = (
            [
                claim
                for claim in map(statement_of, re.split(r"(?<=[.!?])\s+|, ", texts[id]))
                if claim.words.keys() & asked
            ]
            for id in (evidence[0], evidence[-1])
        )
        verdicts = [compared(after, before) for before in old for after in new]
        # The verdict that says most.
        best = max(verdicts, key=lambda v: v.probabilities["changes"] + v.probabilities["contradicts"], default=None)
        counts[query["type"], "none" if best is None else best.verdict] += 1
    for (kind, verdict), count in sorted(counts.items()):
        print(f"{kind:26}{verdict:12}{count:4}")


def report(name: str, chosen: Sequence[Pair], show: bool) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    sure: Counter[str] = Counter()
    for pair in chosen:
        result = compared(statement_of(pair.new), statement_of(pair.old))
        counts[pair.verdict, result.verdict] += 1
        if result.verdict in ("changes", "contradicts") and result.probability >= 0.8:
            sure[pair.verdict] += 1
        if show and pair.verdict != result.verdict:
            print(f"{pair.verdict} as {result.verdict} {result.probability:.2f}: {pair.old} | {pair.new}")
    print(f"\n{name}: {len(chosen)} pairs\n{'':14}" + "".join(f"{verdict:>12}" for verdict in VERDICTS))
    for verdict in VERDICTS:
        total = sum(counts[verdict, other] for other in VERDICTS)
        print(f"{verdict:14}" + "".join(f"{counts[verdict, other] / total:12.3f}" for other in VERDICTS) + f"{total:8}")
    different = sum(count for (verdict, _), count in counts.items() if verdict != "same")
    wrong = sum(count for (verdict, got), count in counts.items() if got == "same" != verdict)
    print(f"wrongly the same: {wrong / different:.4f}")
    replaced = sum(sure.values())
    right = sure["changes"] + sure["contradicts"]
    print(f"changes or contradicts from 0.8 on: {replaced}, right {right / max(replaced, 1):.3f}")


def fitted(chosen: Sequence[Pair]) -> None:
    both = [features(statement_of(pair.new), statement_of(pair.old)) for pair in chosen]
    same_x, other_x = (np.array([rows[place] for rows in both]) for place in (0, 1))
    is_same = np.array([pair.verdict == "same" for pair in chosen], dtype=float)
    same = newton(same_x, is_same[:, None])[:, 0]
    # Each family is scored by weights fitted on the others.
    names, apart = np.array([pair.family for pair in chosen]), np.zeros(len(chosen))
    for name in set(names):
        rest = names != name
        apart[~rest] = 1 / (1 + np.exp(-same_x[~rest] @ newton(same_x[rest], is_same[rest, None])[:, 0]))
    scores = np.sort(apart[is_same == 0])[::-1]
    least = max(0.5, float(scores[int(MOST_FALSE * len(scores))]))
    kinds = np.array([[pair.verdict == verdict for verdict in OTHERS] for pair in chosen], dtype=float)
    others = newton(other_x[is_same == 0], kinds[is_same == 0])
    rounded = [tuple(round(float(x), 3) for x in row) for row in (same, *others.T)]
    print(f"Weighing(\n    same={rounded[0]},\n    others={{")
    for verdict, row in zip(OTHERS, rounded[1:]):
        print(f'        "{verdict}": {row},')
    print(f"    }},\n    least_same={least + 0.005:.2f},\n)")


def newton(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights ``(features, classes)`` of a logistic model, or of a softmax over several classes."""
    k, f = y.shape[1], x.shape[1]
    w = np.zeros((f, k))
    for _ in range(STEPS):
        z = x @ w
        p = 1 / (1 + np.exp(-z)) if k == 1 else np.exp(z - z.max(1, keepdims=True))
        p = p if k == 1 else p / p.sum(1, keepdims=True)
        gradient = x.T @ (p - y) + PENALTY * w
        hessian = np.zeros((f * k, f * k))
        for i in range(k):
            for j in range(k):
                curve = p[:, i] * ((i == j) - p[:, j])
                block = x.T @ (x * curve[:, None])
                hessian[i * f : (i + 1) * f, j * f : (j + 1) * f] = block + (i == j) * PENALTY * np.eye(f)
        w -= np.linalg.solve(hessian, gradient.T.ravel()).reshape(k, f).T
    return w


if __name__ == "__main__":
    main()
