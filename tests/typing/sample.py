"""What a program that uses the whole public API looks like: type checkers pass it in strict mode, and it runs."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import septet
from septet import (
    AsyncFederation,
    AsyncVault,
    BatchError,
    CallableEmbedder,
    Context,
    Embedder,
    EmbeddingConfig,
    EmbeddingOptions,
    Entry,
    EntryError,
    Evaluation,
    Explanation,
    Facets,
    Federation,
    Hit,
    Link,
    Match,
    Note,
    NoteCode,
    Page,
    Profile,
    Results,
    Space,
    Span,
    Stats,
    TfidfVectorizer,
    Vault,
    VectorIndex,
    Version,
    Weights,
    evaluate,
    top_k,
    tune,
)
from septet.client import ExternalFirst
from septet.embedding import (
    EmbeddingCache,
    EmbeddingStatus,
    EmbedEstimate,
    EmbedReport,
    Kind,
    SpaceStatus,
    embedder_from,
)
from septet.evaluation import Comparison, Difference, Tuning, feedback_judgements, undo_tuning
from septet.exchange import Format, Imported, ImportFault, OnError, Rest
from septet.index import ApproximateNearest
from septet.model.results import Reranking
from septet.profiles import Balance, Confidence, Feedback, Smoothing
from septet.tfidf import SparseRows
from septet.types import (
    BulkChanges,
    ContextItem,
    EntryItem,
    LeftOutEntry,
    Optimized,
    RecallOptions,
    Remedy,
    Reranker,
    SearchOptions,
    Severity,
    Suggestion,
    TierReport,
)
from septet.watch import SearchEvent, WriteEvent

PROFILE = {
    "extends": "septet",
    "facts": {"half_life_days": 30, "severity": {"critical": 1.0, "warning": 0.5, "suggestion": 0.1}},
    "cuts": {"limit": 5},
}
CRITICAL: Severity = "critical"
#: Notes that this program reports to its operator.
ALARMING: frozenset[NoteCode] = frozenset({"tier_failed", "embedding_refused"})


def rows_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return a vector for each text: how often it has each of eight letters."""
    return np.array([[text.count(letter) + 1 for letter in "aeinorst"] for text in texts], dtype=np.float32)


class Letters:
    """An embedder of one's own: anything with these members is one."""

    provider = "own"
    model = "letters"
    dimensions: int | None = 8
    batch_size = 100

    def embed(
        self, texts: Sequence[str], kind: Kind = "document", *, timeout_s: float | None = None
    ) -> NDArray[np.float32]:
        rows = rows_of(texts)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def close(self) -> None:
        """Do nothing."""


def change_many(vault: Vault, id: str) -> str:
    bulk: BulkChanges = {"severity": "warning", "trust": "unverified", "source": "user"}
    count: int = vault.update_many({"domain": "auth"}, **bulk) + vault.delete(where={"domain": "old"}, dry_run=True)
    versions: list[Version] = vault.history(id)
    assert count >= 1
    return versions[0].call


def write(vault: Vault, folder: Path) -> None:
    now = datetime.now(timezone.utc)
    first: str = vault.add(
        id="auth-jwt-001",
        title="JWT validation",
        description="Check exp, aud and the signature",
        type="rule",
        domain="security",
        severity=CRITICAL,
        tags=["auth", "jwt"],
        attrs={"team": "core", "review": {"state": "done", "by": ["ann", "bob"]}},
        span={"path": "auth.py", "first_line": 1, "last_line": 9},
        created_at=now,
        valid_until=None,
    )
    second = vault.add(Entry(id="b", title="Session cookies", tags=("auth",), span=Span("a.py", 1, 2)), severity=None)
    given: NDArray[np.float64] = np.arange(1.0, 5.0)
    vault.add(title="A vector of one's own", vector=given, model="mine")
    vault.add(title="Vectors by model", vector={"mine": [1.0, 2.0, 3.0, 4.0]})
    items: list[EntryItem] = [{"title": "One", "tags": {"x"}}, {"id": "two", "title": "Two", "vector": (1, 2, 3, 4)}]
    ids: list[str] = vault.add_many(items, progress=lambda done, total: print(done, total, file=sys.stderr))
    vault.add_many(json.loads('[{"title": "From JSON"}]'))
    vault.add_many({"id": str(i), "title": f"Number {i}", "attrs": {"even": i % 2 == 0}} for i in range(3))
    changed: Entry = vault.update(first, domain="auth", tags=(*ids[:1], "jwt"), merge_attrs={"team": None})
    assert changed.severity == "critical" and change_many(vault, first) == "update_many"
    vault.remember("Cookie review", "Decided to rotate the id", ["cookies"], domain="auth")
    suggestion: Suggestion = vault.remember("Bob owns billing", on_similar="suggest")
    print(suggestion.other, vault.add(title="Ann owns billing", on_similar="supersede").upper())
    kept: str = vault.remember("Bob owns the billing service", details="Since May", topics={"billing"})
    told: RecallOptions = {"include_expired": True}
    recalled: list[str] = vault.recall("who owns billing", 3, **told).ids
    assert vault.forget(kept) == len(recalled[:1])
    vault.link(second, first, "supports", note="why")
    vault.link_many([(first, "two"), ("two", second, "extends"), Link("0", "1", "next", "")])
    links: list[Link] = vault.links(first)
    assert {link.source for link in links} == {first, second}
    vault.unlink(first, "two")
    vault.feedback("jwt", first, "accepted")
    try:
        vault.add_many([{"title": "fine"}, {"title": " "}])
    except BatchError as stopped:
        print(stopped.written, stopped.index)
    except EntryError as fault:
        print(fault)
    vault.backup(folder / "copy.db", progress=lambda done, pages: None)
    lines: int = vault.export(folder / "all.jsonl")
    with Vault(":memory:") as copy:
        imported: Imported = copy.import_(folder / "all.jsonl")
        assert imported.entries + imported.links + imported.feedback == lines
        faults: list[ImportFault] = []
        records = [{"body": "a text", "n": 1}, {"nothing": None}]
        rest: Rest = "drop"
        copy.import_(records, map={"body": "description"}, rest=rest, on_error=faults.append, split="auto")
        assert [fault.line for fault in faults] == [2]
        form: Format = "csv"
        skip: OnError = "skip"
        assert copy.import_(["title,when", "t,now"], format=form, map={"when": None}, on_error=skip).skipped == 0
    vault.delete("0", ["1", "2"])
    vault.purge()


def longest(query: str, hits: Sequence[Hit]) -> list[float]:
    return [hit.entry.text_chars if hit.entry else 0.0 for hit in hits]


RERANKER: Reranker = longest


def ask(vault: Vault) -> Iterator[str]:
    results: Results = vault.search(
        "how does JWT validation work",
        limit=5,
        mode="scan",
        boost_tags={"auth"},
        kinds=("entry",),
        where={"$or": [{"attrs.team": "core"}, {"updated_at": {"$gte": time.time() - 3_600}}]},
        profile=PROFILE,
        max_tokens=500,
    )
    hit: Hit
    for hit in results:
        yield f"{hit.score:.3f} {hit.title} {sorted(hit.tags)} {hit.breakdown.get('semantic', 0.0):.3f}"
    best: Hit = results[0]
    places: tuple[Match, ...] = best.matches
    yield best.excerpt(80, marks=("<b>", "</b>"), escape=str.upper) + f" {len(places)} of {results.total or 0}"
    several: Sequence[Hit] = results[:2]
    assert best in several
    notes: tuple[Note, ...] = results.notes
    yield from (note.cause for note in notes if note.code in ALARMING)
    yield from vault.search("tokens", diversity=0.3, rerank=Reranking(RERANKER, top=20), timeout_s=2.0).ids
    yield from vault.similar(best.id, min_similarity=0.9).ids
    context: Context = vault.context("session cookies", max_tokens=400, kinds=["entry"], where={"domain": "auth"})
    kept: tuple[ContextItem, ...] = context.items
    missing: tuple[LeftOutEntry, ...] = context.left_out
    yield f"{context.text} {sum(one.tokens for one in kept)} {[one.code for one in missing]}"
    reports: tuple[TierReport, ...] = results.tiers
    yield f"{sum(report.candidates for report in reports)} candidates, degraded {results.degraded}"
    options: SearchOptions = {"domain": "auth", "legs": "text", "where": {"severity": best.severity}}
    found: Explanation = vault.explain("session cookies", "b", **options)
    yield found.reason
    remedy: Remedy | None = found.remedy
    if remedy is not None:
        yield f"{remedy.text} {sorted(remedy.changes)} {remedy.rank + 1}"
    weights: Weights = vault.weights(vectors=False)
    yield f"{weights.row} {weights.values['semantic']:.2f}"
    entry: Entry | None = vault.get(best.id)
    if entry is not None:
        yield entry.snippet + str(entry.attrs.get("team"))
    page: Page = vault.entries({"domain": "security"}, order_by=["severity", ("created_at", "desc")], limit=2)
    while page.next is not None:
        page = vault.entries({"domain": "security"}, order_by=["severity", ("created_at", "desc")], after=page.next)
    yield from (entry.title for entry in (*page, *vault))
    facets: Facets = vault.facets("tags", as_of=datetime.now(timezone.utc), limit=5)
    yield from (f"{value}: {count} of {facets.total}" for value, count in facets.items())
    known: list[Entry] = vault.load([*page.ids, "unknown"])
    yield f"{vault.count({'tags': 'x'})} entries, {len(page) + 1 - len(known)} unknown"
    stats: Stats = vault.stats()
    spaces: Sequence[Space] = stats.spaces
    yield f"{stats.entries} {[(space.model, space.dimensions) for space in spaces]}"


def embed(folder: Path) -> None:
    own: Embedder = Letters()
    cache = EmbeddingCache(folder / "cache.db")
    with Vault(
        folder / "own.db",
        embedder=own,
        previous_embedder=CallableEmbedder(rows_of, model="rows"),
        embedding_cache=cache,
        embedding_options=EmbeddingOptions(automatic=False, query_timeout_s=1.0),
    ) as vault:
        vault.add(title="A man is playing guitar")
        estimate: EmbedEstimate | None = vault.embed(dry_run=True).estimate
        assert estimate is not None and estimate.texts == 1
        report: EmbedReport = vault.embed(progress=lambda done, total: None)
        status: EmbeddingStatus = vault.embedding_status(wait_s=1.0)
        spaces: tuple[SpaceStatus, ...] = status.spaces
        assert (report.embedded, status.model, status.activity, spaces[0].active) == (1, "own/letters", "idle", True)
        assert vault.search("guitar", query_vector=rows_of(["guitar"])[0], model="own/letters").ids
        optimized: Optimized = vault.optimize()
        assert optimized.entries == 1
    cache.close()
    assert embedder_from({"provider": "none"}) is None
    assert embedder_from(EmbeddingConfig()) is None


def together(agent: Vault, folder: Path) -> None:
    mine = Profile.checked({**PROFILE_FIELDS, "name": "mine"})
    plain: tuple[Balance | None, Smoothing | None] = (mine.balance, mine.smoothing)
    assert plain == (None, None) and Balance().factor > 1 and Smoothing().share < 1
    sure: Confidence = mine.confidence
    back: Feedback = mine.text.feedback
    assert sure == Confidence() and back == Feedback(rows=5)
    with Vault(folder / "team.db", profile="six-signals") as team:
        team.add(title="On-call handover", description="Hand over open incidents and JWT rotations")
        with Federation({"agent": agent, "team": team}, {"team": 0.7}, profile=mine) as everything:
            priorities: dict[str, float] = everything.tiers()
            shared: str = everything.tier("team").add(title="Keys are rotated together")
            assert everything.tier("team").count() >= 1 and shared in everything
            first = ExternalFirst(lambda query, limit: [{"title": query}][:limit], everything, name="wiki")
            assert first.search("jwt", limit=3).ids and first.fault is None
            hits = everything.search("jwt", min_score=0.1, include_memories=True)
            entries: list[Entry] = everything.load(hits.ids)
            everything.feedback("jwt", entries[0].id, "modified")
            assert priorities == {"agent": 1.0, "team": 0.7}


def judge(vault: Vault) -> None:
    queries, qrels = {"1": "jwt", "2": "cookies"}, {"1": {"auth-jwt-001": 2}, "2": ["b"]}
    found: Evaluation = evaluate(vault, queries, qrels, ["nDCG@10", "MRR"], domain="auth")
    other = evaluate(vault, [{"query": "jwt", "relevant": ["auth-jwt-001"]}], profile="six-signals", limit=5)
    compared: Comparison = found.compare(evaluate(vault, queries, qrels, profile="seven-signals"))
    change: Difference = compared["nDCG@10"]
    assert change.wins + change.ties + change.losses == len(found.per_query)
    assert found.means["MRR"] == found["MRR"] and other.profile == "six-signals"
    tuned: Tuning = tune(vault, queries, qrels, measure="MRR", folds=2)
    assert not tuned.accepted and tuned.profile.name == vault.search("jwt", profile=tuned.profile).profile
    assert [judged["query"] for judged in feedback_judgements(vault)] == ["jwt"]
    try:
        undo_tuning("tuned.json")
    except septet.errors.QueryError as fault:
        print(fault)
    assert vault.search("jwt").to_trec("1", tag="mine").startswith("1 Q0 ")


#: A whole profile as data: one signal, the text's BM25.
PROFILE_FIELDS = {
    "signals": {"semantic": {"scale": {"col": "bm25"}}},
    "weights": {"text": {"semantic": 1.0}, "hybrid": {"semantic": 1.0}},
}


def scan() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 16)).astype("float32")
    index = VectorIndex(16)
    added: range = index.add(rows)
    ids, scores = index.search(rows[42], k=3, mask=np.ones(100, dtype=bool))
    first: int = int(ids[0])
    assert (len(added), first, round(float(scores[0]), 6)) == (100, 42, 1.0)
    lists: int = index.optimize(threads=1)
    nearest: ApproximateNearest = index.search(rows[42], k=3, recall=0.9)
    assert lists >= 1 and int(nearest.ids[0]) == first and len(nearest.scores) == 3
    named = VectorIndex(2, metric="l2")
    names: list[str] = named.add([[0.0, 1.0], [2.0, 0.0]], ["up", "right"])
    replaced: int = named.upsert([[0.0, 3.0]], "up")
    near = named.search([0.0, 2.0], radius=1.5, ids=names)
    assert (replaced, named["up"].tolist(), named.remove("right"), len(near)) == (1, [0.0, 3.0], 1, 2)
    assert top_k([1.0, 0.0], [[0.0, 1.0], [1.0, 0.1]], 1)[0].tolist() == [1]
    vectorizer = TfidfVectorizer(tokens="words").fit(["to be or not to be"])
    sparse: SparseRows = vectorizer.transform(["to be"])
    assert sparse.indptr.tolist() == [0, 2]


def watch(folder: Path) -> None:
    searches: list[SearchEvent] = []
    writes: list[WriteEvent] = []
    with Vault(folder / "watched.db", on_search=searches.append, on_write=writes.append) as vault:
        vault.add(title="Rotate keys")
        vault.search("keys")
    slowest: str = max(searches[0].stages, key=lambda stage: searches[0].stages[stage])
    assert slowest and searches[0].error is None and writes[0].count == 1


async def later(folder: Path) -> None:
    async with AsyncVault(folder / "later.db") as vault:
        first: str = await vault.add(title="Rotate keys", tags=["security"])
        second: str = await vault.add(Entry(id="b", title="Rotate logs"), severity=CRITICAL)
        found: Results = await vault.search("rotate", limit=2)
        entry: Entry | None = await vault.get(first)
        ids: list[str] = await vault.add_many([{"title": "Rotate crops"}], split="auto")
        assert sorted(found.ids) == sorted([first, second]) and entry is not None and len(ids) == 1
        async with await AsyncFederation.open({"agent": vault}, profile="septet") as everything:
            assert len(await everything.search("rotate", limit=3)) == 3
        same: AsyncVault = AsyncVault.of(vault.blocking)
        stats: Stats = await same.stats()
        assert stats.entries == 3


def main(folder: Path) -> None:
    with Vault(folder / "agent.db", clock=time.time, profile=PROFILE) as vault:
        write(vault, folder)
        print(*ask(vault), sep="\n")
        together(vault, folder)
        judge(vault)
    embed(folder)
    scan()
    watch(folder)
    asyncio.run(later(folder))
    try:
        Vault(folder / "none.db", read_only=True)
    except septet.errors.StoreError as fault:
        print(type(fault).__name__)
    print(septet.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
