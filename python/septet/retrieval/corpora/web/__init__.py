"""The web as a corpus: search services in tiers, their results in order, pages, and what is kept of them."""

from septet.retrieval.corpora.web.corpus import WebCorpus, WebOptions

__all__ = ["WebCorpus", "WebOptions"]
