"""LangChain's embeddings as an embedder of Septet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from septet.embedding import CallableEmbedder

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

__all__ = ["embedder_of"]


def embedder_of(embeddings: Embeddings, model: str | None = None) -> CallableEmbedder:
    """Return LangChain's embeddings as an embedder, for ``Vault(embedder=)`` too.

    Args:
        embeddings: what embeds.
        model: the name of its vectors, which are compared with those of the same name only. None takes the class with
            its ``model`` or ``model_name``; where it has none, two models of one class would not be told apart.
    """

    def queries(texts: list[str]) -> Any:
        return np.asarray([embeddings.embed_query(text) for text in texts])

    name = model if model is not None else _name(embeddings)
    return CallableEmbedder(embeddings.embed_documents, queries=queries, model=name, provider="langchain")


def _name(embeddings: Embeddings) -> str:
    named = (getattr(embeddings, name, None) for name in ("model", "model_name"))
    model = next((one for one in named if isinstance(one, str) and one), None)
    kind = type(embeddings).__name__
    return kind if model is None else f"{kind}/{model}"
