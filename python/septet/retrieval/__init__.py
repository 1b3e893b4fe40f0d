"""Retrieval over several corpora: plan, search in parallel, fuse, judge the evidence, and search again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For type checkers and editors; a test compares these names with the table below.
    from septet.retrieval.account.accounts import CorpusTrace as CorpusTrace
    from septet.retrieval.account.accounts import ExpansionTrace as ExpansionTrace
    from septet.retrieval.account.accounts import WaveTrace as WaveTrace
    from septet.retrieval.account.envelope import Envelope as Envelope
    from septet.retrieval.account.explaining import CorpusReport as CorpusReport
    from septet.retrieval.account.explaining import ListReport as ListReport
    from septet.retrieval.account.explaining import RetrievalExplanation as RetrievalExplanation
    from septet.retrieval.config import FusionRule as FusionRule
    from septet.retrieval.config import RetrievalConfig as RetrievalConfig
    from septet.retrieval.config import RetrievalConfigLike as RetrievalConfigLike
    from septet.retrieval.config import RetrievalProfile as RetrievalProfile
    from septet.retrieval.corpora.given import CorpusLike as CorpusLike
    from septet.retrieval.corpora.given import FunctionCorpus as FunctionCorpus
    from septet.retrieval.corpora.given import Searches as Searches
    from septet.retrieval.corpora.web.backends import CreditBudget as CreditBudget
    from septet.retrieval.corpora.web.backends import WebSearch as WebSearch
    from septet.retrieval.corpora.web.corpus import WebCorpus as WebCorpus
    from septet.retrieval.corpora.web.corpus import WebOptions as WebOptions
    from septet.retrieval.corpora.web.results import WebResult as WebResult
    from septet.retrieval.corpus import Corpus as Corpus
    from septet.retrieval.corpus import CorpusAnswer as CorpusAnswer
    from septet.retrieval.corpus import CorpusRequest as CorpusRequest
    from septet.retrieval.corpus import Item as Item
    from septet.retrieval.corpus import RankedList as RankedList
    from septet.retrieval.corpus import RetrievalMode as RetrievalMode
    from septet.retrieval.expansion.chat import ChatExpander as ChatExpander
    from septet.retrieval.expansion.config import ExpansionConfig as ExpansionConfig
    from septet.retrieval.expansion.expanding import Expander as Expander
    from septet.retrieval.knowledge import Knowledge as Knowledge
    from septet.retrieval.planning.knobs import Resolver as Resolver
    from septet.retrieval.planning.plan import Intent as Intent
    from septet.retrieval.planning.plan import Override as Override
    from septet.retrieval.planning.plan import RetrievalPlan as RetrievalPlan
    from septet.retrieval.planning.policy import Policy as Policy
    from septet.retrieval.planning.policy import PolicyName as PolicyName
    from septet.retrieval.recall.settings import RecallSettings as RecallSettings
    from septet.retrieval.recall.settings import Role as Role
    from septet.retrieval.recall.sources import VaultCorpus as VaultCorpus
else:
    from septet.system.late import loaded_late

    #: Loaded on first access.
    _NAMES = {
        "account.accounts": "CorpusTrace ExpansionTrace WaveTrace",
        "account.envelope": "Envelope",
        "account.explaining": "CorpusReport ListReport RetrievalExplanation",
        "config": "FusionRule RetrievalConfig RetrievalConfigLike RetrievalProfile",
        "corpora.given": "CorpusLike FunctionCorpus Searches",
        "corpora.web.backends": "CreditBudget WebSearch",
        "corpora.web.corpus": "WebCorpus WebOptions",
        "corpora.web.results": "WebResult",
        "corpus": "Corpus CorpusAnswer CorpusRequest Item RankedList RetrievalMode",
        "expansion.chat": "ChatExpander",
        "expansion.config": "ExpansionConfig",
        "expansion.expanding": "Expander",
        "knowledge": "Knowledge",
        "planning.knobs": "Resolver",
        "planning.plan": "Intent Override RetrievalPlan",
        "planning.policy": "Policy PolicyName",
        "recall.settings": "RecallSettings Role",
        "recall.sources": "VaultCorpus",
    }
    __all__, __getattr__, __dir__ = loaded_late(__name__, _NAMES)
