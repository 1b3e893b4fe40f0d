"""The checks of a vault on a PostgreSQL server. They offer no repairs: other programs share the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from septet.cli.check import Check
from septet.cli.exits import STORE
from septet.cli.vault_checks import vectors_check
from septet.embedding.embedder import Embedder
from septet.errors import SeptetError
from septet.service.vaults import open_vault

if TYPE_CHECKING:
    from septet.postgres.store.facts import ServerFacts


def server_checks(address: str, models: Sequence[Embedder]) -> list[Check]:
    """Check a vault on a server; the first check opens it."""
    from septet.postgres.store.dsn import without_passwords

    try:
        with open_vault(address, read_only=True, embedder=models or None) as vault:
            # Import after opening, which reports missing packages of the extra.
            from septet.postgres.store.facts import server_facts
            from septet.postgres.store.vector_index import unfinished

            stats, spaces = vault.stats(), vault.spaces()
            store: Any = vault._store
            with store.reading() as read:
                server: ServerFacts = server_facts(read)
                faults: list[str] = read.tables.checking.faults(read)
                broken = [space.model for space in unfinished(read)]
    except SeptetError as fault:
        return [Check("vault", "fault", str(fault), {"path": without_passwords(address)}, STORE)]
    facts = {
        "path": vault.path,
        "entries": stats.entries,
        "generation": stats.generation,
        "bytes": stats.size_bytes,
        "deleted": server.deleted,
    }
    deleted = f", {server.deleted:,} deleted ones that purge would remove" if server.deleted else ""
    summary = f"{stats.entries:,} entries{deleted}, in {vault.path}"
    return [
        Check("vault", "ok", summary, facts),
        _server(server),
        _role(server),
        _full_text(faults),
        _changes(server),
        vectors_check(spaces),
        *([_vector_index(broken)] if broken else []),
    ]


def _server(server: ServerFacts) -> Check:
    facts: dict[str, Any] = {"server": server.server, "pgvector": server.pgvector, "schema": server.schema}
    which = "a standby, " if server.standby else ""
    summary = f"{which}PostgreSQL {server.server}, pgvector {server.pgvector}, tables of version {server.schema}"
    return Check("server", "ok", summary, facts | {"standby": server.standby})


def _role(server: ServerFacts) -> Check:
    may = "owns the tables" if server.owns else "may read and write" if server.may_write else "may only read"
    facts = {"role": server.role, "may_write": server.may_write, "owns": server.owns}
    return Check("role", "ok", f"{server.role} {may}", facts)


def _full_text(faults: Sequence[str]) -> Check:
    if faults:
        summary = f"{'; '.join(faults)}: `septet pull` the vault into a file, and `septet push` that as a new vault"
        return Check("full text", "fault", summary, {"faults": list(faults)}, STORE)
    return Check("full text", "ok", "postings and counts agree with the entries", {"faults": []})


def _vector_index(models: Sequence[str]) -> Check:
    calls = "; ".join(f"vault.index_vectors(model={model!r})" for model in models)
    summary = (
        f"building an index over {', '.join(models)} was interrupted: it slows writes, and searches do not use it; "
        f"call {calls} as the owner of the tables, or with 'none' to remove it"
    )
    return Check("vector index", "fault", summary, {"models": list(models)}, STORE)


def _changes(server: ServerFacts) -> Check:
    facts = {"changes": server.changes, "terms": server.terms}
    if not server.changes:
        return Check("counts", "ok", "all folded", facts)
    return Check("counts", "ok", f"{server.terms:,} changed counts are not folded yet", facts)
