"""The checks of a vault on a PostgreSQL server. Nothing is mended from here: it is the server of several."""

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

__all__ = ["server_checks"]


def server_checks(address: str, models: Sequence[Embedder]) -> list[Check]:
    """Check a vault on a server; the first check says whether it can be opened at all."""
    from septet.postgres.store.dsn import without_passwords

    try:
        with open_vault(address, read_only=True, embedder=models or None) as vault:
            # Not before: without the packages of the extra, opening says what to install.
            from septet.postgres.store.facts import server_facts
            from septet.postgres.store.vector_index import unfinished

            stats, spaces = vault.stats(), vault.spaces()
            store: Any = vault._store
            with store.reading() as read:
                known: ServerFacts = server_facts(read)
                faults: list[str] = read.tables.checking.faults(read)
                broken = [space.model for space in unfinished(read)]
    except SeptetError as fault:
        return [Check("vault", "fault", str(fault), {"path": without_passwords(address)}, STORE)]
    facts = {
        "path": vault.path,
        "entries": stats.entries,
        "generation": stats.generation,
        "bytes": stats.size_bytes,
        "deleted": known.deleted,
    }
    gone = f", {known.deleted:,} deleted ones that purge would remove" if known.deleted else ""
    said = f"{stats.entries:,} entries{gone}, in {vault.path}"
    return [
        Check("vault", "ok", said, facts),
        _server(known),
        _role(known),
        _full_text(faults),
        _changes(known),
        vectors_check(spaces),
        *([_vector_index(broken)] if broken else []),
    ]


def _server(known: ServerFacts) -> Check:
    facts: dict[str, Any] = {"server": known.server, "pgvector": known.pgvector, "schema": known.schema}
    which = "a standby, " if known.standby else ""
    said = f"{which}PostgreSQL {known.server}, pgvector {known.pgvector}, tables of version {known.schema}"
    return Check("server", "ok", said, facts | {"standby": known.standby})


def _role(known: ServerFacts) -> Check:
    may = "owns the tables" if known.owns else "may read and write" if known.may_write else "may only read"
    facts = {"role": known.role, "may_write": known.may_write, "owns": known.owns}
    return Check("role", "ok", f"{known.role} {may}", facts)


def _full_text(faults: Sequence[str]) -> Check:
    if faults:
        said = f"{'; '.join(faults)}: `septet pull` the vault into a file, and `septet push` that as a new vault"
        return Check("full text", "fault", said, {"faults": list(faults)}, STORE)
    return Check("full text", "ok", "postings and counts agree with the entries", {"faults": []})


def _vector_index(models: Sequence[str]) -> Check:
    calls = "; ".join(f"vault.index_vectors(model={model!r})" for model in models)
    said = (
        f"the making of an index over {', '.join(models)} ended halfway: it costs each write, and no search uses it; "
        f"call {calls} as the owner of the tables, or with 'none' to remove it"
    )
    return Check("vector index", "fault", said, {"models": list(models)}, STORE)


def _changes(known: ServerFacts) -> Check:
    facts = {"changes": known.changes, "terms": known.terms}
    if not known.changes:
        return Check("counts", "ok", "all folded", facts)
    return Check("counts", "ok", f"changes of {known.terms:,} counts wait to be folded", facts)
