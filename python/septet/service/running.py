"""What each operation does: a call of the vault, and the JSON-ready answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from septet.errors import TierError
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.profiles.builtin import BUILTIN
from septet.service.passages import with_passages
from septet.service.requests import given
from septet.vault.anywhere import AnyVault
from septet.vault.places import is_like_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from septet.client.external import ExternalFirst
    from septet.postgres.vault.vault import PostgresVault
    from septet.retrieval.config import RetrievalProfile
    from septet.retrieval.retriever import Retriever
    from septet.service.slow import SlowSearches
    from septet.service.tier_sessions import TierSessions
    from septet.vault import Vault

__all__ = ["Memory", "Serving", "named"]

#: What is served: one vault, or several as tiers.
Memory: TypeAlias = "Vault | PostgresVault | Federation"


class Serving(Protocol):
    """What an operation works on."""

    @property
    def blocking(self) -> Memory:
        """The vault or federation."""

    @property
    def searched(self) -> Memory | ExternalFirst:
        """What searches ask: the memory, or another one first."""

    @property
    def writable(self) -> bool:
        """Whether operations may change it."""

    @property
    def slow(self) -> SlowSearches:
        """The slowest searches."""

    def retriever(self, profile: RetrievalProfile | None = None) -> Retriever:
        """Return the retriever of a profile that is kept for it; None for the configured one."""

    def tier_sessions(self) -> TierSessions:
        """Return the sessions of remote tiers that search it."""


def named(memory: Memory, asked: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a request as arguments of a method.

    Raises:
        TierError: one vault is served, and a tier is named.
    """
    fields = given(asked, *without)
    if isinstance(memory, AnyVault) and (tier := fields.pop("tier", None)) is not None:
        raise TierError(f"there is no tier {shown(tier)}: what is served is one vault")
    return fields


def search(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.search`; with ``passages`` the hits have their title and a passage in pieces."""
    found = at.searched.search(**given(asked, "passages"))
    return found.to_dict() if asked.passages is None else with_passages(found, asked.passages)


def search_many(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.search_many`."""
    found = at.blocking.search_many(asked.queries, **given(asked, "queries"))
    return {"results": [one.to_dict() for one in found]}


def recall(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.recall`."""
    return at.blocking.recall(**given(asked)).to_dict()


def retrieve(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Retriever.retrieve`."""
    return at.retriever(asked.profile).retrieve(**given(asked, "profile")).to_dict()


def explain(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.explain`."""
    return at.blocking.explain(**given(asked)).to_dict()


def similar(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.similar`."""
    return at.blocking.similar(**named(at.blocking, asked)).to_dict()


def weights(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.weights`."""
    return at.blocking.weights(**given(asked)).to_dict()


def stats(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.stats`; without the paths of the server."""
    return _without_paths(at.blocking.stats(**named(at.blocking, asked)).to_dict())


def status(at: Serving, asked: Any) -> dict[str, Any]:
    """Say what is served, in names and counts."""
    from septet import __version__

    memory, counted = at.blocking, at.blocking.stats().to_dict()
    return {
        "version": __version__,
        "writable": at.writable,
        "tiers": memory.tiers() if isinstance(memory, Federation) else {},
        "profile": memory.weights().profile,
        "profiles": list(BUILTIN),
        **{name: counted[name] for name in ("entries", "kinds", "links", "spaces", "notes")},
    }


def get(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.get`.

    Raises:
        EntryNotFound: no entry has this id.
    """
    from septet.errors import EntryNotFound

    found = at.blocking.get(**named(at.blocking, asked))
    if found is None:
        raise EntryNotFound(f"there is no entry {asked.id!r}")
    return found.to_dict()


def load(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.load`; what no entry has for its id may be a path, as in `Vault.get`."""
    given = named(at.blocking, asked)
    found = at.blocking.load(**given)
    known, missing = {entry.id for entry in found}, []
    del given["ids"]
    for id in dict.fromkeys(asked.ids):
        if id in known:
            continue
        at_path = at.blocking.get(id, **given) if is_like_place(id) else None
        if at_path is None:
            missing.append(id)
        elif at_path.id not in known:
            known.add(at_path.id)
            found.append(at_path)
    return {"entries": [entry.to_dict() for entry in found], "missing": missing}


def entries(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.entries`."""
    return at.blocking.entries(**named(at.blocking, asked)).to_dict()


def ids_beginning(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.ids_beginning`."""
    return {"ids": at.blocking.ids_beginning(**named(at.blocking, asked))}


def count(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.count`."""
    return {"count": at.blocking.count(**named(at.blocking, asked))}


def facets(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.facets`."""
    return at.blocking.facets(**named(at.blocking, asked)).to_dict()


def history(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.history`."""
    return {
        "versions": [
            {
                "entry": one.entry.to_dict(),
                "replaced_at": one.replaced_at,
                "call": one.call,
                "changed": list(one.changed),
            }
            for one in at.blocking.history(**named(at.blocking, asked))
        ]
    }


def links(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.links`."""
    return {"links": [dict(one._asdict()) for one in at.blocking.links(**named(at.blocking, asked))]}


def _stored(name: str) -> Callable[[Serving, Any], dict[str, Any]]:
    def run(at: Serving, asked: Any) -> dict[str, Any]:
        return {"id": getattr(at.blocking, name)(**_plain(named(at.blocking, asked)))}

    return run


def _plain(named: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the span as a dict."""
    if named.get("span") is not None:
        named["span"] = named["span"].model_dump()
    return named


add, remember, supersede = map(_stored, ("add", "remember", "supersede"))


def update(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.update`."""
    return at.blocking.update(**_plain(named(at.blocking, asked))).to_dict()


def update_many(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.update_many`."""
    return {"count": at.blocking.update_many(**named(at.blocking, asked))}


def delete(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.delete`."""
    return {"count": at.blocking.delete(*asked.ids, **named(at.blocking, asked, "ids"))}


def forget(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.forget`."""
    return {"count": at.blocking.forget(*asked.ids, **named(at.blocking, asked, "ids"))}


def reinstate(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.reinstate`."""
    return {"changed": at.blocking.reinstate(**named(at.blocking, asked))}


def link(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.link`."""
    at.blocking.link(**named(at.blocking, asked))
    return {"changed": True}


def link_many(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.link_many`."""
    given = [(one.source, one.target, one.type, one.note) for one in asked.links]
    return {"count": at.blocking.link_many(given, **named(at.blocking, asked, "links"))}


def unlink(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.unlink`."""
    return {"changed": at.blocking.unlink(**named(at.blocking, asked))}


def feedback(at: Serving, asked: Any) -> dict[str, Any]:
    """See `Vault.feedback`."""
    at.blocking.feedback(**named(at.blocking, asked))
    return {"changed": True}


def _without_paths(counted: dict[str, Any]) -> dict[str, Any]:
    del counted["path"]
    for tier in counted.get("tiers", {}).values():
        _without_paths(tier)
    return counted
