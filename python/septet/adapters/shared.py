"""The common parts of the adapters: the memory that they wrap; entries, filters and embeddings in their forms.

A document of another library is a text with metadata: the text is the description, the metadata are the attrs, the
title is ``metadata["title"]`` or the first line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from septet.aio import AsyncFederation, AsyncVault
from septet.aio.vault import AsyncAnyVault
from septet.embedding import CallableEmbedder
from septet.errors import QueryError, StoreError
from septet.exchange.mapping import title_of
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.model.results import Hit
from septet.vault import Vault
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

Result = TypeVar("Result")


class Memory:
    """The vault, federation or client of an adapter.

    Args:
        vault: an open one, blocking or async, which stays open; or the path of a vault to open.
        tier: the tier of a federation to write to; None leaves the choice to the federation.

    Attributes:
        blocking: the object with the methods of `Vault`.

    Raises:
        StoreError: none of these, or the file cannot be used.
    """

    def __init__(self, vault: Any, tier: str | None = None) -> None:
        self._opened: AnyVault | None = None
        self._async: AsyncAnyVault[Any] | AsyncFederation | None = None
        self._lock = Lock()
        if isinstance(vault, (str, os.PathLike)):
            vault = self._opened = Vault(vault)
        elif isinstance(vault, (AsyncAnyVault, AsyncFederation)):
            self._async, vault = vault, vault.blocking
        methods = [getattr(vault, name, None) for name in ("search", "load", "add_many", "delete")]
        if not all(map(callable, methods)) or any(map(iscoroutinefunction, methods)):
            raise StoreError(f"vault is {shown(vault)}: wanted a Vault, a Federation, a Client or the path of a vault")
        self.blocking = vault
        self._tier = tier

    def __repr__(self) -> str:
        return repr(self.blocking)

    @property
    def written(self) -> Any:
        """The object to write to: the tier, if one is set."""
        return self.blocking if self._tier is None else self.blocking.tier(self._tier)

    async def on_thread(self, work: Callable[..., Result], *args: Any, **named: Any) -> Result:
        """Call ``work`` on a worker thread and return its result."""
        with self._lock:
            if self._async is None and isinstance(self.blocking, AnyVault):
                self._async = AsyncVault.of(cast("Vault", self.blocking))
            elif self._async is None and isinstance(self.blocking, Federation):
                self._async = AsyncFederation.of(self.blocking)
            face = self._async
        if face is None:
            return await asyncio.to_thread(work, *args, **named)
        # `work` already refers to the blocking vault of `face`.
        result: Result = await face.on_thread(lambda _: work(*args, **named))
        return result

    def kinds(self, *, as_of: float | None = None) -> list[str]:
        """Return the kinds of all entries, or of those valid at ``as_of`` (epoch seconds).

        Raises:
            StoreError: a server has more kinds than it returns.
        """
        facets = self.blocking.facets("kind", limit=None, as_of=as_of)
        if facets.distinct > len(facets):
            raise StoreError(
                f"the server returned {len(facets):,} of {facets.distinct:,} kinds: open its vault directly instead"
            )
        return [str(kind) for kind in facets]

    def close(self) -> None:
        """Close the vault if it was opened from a path."""
        if self._opened is not None:
            self._opened.close()


def needs(extra: str, error: ImportError) -> ImportError:
    """Return the error for a missing package."""
    name = extra.replace("-", "_")
    return ImportError(f"septet.adapters.{name} needs an extra: pip install 'septet[{extra}]' ({error})")


def fields_of_text(id: str, text: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the entry that stores a text."""
    return {"id": id, "title": _title(id, text, metadata), "description": text, "attrs": dict(metadata)}


def content_of(entry: Entry) -> str:
    """Return the text an adapter stored; for other entries title, description and context."""
    implied = entry.title == _title(entry.id, entry.description, entry.attrs)
    return "\n\n".join(part for part in ("" if implied else entry.title, entry.description, entry.context) if part)


def _title(id: str, text: str, metadata: Mapping[str, Any]) -> str:
    title = metadata.get("title")
    return title if isinstance(title, str) and title.strip() else title_of(text) or id


def facts_of(hit: Hit) -> dict[str, Any]:
    """Return score, fields and origin of a hit, JSON-ready."""
    return {
        "score": hit.score,
        "confidence": hit.confidence,
        "kind": hit.kind,
        "domain": hit.domain,
        "tags": list(hit.tags),
        "source": hit.source,
        "trust": hit.trust,
        "tier": hit.tier,
        "citation": hit.citation,
    }


def where_of_metadata(filter: object) -> dict[str, Any]:
    """Convert a filter on metadata to a filter on entries: same operators, keys under ``attrs``.

    Raises:
        QueryError: not a dict. The search rejects unknown operators.
    """
    if not isinstance(filter, Mapping):
        raise QueryError(f"filter is {shown(filter)}: wanted a dict of metadata, such as {{'team': 'core'}}")
    where: dict[str, Any] = {}
    for key, value in filter.items():
        if not isinstance(key, str) or not key.startswith("$"):
            where[f"attrs.{key}"] = value
        elif isinstance(value, (list, tuple)):
            where[key] = [where_of_metadata(part) for part in value]
        else:
            where[key] = where_of_metadata(value)
    return where


def both(*filters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Combine filters with ``$and``; None if all are empty."""
    parts = [dict(part) for part in filters if part]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"$and": parts}


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
