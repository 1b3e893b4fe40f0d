"""A recall and a planned retrieval over three sources, beside their plain searches and beside plain Python.

python benches/retrieving.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import corpus
from plain_recall import LEAST_WORDS, PlainRecall
from race import Competitor, Run, medians, race
from septet import Retrieval, Retriever, Vault
from septet.profiles import ProfileLike
from septet.retrieval.corpora.legs import leg_profile
from septet.retrieval.recall.recalling import kept_words
from table import Row, faster, plain
from vaults import Asked, warm

TITLE = "Retrieval"
ABOUT = (
    "`Retriever.retrieve` over three sources of one vault, kinds of a third of the entries each, words and vectors of "
    "384 numbers, ten of each list; p50 on one core. Beside it the same searches without a retriever, one by one, and "
    "the documented recall as a program of SQLite's FTS5, numpy and a dict, whose vectors lie in memory. Its order is "
    "the documented one, too, with another full text: as many answers are checked, not the same."
)
ENTRIES = 100_000
ROUNDS = 60
#: Kinds of entries, and the sources of a recall that they are.
SOURCES = {"entry": "knowledge", "distillation": "distillations", "message": "messages"}
#: Those of which planned retrievals make the corpora memory, knowledge graph and document chunks.
PLANNED = ("entry", "node", "chunk")
CORPORA = ("memory", "knowledge_graph", "document_chunks")
LEGS = ("text", "vector")


def rows(run: Run) -> Iterator[Row]:
    n, rounds = run.entries(ENTRIES), run.rounds(ROUNDS)
    made = corpus.make(n)
    # Of stop words alone a documented recall finds nothing.
    pairs = zip(made.queries, made.query_vectors)
    asked = [Asked(text, vector) for text, vector in pairs if len(kept_words(text)) >= LEAST_WORDS]
    by_source = {
        source: list(zip(made.entries[at :: len(SOURCES)], made.vectors[at :: len(SOURCES)]))
        for at, source in enumerate(SOURCES.values())
    }
    beside = PlainRecall(Path(run.folder) / "plain_recall.db", by_source)
    with stored(run.folder / "recall.db", made, list(SOURCES)) as vault:
        warm(vault, asked[0])
        yield from recalls(vault, beside, asked, n, rounds)
    beside.close()
    with stored(run.folder / "planned.db", made, PLANNED) as vault:
        warm(vault, asked[0])
        yield from planned(vault, asked, n, rounds)


def stored(path: Path, made: corpus.Corpus, kinds: Sequence[str]) -> Vault:
    """Return a vault with a third of the entries of each kind."""
    vault = Vault(path)
    pairs = enumerate(zip(made.entries, made.vectors))
    vault.add_many({**entry, "kind": kinds[at % len(kinds)], "vector": vector} for at, (entry, vector) in pairs)
    return vault


def recalls(vault: Vault, beside: PlainRecall, asked: list[Asked], n: int, rounds: int) -> Iterator[Row]:
    with vault.retriever("recall") as retriever:
        who = [
            Competitor("retriever", lambda q: retriever.retrieve(q.text, query_vector=q.vector, limit=10)),
            Competitor("searches", lambda q: searches(vault, q, SOURCES, "recall")),
            Competitor("plain", lambda q: beside.ask(q.text, q.vector)[:10]),
        ]
        middle = medians(race(who, asked, rounds, check=some))
    yield faster(f"recall, 3 sources, {n:,} entries", middle["retriever"], middle["plain"], "FTS5, numpy, dict")
    yield beside_searches("recall", middle)


def planned(vault: Vault, asked: list[Asked], n: int, rounds: int) -> Iterator[Row]:
    """Ask memory, knowledge graph and document chunks; where the evidence is weak, a second time."""
    for profile in ("planned-retrieval", "septet"):
        waves: list[int] = []
        with vault.retriever(profile) as retriever:

            def ask(q: Asked, retriever: Retriever = retriever, waves: list[int] = waves) -> Retrieval:
                found = retriever.retrieve(q.text, query_vector=q.vector, limit=10, corpora=CORPORA)
                waves.append(1 + bool(found.envelope.verification_performed))
                return found

            who = [
                Competitor("retriever", ask),
                Competitor("searches", lambda q: searches(vault, q, PLANNED, leg_profile())),
            ]
            middle = medians(race(who, asked, rounds, check=some))
        name = f"as {profile}, 3 corpora, {n:,} entries, {sum(waves) / len(waves):.1f} waves"
        yield plain(name, middle["retriever"])
        yield beside_searches(profile, middle)
    hybrid = Competitor("hybrid", lambda q: vault.search(q.text, query_vector=q.vector, limit=10))
    yield plain(f"one hybrid search of all {n:,} entries", medians(race([hybrid], asked, rounds))["hybrid"])


def beside_searches(profile: str, middle: dict[str, float]) -> Row:
    name = f"{profile} beside its six searches"
    return Row(name, middle["retriever"], middle["searches"], middle["searches"] / middle["retriever"], None, "ms",
               "six searches")  # fmt: skip


def searches(vault: Vault, asked: Asked, kinds: Iterable[str], profile: ProfileLike) -> list[str]:
    """Search each leg of each source."""
    found: list[str] = []
    for kind in kinds:
        for leg in LEGS:
            options = {"query_vector": asked.vector} if leg == "vector" else {}
            found += vault.search(asked.text, kinds=kind, legs=leg, limit=10, profile=profile, **options).ids
    return found


def some(_: Asked, name: str, found: list[object]) -> None:
    assert len(found) >= 10, (name, len(found))


if __name__ == "__main__":
    from run import main

    main(["--only", "retrieving"])
