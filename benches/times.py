"""Questions with a time: reciprocal rank and nDCG@10 of the profile `conversation`, beside `septet`.

python benches/times.py

The messages and questions of ``times.tsv`` were written for this: a month of one user's messages, with a few answers.
Half of the questions (tune) was looked at while rules were chosen. ``span`` asks for what was said in a span of time,
``order`` for the first or latest of several messages; ``other`` has a word of time that is neither.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from statistics import fmean

from septet import Vault
from septet.evaluation.measures import ndcg

PROFILES = ("septet", "conversation")
TOP = 10
#: In the zone of the process, as the messages, since a question means its days.
ASKED = datetime(2026, 7, 15, 10).timestamp()


def main() -> None:
    with (Path(__file__).parent / "times.tsv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    scores: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    with Vault(":memory:", clock=lambda: ASKED) as vault:
        for kind, *row in rows:
            if kind == "m":
                name, time, role, text = row
                created_at = datetime.fromisoformat(time).timestamp()
                vault.add(id=name, title=text[:80], description=text, attrs={"role": role}, created_at=created_at)
        for kind, *row in rows:
            if kind != "q":
                continue
            half, asks, relevant, text = row
            for profile in PROFILES:
                ids = vault.search(text, limit=TOP, profile=profile).ids
                gains = [float(name in relevant.split()) for name in ids]
                best = [1.0] * len(relevant.split())
                first = 1 / (1 + gains.index(1)) if 1 in gains else 0.0
                scores[half, asks, profile].append((first, ndcg(gains, best, TOP)))
    print(
        f"{'':16}{'':>4}" + "".join(f"{profile + measure:>20}" for measure in (" MRR", " nDCG") for profile in PROFILES)
    )
    for half, asks in sorted({(half, asks) for half, asks, _ in scores}, reverse=True):
        means = [fmean(pair[at] for pair in scores[half, asks, profile]) for at in (0, 1) for profile in PROFILES]
        print(f"{half + ' ' + asks:16}{len(scores[half, asks, PROFILES[0]]):4}" + "".join(f"{x:20.3f}" for x in means))


if __name__ == "__main__":
    main()
