"""The checks of `septet doctor`. If one fails, the others still run."""

from __future__ import annotations

import platform
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import septet
from septet import _core
from septet.cli.catalogue import describe_key
from septet.cli.exits import PROVIDER, STORE, USAGE
from septet.cli.places import EmbeddingSettings, default_files, find_embedding, shown
from septet.cli.vault_checks import Check, server_checks, vault_checks
from septet.embedding.cache import EmbeddingCache
from septet.embedding.choose import configured_models
from septet.embedding.embedder import ConfiguredModel, Embedder, space_name
from septet.embedding.providers.http import key_source
from septet.errors import EmbeddingConfigError, EmbeddingError
from septet.postgres.store.dsn import is_dsn
from septet.service.places import cache_file

if TYPE_CHECKING:
    from septet.service.places import VaultPlace

#: The text to embed as a test of the provider.
_PROBE = "septet"


def checkup(
    embedding: str | None, vault: VaultPlace | None, *, timeout_s: float | None, recall: int | None = None
) -> list[Check]:
    """Run every check.

    Args:
        timeout_s: maximum wait for the provider, in seconds; None sends nothing.
        recall: number of vectors to measure the recall of lists with; None measures nothing.
    """
    python = platform.python_version()
    machine = f"{platform.system()} {platform.machine()}"
    versions = {
        "septet": septet.__version__,
        "python": python,
        "sqlite": sqlite3.sqlite_version,
        "machine": machine,
        "kernel": _core.kernel(),
    }
    summary = (
        f"Septet {septet.__version__}, Python {python}, SQLite {sqlite3.sqlite_version}, {machine} ({_core.kernel()})"
    )
    checks = [Check("versions", "ok", summary, versions)]
    try:
        settings = find_embedding(embedding)
    except EmbeddingConfigError as fault:
        checks.append(Check("configuration", "fault", str(fault), {}, USAGE))
        return checks + _vault(vault, (), recall)
    if settings.source is None:
        cure = f"write an embedding block into {shown(default_files()[0])}, or name a provider with --embedding"
        summary = f"none, so nothing is embedded; {cure}"
        checks.append(Check("configuration", "none", summary, {"source": None}))
    else:
        facts = {"source": settings.source, "provider": settings.config.provider}
        summary = f"provider {settings.config.provider}, from {settings.source}"
        checks.append(Check("configuration", "ok", summary, facts))
    models: list[ConfiguredModel] = []
    try:
        models = configured_models(settings.config)
    except EmbeddingConfigError as fault:
        checks.append(Check("provider", "fault", str(fault), {"provider": settings.config.provider}, USAGE))
    embedders = [model.embedder for model in models if model.embedder is not None]
    try:
        for number, model in enumerate(models, 1):
            # Names of checks are keys in JSON: they must be unique.
            suffix = f" {number}" if number > 1 else ""
            if model.embedder is not None:
                results = _provider_checks(settings, model.embedder, timeout_s)
            else:
                facts = {"provider": (model.fault.provider if model.fault else "") or settings.config.provider}
                results = [Check("provider", "fault", str(model.fault), facts, USAGE)]
            checks += [replace(check, name=check.name + suffix) for check in results]
        if embedders:
            checks.append(_cache())
        return checks + _vault(vault, embedders, recall)
    finally:
        for embedder in embedders:
            embedder.close()


def _vault(place: VaultPlace | None, models: Sequence[Embedder], recall: int | None) -> list[Check]:
    """Check a vault, in a file or on a server."""
    if is_dsn(place):
        checks = server_checks(str(place), models)
        if recall is not None:
            checks.append(Check("recall", "none", "not measured: a server has no lists of vectors", {"spaces": []}))
        return checks
    path = None if place is None else Path(place)
    checks = vault_checks(path, models)
    if recall is not None:
        from septet.cli.recall_checks import recall_check

        checks.append(recall_check(path, recall))
    return checks


def _provider_checks(settings: EmbeddingSettings, embedder: Embedder, timeout_s: float | None) -> list[Check]:
    name = embedder.provider
    why = "the first of local, openai, gemini, voyage that is configured" if settings.config.provider == "auto" else ""
    facts = {"provider": name, "model": embedder.model, "dimensions": embedder.dimensions}
    checks = [Check("provider", "ok", space_name(embedder) + (f": {why}" if why else ", as configured"), facts)]
    if name != "local":
        ways = (settings.config, *settings.config.fallback)
        config = next((way for way in ways if way.provider == name), settings.config)
        source = key_source(config.model_copy(update={"provider": name}))
        checks.append(Check("key", "none" if source is None else "ok", describe_key(name, source), {"source": source}))
    return [*checks, _answer(embedder, timeout_s)]


def _answer(embedder: Embedder, timeout_s: float | None) -> Check:
    if timeout_s is None:
        return Check("answer", "none", "not asked (--offline)", {"asked": False})
    began = time.perf_counter()
    try:
        rows = embedder.embed([_PROBE], "query", timeout_s=timeout_s)
    except EmbeddingError as fault:
        return Check("answer", "fault", str(fault), {"asked": True, "status": fault.status}, PROVIDER)
    took_ms = 1_000 * (time.perf_counter() - began)
    facts = {"asked": True, "dimensions": rows.shape[1], "took_ms": round(took_ms, 1)}
    return Check("answer", "ok", f"a vector of {rows.shape[1]} dimensions in {took_ms:.0f} ms", facts)


def _cache() -> Check:
    path = cache_file()
    if not path.exists():
        return Check("cache", "none", f"empty; it will be {shown(path)}", {"path": str(path), "vectors": 0})
    cache = EmbeddingCache(path)
    try:
        vectors = len(cache)
        if cache.notes:
            return Check("cache", "fault", str(cache.notes[0]), {"path": str(path), "vectors": 0}, STORE)
    finally:
        cache.close()
    facts = {"path": str(path), "vectors": vectors, "limit": cache.limit}
    return Check("cache", "ok", f"{vectors:,} of at most {cache.limit:,} vectors in {shown(path)}", facts)
