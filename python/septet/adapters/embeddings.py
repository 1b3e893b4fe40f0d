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
        embeddings: what embeds.
        model: the name of its vectors, which are compared with those of the same name only. None takes the class with
            its ``model`` or ``model_name``; where it has none, two models of one class would not be told apart.
    """

    def queries(texts: list[str]) -> Any:
        return np.asarray([embeddings.embed_query(text) for text in texts])

    name = model if model is not None else name_of_embeddings(embeddings)
    return CallableEmbedder(embeddings.embed_documents, queries=queries, model=name, provider="langchain")


def name_of_embeddings(embeddings: Embeddings) -> str:
    """Return the class of embeddings with their ``model`` or ``model_name``, if they have one."""
    named = (getattr(embeddings, name, None) for name in ("model", "model_name"))
    model = next((one for one in named if isinstance(one, str) and one), None)
    kind = type(embeddings).__name__
    return kind if model is None else f"{kind}/{model}"
