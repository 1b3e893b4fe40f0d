"""Embeddings: providers behind one protocol, the pipeline that fills a vault's spaces, the cache, batch jobs."""

from septet.embedding.embedder import Embedder, Kind, space_name

__all__ = ["Embedder", "Kind", "space_name"]
