"""The corpora and rules of planned retrieval, from a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from septet.errors import SeptetError
from septet.retrieval.config import RetrievalConfig
from septet.retrieval.corpora.chunks import ChunkCorpus, MirrorCorpus
from septet.retrieval.corpora.graph import GraphCorpus
from septet.retrieval.corpora.memory import MemoryCorpus
from septet.retrieval.corpus import Corpus, Item, RankedList
from septet.retrieval.knowledge import Knowledge, OpenVault, key_of, store_of
from septet.retrieval.ordering import Ordered, by_likelihood, by_rank, within_corpora
from septet.retrieval.planning.evidence import linked_contradictions
from septet.retrieval.planning.policy import Policy
from septet.retrieval.rules import PlannedRules, Rules


def planned(
    knowledge: Knowledge,
    config: RetrievalConfig,
    policy: Policy,
    open_vault: OpenVault,
    opened: ExitStack,
    clock: Callable[[], float],
) -> tuple[dict[str, Corpus], Rules]:
    """Return the corpora by name, and the rules; ``opened`` closes what is opened here.

    Raises:
        ProfileError: a path or a server of the configuration is invalid.
        StoreError: a vault cannot be opened.
    """
    corpora = [
        *_of_vaults(knowledge, config, policy, open_vault, opened, clock),
        *_of_folder(knowledge, config, policy),
    ]
    if policy.web_enabled:
        from septet.retrieval.corpora.web import WebCorpus

        web = WebCorpus(policy, knowledge)
        opened.callback(web.close)
        corpora.append(web)
    linked = partial(_contradicting, knowledge) if policy.evidence == "calibrated" else None
    rules = PlannedRules(policy, _order(config, policy), limit=config.limit, hops=config.hops, contradicting=linked)
    return {corpus.name: corpus for corpus in corpora}, rules


def _of_vaults(
    knowledge: Knowledge,
    config: RetrievalConfig,
    policy: Policy,
    open_vault: OpenVault,
    opened: ExitStack,
    clock: Callable[[], float],
) -> list[Corpus]:
    named, weight = config.corpora, policy.chunk_vector_fusion_weight
    together = _together(config)
    corpora: list[Corpus] = [
        MemoryCorpus(
            knowledge,
            kinds=named.memory_kinds,
            roots=named.memory_roots,
            k1=policy.memory_bm25_k1,
            b=policy.memory_bm25_b,
            together=together,
            contradictions=policy.evidence == "documented",
            clock=clock,
            # As documented, a stop word counts as a match.
            stop_words=() if policy.evidence == "documented" else policy.verification_stop_words,
        ),
        GraphCorpus(knowledge, together=together),
        ChunkCorpus(knowledge, kinds=named.chunk_kinds, without=named.memory_roots, weight=weight, together=together),
    ]
    if named.docs is not None:
        mirror = open_vault(named.docs)
        opened.callback(mirror.close)
        corpora.append(MirrorCorpus(mirror, weight=weight, together=together))
    return corpora


def _of_folder(knowledge: Knowledge, config: RetrievalConfig, policy: Policy) -> list[Corpus]:
    """Return the corpora of a repository; they share one scan of its folders."""
    named = config.corpora
    if named.repository is None:
        return []
    from septet.retrieval.corpora.folders import Folder
    from septet.retrieval.corpora.inventory import InventoryCorpus
    from septet.retrieval.corpora.semantic import SemanticFilesCorpus
    from septet.retrieval.corpora.symbols import SymbolCorpus

    skip, most = policy.repo_inventory_skip_dirs, policy.repo_inventory_max_files
    folder = Folder(named.repository, skip=skip, most_files=most)
    return [
        InventoryCorpus(folder, words="all" if policy.words == "substring" else "natural"),
        SymbolCorpus(folder, contract=named.contract, knowledge=knowledge),
        SemanticFilesCorpus(folder, knowledge, weight=policy.chunk_vector_fusion_weight, together=_together(config)),
    ]


def _together(config: RetrievalConfig) -> str | None:
    """Return the profile for searches of a vault; None if the legs are fused as documented.

    In the documented fusion a hit of one leg keeps its whole score, and so may precede hits of both.
    """
    return "septet" if config.profile == "septet" else None


def _contradicting(knowledge: Knowledge, items: Sequence[Item]) -> int:
    """Return the number of entries that contradict another item by a link."""
    store = store_of(knowledge)
    ids = [item.hit.id for item in items if item.key == key_of(store, item.hit.id)]
    try:
        links = [link[:3] for entry_id in ids for link in knowledge.links(entry_id)] if len(ids) > 1 else []
    except SeptetError:
        # The hits stay; the corpora of an unreadable vault add notes.
        return 0
    return linked_contradictions(ids, links)


def _order(config: RetrievalConfig, policy: Policy) -> Callable[[Sequence[RankedList]], Ordered]:
    if config.profile == "septet":
        if config.fusion == "rrf":
            return partial(by_rank, k=config.fusion_k, first_rank=1)
        return partial(by_likelihood, k=config.fusion_k)
    weights = {"memory": policy.memory_vector_fusion_weight, "document_chunks": policy.chunk_vector_fusion_weight}
    return partial(within_corpora, weights=weights, k=policy.rrf_k)
