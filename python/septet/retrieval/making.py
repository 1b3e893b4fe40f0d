"""Builds a retriever: a configuration becomes corpora, rules and an expander."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.errors import QueryError, SeptetError
from septet.inputs.arguments import called, real, shown, utf8
from septet.retrieval.config import MAX_TIMEOUT_S, RetrievalConfig, retrieval_config
from septet.retrieval.corpora.given import CorpusLike, corpus_of
from septet.retrieval.corpus import Corpus, Item, RankedList
from septet.retrieval.expansion.chat import expanding_of
from septet.retrieval.expansion.expanding import Unnamed
from septet.retrieval.knowledge import Knowledge, OpenVault, key_of, links_of, settings_of, store_of
from septet.retrieval.ordering import Ordered, by_likelihood, by_rank, within_corpora
from septet.retrieval.planning.evidence import linked_contradictions
from septet.retrieval.planning.knobs import Resolver
from septet.retrieval.planning.policy import Policy
from septet.retrieval.retriever import Retriever
from septet.retrieval.rules import RecallRules, Rules

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
    """Return the retriever of a vault or a federation; see `Vault.retriever` for the other arguments and errors.

    ``open_vault`` opens another vault for reading, and ``clock`` returns the present in epoch seconds.
    """
    chosen = retrieval_config(config)
    if policy is not None:
        own = policy if isinstance(policy, Policy) else Policy.from_dict(policy, base=chosen.chosen_policy)
        chosen = chosen.model_copy(update={"policy": own})
    called(on_retrieval, "on_retrieval", QueryError)
    called(secrets, "secrets", QueryError)
    if timeout_s is not None:
        timeout_s = real(timeout_s, "timeout_s", QueryError, 0.01, MAX_TIMEOUT_S)
    knobs, is_recall = chosen.chosen_policy, chosen.profile == "recall"
    wants_phrasings = not is_recall or chosen.search.query_expansion
    with ExitStack() as opened:
        make = _Making(knowledge, chosen, knobs, open_vault, opened, clock)
        passed = make.passed(corpora)
        expanding = None
        if expander is not None or wants_phrasings:
            expanding = expanding_of(chosen.expansion, expander=expander, secrets=secrets)
            if expanding is None and is_recall:
                expanding = Unnamed()
        if expanding is not None:
            opened.callback(expanding.close)
        # Keys in the policy take precedence over the environment.
        if not is_recall and (secrets is not None or not knobs.secrets):
            knobs = knobs.with_secrets(os.environ.get if secrets is None else secrets)
            make = make._replace(policy=knobs)
        built = make.recalled() if is_recall else make.planned()
        return Retriever(
            chosen,
            knobs,
            {**{corpus.name: corpus for corpus in built}, **passed},
            RecallRules(chosen.search, clock) if is_recall else make.rules(),
            expanding=expanding,
            timeout_s=chosen.timeout_s if timeout_s is None else timeout_s,
            on_retrieval=on_retrieval,
            tracer=tracer,
            sqlite=settings_of(knowledge),
            close=opened.pop_all().close,
        )


class _Making(NamedTuple):
    """A retriever in the making; ``opened`` closes what is opened for it."""

    knowledge: Knowledge
    config: RetrievalConfig
    policy: Policy
    open_vault: OpenVault
    opened: ExitStack
    clock: Callable[[], float]

    def passed(self, corpora: Mapping[str, CorpusLike] | None) -> dict[str, Corpus]:
        """Return the caller's corpora by name."""
        if corpora is None:
            return {}
        if not isinstance(corpora, Mapping) or len(corpora) > MOST_CORPORA:
            raise QueryError(f"corpora is {shown(corpora)}: wanted a dict of corpora by name, {MOST_CORPORA} at most")
        by_name = {}
        for name, corpus in corpora.items():
            text = utf8(name, "a name in corpora", QueryError, 200)
            if not (text.strip() and text.isprintable()):
                raise QueryError(f"a name in corpora is {shown(text)}: wanted a printable name")
            by_name[text] = corpus_of(text, corpus, self._of_vault)
        return by_name

    def recalled(self) -> Sequence[Corpus]:
        """Return the sources of a recall."""
        from septet.retrieval.recall.sources import corpora_of

        needed = {source.vault for source in self.config.search.sources}
        paths = self.config.corpora.vaults
        vaults = {name: self._opened(path) for name, path in paths.items() if name in needed}
        return corpora_of(self.config.search, self.knowledge, vaults)

    def planned(self) -> Sequence[Corpus]:
        """Return the corpora of a planned retrieval."""
        from septet.retrieval.corpora.chunks import ChunkCorpus, MirrorCorpus
        from septet.retrieval.corpora.graph import GraphCorpus
        from septet.retrieval.corpora.memory import MemoryCorpus

        knowledge, named, policy = self.knowledge, self.config.corpora, self.policy
        is_documented = policy.evidence == "documented"
        chunks: Any = {"weight": policy.chunk_vector_fusion_weight, "together": self._together}
        corpora: list[Corpus] = [
            MemoryCorpus(
                knowledge,
                kinds=named.memory_kinds,
                roots=named.memory_roots,
                k1=policy.memory_bm25_k1,
                b=policy.memory_bm25_b,
                together=self._together,
                contradictions=is_documented,
                clock=self.clock,
                # As documented, a stop word counts as a match.
                stop_words=() if is_documented else policy.verification_stop_words,
            ),
            GraphCorpus(knowledge, together=self._together),
            ChunkCorpus(knowledge, kinds=named.chunk_kinds, without=named.memory_roots, **chunks),
        ]
        if named.docs is not None:
            corpora.append(MirrorCorpus(self._opened(named.docs), **chunks))
        if named.repository is not None:
            from septet.retrieval.corpora.folders import Folder, InventoryCorpus
            from septet.retrieval.corpora.semantic import SemanticFilesCorpus
            from septet.retrieval.corpora.symbols import SymbolCorpus

            # They share one scan.
            skip, most = policy.repo_inventory_skip_dirs, policy.repo_inventory_max_files
            folder = Folder(named.repository, skip=skip, most_files=most)
            corpora += [
                InventoryCorpus(folder, words="all" if policy.words == "substring" else "natural"),
                SymbolCorpus(folder, contract=named.contract, knowledge=knowledge),
                SemanticFilesCorpus(folder, knowledge, **chunks),
            ]
        if policy.web_enabled:
            from septet.retrieval.corpora.web import WebCorpus

            web = WebCorpus(policy, knowledge)
            self.opened.callback(web.close)
            corpora.append(web)
        return corpora

    def rules(self) -> Rules:
        """Return the rules of a planned retrieval."""
        config, policy = self.config, self.policy
        order: Callable[[Sequence[RankedList]], Ordered]
        if config.profile != "septet":
            weights = {
                "memory": policy.memory_vector_fusion_weight,
                "document_chunks": policy.chunk_vector_fusion_weight,
            }
            order = partial(within_corpora, weights=weights, k=policy.rrf_k)
        elif config.fusion == "rrf":
            order = partial(by_rank, k=config.fusion_k, first_rank=1)
        else:
            order = partial(by_likelihood, k=config.fusion_k)
        linked = partial(_contradicting, self.knowledge) if policy.evidence == "calibrated" else None
        return Rules(policy, order, limit=config.limit, hops=config.hops, contradicting=linked)

    @property
    def _together(self) -> str | None:
        """The profile for searches of a vault; None if the legs are fused as documented.

        In the documented fusion a hit of one leg keeps its whole score, and so may precede hits of both.
        """
        return "septet" if self.config.profile == "septet" else None

    def _of_vault(self, name: str, knowledge: Knowledge) -> Corpus:
        """Return a caller's vault as a corpus: a source of a recall, or a docs mirror."""
        if self.config.profile == "recall":
            from septet.retrieval.recall.sources import VaultCorpus

            return VaultCorpus(name, knowledge)
        from septet.retrieval.corpora.chunks import MirrorCorpus

        weight = self.policy.chunk_vector_fusion_weight
        return MirrorCorpus(knowledge, name=name, weight=weight, together=self._together)

    def _opened(self, path: str) -> Any:
        vault = self.open_vault(path)
        self.opened.callback(vault.close)
        return vault


def _contradicting(knowledge: Knowledge, items: Sequence[Item]) -> int:
    """Return the number of entries that contradict another item by a link."""
    store = store_of(knowledge)
    ids = [item.hit.id for item in items if item.key == key_of(store, item.hit.id)]
    try:
        links = [link[:3] for several in links_of(knowledge, ids).values() for link in several] if len(ids) > 1 else []
    except SeptetError:
        # The hits stay; the corpora of an unreadable vault add notes.
        return 0
    return linked_contradictions(ids, links)
