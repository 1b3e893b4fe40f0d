"""The checks of `septet doctor`. They are independent: when one fails, the others still run."""

from __future__ import annotations

import platform
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import septet
from septet.cli.catalogue import key_said
from septet.cli.places import default_vault, shown
from septet.cli.settings import Settings, cache_file, default_files, find
from septet.embedding.cache import EmbeddingCache
from septet.embedding.choose import Configured, configured
from septet.embedding.embedder import Embedder, space_name
from septet.embedding.providers.credentials import key_source
from septet.embedding.query.selection import SpaceStatus
from septet.errors import EmbeddingConfigError, EmbeddingError, ReadOnly, SeptetError, StoreBusy, StoreError
from septet.snapshot.sidecar import Sidecar
from septet.storage.checking import full_text_faults
from septet.storage.store import Store
from septet.vault import Vault

__all__ = ["Check", "checkup"]

_USAGE, _STORE, _PROVIDER = 2, 3, 4
#: The text that is sent to see whether a provider answers.
_PROBE = "septet"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        state: ``none`` if there is nothing to check.
        facts: what ``said`` says, for programs.
        exit_code: the exit code of the command if this check fails.
    """

    name: str
    state: Literal["ok", "fault", "none"]
    said: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int = 0


def checkup(embedding: str | None, vault: Path | None, *, timeout_s: float | None) -> list[Check]:
    """Run every check.

    Args:
        timeout_s: how long to wait for the provider; None sends nothing.
    """
    python = platform.python_version()
    versions = {"septet": septet.__version__, "python": python, "sqlite": sqlite3.sqlite_version}
    said = f"Septet {septet.__version__}, Python {python}, SQLite {sqlite3.sqlite_version}"
    found = [Check("versions", "ok", said, versions)]
    try:
        settings = find(embedding)
    except EmbeddingConfigError as fault:
        found.append(Check("configuration", "fault", str(fault), {}, _USAGE))
        return found + _vault_checks(vault, ())
    found.append(_configuration(settings))
    models: list[Configured] = []
    try:
        models = configured(settings.config)
    except EmbeddingConfigError as fault:
        found.append(Check("provider", "fault", str(fault), {"provider": settings.config.provider}, _USAGE))
    made = [one.embedder for one in models if one.embedder is not None]
    try:
        for number, one in enumerate(models, 1):
            # Programs know checks by their names.
            which = f" {number}" if number > 1 else ""
            found += [replace(check, name=check.name + which) for check in _model_checks(settings, one, timeout_s)]
        if made:
            found.append(_cache())
        return found + _vault_checks(vault, made)
    finally:
        for embedder in made:
            embedder.close()


def _model_checks(settings: Settings, one: Configured, timeout_s: float | None) -> list[Check]:
    """Check one model of those that a configuration names."""
    if one.embedder is not None:
        return _provider_checks(settings, one.embedder, timeout_s)
    facts = {"provider": (one.fault.provider if one.fault else "") or settings.config.provider}
    return [Check("provider", "fault", str(one.fault), facts, _USAGE)]


def _configuration(settings: Settings) -> Check:
    if settings.source is None:
        cure = f"write an embedding block into {shown(default_files()[0])}, or name a provider with --embedding"
        return Check("configuration", "none", f"none, so nothing is embedded; {cure}", {"source": None})
    said = f"provider {settings.config.provider}, from {settings.source}"
    return Check("configuration", "ok", said, {"source": settings.source, "provider": settings.config.provider})


def _provider_checks(settings: Settings, embedder: Embedder, timeout_s: float | None) -> list[Check]:
    name = embedder.provider
    why = "the first of local, openai, gemini, voyage that is configured" if settings.config.provider == "auto" else ""
    facts = {"provider": name, "model": embedder.model, "dimensions": embedder.dimensions}
    found = [Check("provider", "ok", space_name(embedder) + (f": {why}" if why else ", as configured"), facts)]
    if name != "local":
        ways = (settings.config, *settings.config.fallback)
        config = next((one for one in ways if one.provider == name), settings.config)
        source = key_source(config.model_copy(update={"provider": name}))
        found.append(Check("key", "none" if source is None else "ok", key_said(name, source), {"source": source}))
    return [*found, _answer(embedder, timeout_s)]


def _answer(embedder: Embedder, timeout_s: float | None) -> Check:
    if timeout_s is None:
        return Check("answer", "none", "not asked (--offline)", {"asked": False})
    began = time.perf_counter()
    try:
        rows = embedder.embed([_PROBE], "query", timeout_s=timeout_s)
    except EmbeddingError as fault:
        return Check("answer", "fault", str(fault), {"asked": True, "status": fault.status}, _PROVIDER)
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
            return Check("cache", "fault", str(cache.notes[0]), {"path": str(path), "vectors": 0}, _STORE)
    finally:
        cache.close()
    facts = {"path": str(path), "vectors": vectors, "limit": cache.limit}
    return Check("cache", "ok", f"{vectors:,} of at most {cache.limit:,} vectors in {shown(path)}", facts)


def _vault_checks(path: Path | None, models: Sequence[Embedder]) -> list[Check]:
    wanted = path or default_vault()
    if not wanted.exists():
        return [Check("vault", "none", f"none at {shown(wanted)}", {"path": str(wanted)})]
    try:
        with Vault(wanted, read_only=True, embedder=models or None) as vault:
            stats, spaces = vault.stats(), vault.spaces()
    except SeptetError as fault:
        return [Check("vault", "fault", str(fault), {"path": str(wanted)}, _STORE)]
    facts = {"path": str(wanted), "entries": stats.entries, "generation": stats.generation, "bytes": stats.size_bytes}
    said = f"{stats.entries:,} entries, {stats.size_bytes / 1e6:.1f} MB, in {shown(wanted)}"
    return [Check("vault", "ok", said, facts), _full_text(wanted), _sidecar(wanted), _vectors(spaces)]


def _full_text(path: Path) -> Check:
    try:
        faults = full_text_faults(str(path))
    except (ReadOnly, StoreBusy) as fault:
        return Check("full text", "none", f"not checked: {fault}", {"faults": []})
    except StoreError as fault:
        faults = [str(fault)]
    if faults:
        cure = "export what can be read, and import it into a new vault"
        return Check("full text", "fault", f"{'; '.join(faults)}: {cure}", {"faults": faults}, _STORE)
    return Check("full text", "ok", "the index agrees with the entries", {"faults": []})


def _sidecar(path: Path) -> Check:
    sidecar = Sidecar(str(path), read_only=True)
    store = Store(str(path), read_only=True)
    try:
        with store.reading() as read:
            found, place, now = sidecar.latest(read), sidecar.current_file(read), read.generation
    except StoreError as fault:
        return Check("sidecar", "fault", str(fault), {"path": None}, _STORE)
    finally:
        store.close()
    if found is None or place is None:
        return Check("sidecar", "none", "none: searches write one for vaults of 2,000 entries or more", {"path": None})
    behind = now - found[0].generation
    facts = {"path": str(place[0]), "generation": found[0].generation, "behind": behind}
    age = f"{behind:,} writes ago" if behind else "of the newest write"
    return Check("sidecar", "ok", f"{shown(place[0])}, {age}", facts)


def _vectors(spaces: list[SpaceStatus]) -> Check:
    facts = {
        "spaces": [
            {
                "model": s.model,
                "dimensions": s.dimensions,
                "entries": s.entries,
                "missing": s.missing,
                "active": s.active,
                "given": s.given,
            }
            for s in spaces
        ]
    }
    if not spaces:
        return Check("vectors", "none", "none", facts)
    said = "; ".join(_space_said(s) for s in spaces)
    return Check("vectors", "ok", said, facts)


def _space_said(space: SpaceStatus) -> str:
    length = f" ({space.dimensions} dimensions)" if space.dimensions else ""
    given = ", given by the caller" if space.given else ""
    state = "" if space.active else ", being filled" if space.entries else ", not begun"
    missing = f"{space.missing:,} missing" if space.missing else "none missing"
    cure = ": run `septet embed`" if space.missing and not space.given else ""
    return f"{space.model}{length}: {space.entries:,} entries{given}{state}, {missing}{cure}"
