"""LangChain's embeddings as an embedder of Septet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from septet.embedding import CallableEmbedder

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

__all__ = ["embedder_of", "name_of_embeddings"]


def embedder_of(embeddings: Embeddings, model: str | None = None) -> CallableEmbedder:
    """Return LangChain's embeddings as an embedder, for ``Vault(embedder=)`` too.

    Args:
        embeddings: the embedding model.
        model: the name of its vectors; only vectors of the same name are compared. None uses the class name with its
            ``model`` or ``model_name``; without either, two models of one class share a name.
    """

    def queries(texts: list[str]) -> Any:
        return np.asarray([embeddings.embed_query(text) for text in texts])

    name = model if model is not None else name_of_embeddings(embeddings)
    return CallableEmbedder(embeddings.embed_documents, queries=queries, model=name, provider="langchain")


def name_of_embeddings(embeddings: Embeddings) -> str:
    """Return the class name of embeddings, with their ``model`` or ``model_name`` if set."""
    names = (getattr(embeddings, attribute, None) for attribute in ("model", "model_name"))
    model = next((name for name in names if isinstance(name, str) and name), None)
    kind = type(embeddings).__name__
    return kind if model is None else f"{kind}/{model}"
