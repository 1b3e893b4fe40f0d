"""Builds a retriever: a configuration becomes corpora, rules and an expander."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from septet.errors import QueryError, SeptetError
from septet.inputs.arguments import called, real, shown, utf8
from septet.retrieval.config import MAX_TIMEOUT_S, RetrievalConfig, retrieval_config
from septet.retrieval.corpora.given import CorpusLike, corpus_of
from septet.retrieval.corpus import Corpus, Item, RankedList
from septet.retrieval.expansion.chat import expanding_of
from septet.retrieval.expansion.expanding import Unnamed
from septet.retrieval.knowledge import Knowledge, OpenVault, key_of, settings_of, store_of
from septet.retrieval.ordering import Ordered, by_likelihood, by_rank, within_corpora
from septet.retrieval.planning.evidence import linked_contradictions
from septet.retrieval.planning.knobs import Resolver
from septet.retrieval.planning.policy import Policy
from septet.retrieval.retriever import Retriever
from septet.retrieval.rules import PlannedRules, RecallRules, Rules

if TYPE_CHECKING:
    from septet.retrieval.account.envelope import Envelope
    from septet.retrieval.config import RetrievalConfigLike
    from septet.retrieval.expansion.expanding import Expander
    from septet.watch.spans import Tracer

MOST_CORPORA = 64


def retriever_of(
    knowledge: Knowledge,
    config: RetrievalConfigLike,
    *,
    open_vault: OpenVault,
    clock: Callable[[], float],
    expander: Expander | None = None,
    corpora: Mapping[str, CorpusLike] | None = None,
    policy: Policy | Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
    on_retrieval: Callable[[Envelope], object] | None = None,
    secrets: Resolver | None = None,
    tracer: Tracer | None = None,
) -> Retriever:
    """Return the retriever of a vault or a federation; see `Vault.retriever` for the other arguments.

    Args:
        knowledge: the vault, or the federation.
        open_vault: opens another vault for reading.
        clock: returns the current time of the vault, in epoch seconds.
        tracer: creates spans; None for none.

    Raises:
        ProfileError: the configuration or the policy is invalid.
        QueryError: an argument is invalid.
        StoreError: a configured vault cannot be opened.
    """
    chosen = _configured(config, policy)
    called(on_retrieval, "on_retrieval", QueryError)
    called(secrets, "secrets", QueryError)
    if timeout_s is not None:
        timeout_s = real(timeout_s, "timeout_s", QueryError, 0.01, MAX_TIMEOUT_S)
    knobs = chosen.chosen_policy
    passed = _passed(corpora, partial(_of_vault, chosen, knobs))
    wants_phrasings = chosen.profile != "recall" or chosen.search.query_expansion
    with ExitStack() as opened:
        expanding = None
        if expander is not None or wants_phrasings:
            expanding = expanding_of(chosen.expansion, expander=expander, secrets=secrets)
            if expanding is None and chosen.search.query_expansion and chosen.profile == "recall":
                expanding = Unnamed()
        if expanding is not None:
            opened.callback(expanding.close)
        if chosen.profile == "recall":
            built, rules = _recalled(knowledge, chosen, open_vault, opened, clock)
        else:
            # Keys in the policy take precedence over the environment.
            if secrets is not None or not knobs.secrets:
                knobs = knobs.with_secrets(os.environ.get if secrets is None else secrets)
            built, rules = _planned(knowledge, chosen, knobs, open_vault, opened, clock)
        return Retriever(
            chosen,
            knobs,
            {**built, **passed},
            rules,
            expanding=expanding,
            timeout_s=chosen.timeout_s if timeout_s is None else timeout_s,
            on_retrieval=on_retrieval,
            tracer=tracer,
            sqlite=settings_of(knowledge),
            close=opened.pop_all().close,
        )


def _configured(source: RetrievalConfigLike, policy: Policy | Mapping[str, Any] | None) -> RetrievalConfig:
    """Return the configuration, with the given policy replacing its own."""
    config = retrieval_config(source)
    if policy is None:
        return config
    if isinstance(policy, Policy):
        return config.model_copy(update={"policy": policy})
    return config.model_copy(update={"policy": Policy.from_dict(policy, base=config.chosen_policy)})


def _of_vault(config: RetrievalConfig, policy: Policy, name: str, knowledge: Knowledge) -> Corpus:
    """Return a caller's vault as a corpus: a source of a recall, or a docs mirror."""
    if config.profile == "recall":
        from septet.retrieval.recall.sources import VaultCorpus

        return VaultCorpus(name, knowledge)
    from septet.retrieval.corpora.chunks import MirrorCorpus

    together = "septet" if config.profile == "septet" else None
    return MirrorCorpus(knowledge, name=name, weight=policy.chunk_vector_fusion_weight, together=together)


def _passed(
    corpora: Mapping[str, CorpusLike] | None, of_vault: Callable[[str, Knowledge], Corpus]
) -> dict[str, Corpus]:
    """Return the caller's corpora by name.

    Raises:
        QueryError: a value is no corpus, or its name differs from its key.
    """
    if corpora is None:
        return {}
    if not isinstance(corpora, Mapping) or len(corpora) > MOST_CORPORA:
        raise QueryError(f"corpora is {shown(corpora)}: wanted a dict of corpora by name, {MOST_CORPORA} at most")
    by_name = {}
    for name, corpus in corpora.items():
        text = utf8(name, "a name in corpora", QueryError, 200)
        if not (text.strip() and text.isprintable()):
            raise QueryError(f"a name in corpora is {shown(text)}: wanted a printable name")
        by_name[text] = corpus_of(text, corpus, of_vault)
    return by_name


def _recalled(
    knowledge: Knowledge,
    config: RetrievalConfig,
    open_vault: OpenVault,
    opened: ExitStack,
    clock: Callable[[], float],
) -> tuple[dict[str, Corpus], Rules]:
    from septet.retrieval.recall.sources import corpora_of

    needed = {source.vault for source in config.search.sources if source.vault is not None}
    vaults: dict[str, Knowledge] = {}
    for name, path in config.corpora.vaults.items():
        if name in needed:
            vault = open_vault(path)
            opened.callback(vault.close)
            vaults[name] = vault
    return {corpus.name: corpus for corpus in corpora_of(config.search, knowledge, vaults)}, RecallRules(
        config.search, clock
    )


def _planned(
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
    from septet.retrieval.corpora.chunks import ChunkCorpus, MirrorCorpus
    from septet.retrieval.corpora.graph import GraphCorpus
    from septet.retrieval.corpora.memory import MemoryCorpus

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
    from septet.retrieval.corpora.folders import Folder, InventoryCorpus
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
