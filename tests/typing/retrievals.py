"""What a program that retrieves looks like: type checkers pass it in strict mode, and it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import septet
from septet import AsyncRetriever, AsyncVault, Entry, Hit, Note, Retrieval, Retriever, Vault
from septet.client import ExternalFirst
from septet.retrieval import (
    Corpus,
    CorpusAnswer,
    CorpusLike,
    CorpusReport,
    CorpusRequest,
    CorpusTrace,
    CreditBudget,
    Envelope,
    ExpansionTrace,
    FunctionCorpus,
    Intent,
    Item,
    Knowledge,
    ListReport,
    Override,
    Policy,
    RankedList,
    RecallSettings,
    RetrievalConfig,
    RetrievalExplanation,
    RetrievalMode,
    RetrievalPlan,
    RetrievalProfile,
    Searches,
    VaultCorpus,
    WaveTrace,
    WebCorpus,
    WebOptions,
    WebResult,
)
from septet.types import Deadline


class Wiki:
    """A corpus of one's own: a vault in another guise."""

    name = "wiki"
    local = True

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        left: Deadline | None = request.deadline
        hits = self._knowledge.search(
            request.query, limit=request.limit, timeout_s=None if left is None else left.left_s
        )
        items = [Item(f"wiki:{hit.id}", hit) for hit in hits]
        return CorpusAnswer([RankedList("text", self.name, items)], backends=["wiki_fts"], confidence=hits.confidence)

    def get(self, entry_id: str) -> Entry | None:
        return self._knowledge.get(entry_id)


def retrieved(vault: Vault, profile: RetrievalProfile) -> Retrieval:
    told: list[Envelope] = []
    wiki: Corpus = Wiki(vault)
    kinds = VaultCorpus("notes", vault, kinds=["note"], weight=0.5)
    other = FunctionCorpus("other", lambda query, limit: [{"title": query}])
    own: Mapping[str, CorpusLike] = {"wiki": wiki, "notes": kinds, "other": other, "remote": lambda query, limit: []}
    web = WebCorpus(
        Policy(),
        vault,
        web=lambda query, limit: [WebResult("https://doves.example/", query)],
        budget=CreditBudget(5),
        options=WebOptions(timeout_s=1.0),
    )
    vault.retriever(corpora={"web_research": web}).close()
    web.close()
    external: Searches = ExternalFirst(lambda query, limit: [], vault)
    vaults: Mapping[str, CorpusLike] = {"docs_mirror": vault, "remote": external}
    vault.retriever(corpora=vaults).close()
    config = RetrievalConfig(profile=profile, search=RecallSettings(recall_limit=5), limit=7)
    with vault.retriever(config, corpora=own, policy=Policy(rrf_k=10.0), on_retrieval=told.append) as retriever:
        kept: Retriever = retriever
        plan: RetrievalPlan = kept.plan("ducks")
        intent: Intent = plan.intent
        mode: RetrievalMode = plan.mode
        changed: Sequence[Override] = plan.overrides
        found = kept.retrieve("ducks", plan=plan, scope={"session": "s1"}, timeout_s=30.0)
        why: RetrievalExplanation = kept.explain("ducks", "a")
        lists: Sequence[ListReport] = why.lists
        corpora: Sequence[CorpusReport] = why.corpora
        assert (intent, mode, len(changed), bool(lists), bool(corpora)) and kept.get("a") is not None
    (envelope, _) = told
    waves: Sequence[WaveTrace] = envelope.waves
    asked: Sequence[CorpusTrace] = waves[0].asked
    spoken: ExpansionTrace | None = envelope.expansion
    assert spoken is None and asked
    return found


async def awaited() -> list[str]:
    async with AsyncVault(":memory:") as vault:
        await vault.add(id="a", title="ducks swim")
        made: AsyncRetriever = await vault.retriever("recall")
        async with made as retriever:
            found: Retrieval = await retriever.retrieve("ducks")
            await retriever.plan("ducks")
            explanation: RetrievalExplanation = await retriever.explain("ducks", "a")
            assert explanation.found
            return found.ids


def main() -> None:
    with Vault(":memory:") as vault:
        vault.add(id="a", title="ducks swim", type="note")
        found = retrieved(vault, "septet")
        best: Hit = found[0]
        notes: tuple[Note, ...] = found.notes
        assert best.id == "a" and notes is not None
        assert "ducks" in found.to_prompt() and "ducks" in found.format()
    assert asyncio.run(awaited()) == ["a"]
    print(septet.__version__)


if __name__ == "__main__":
    main()
