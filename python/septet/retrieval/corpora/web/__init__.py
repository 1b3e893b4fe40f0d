"""The web as a corpus: search services by precedence, page reading, and stored hits."""

from septet.retrieval.corpora.web.corpus import WebCorpus, WebOptions

__all__ = ["WebCorpus", "WebOptions"]
