"""The functions of the operations: a call of the vault, and its JSON-ready answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from pydantic import BaseModel

from septet.errors import TierError
from septet.federation import Federation
from septet.inputs.arguments import shown
from septet.model.codec import as_json
from septet.model.results import Hit, Results
from septet.profiles.builtin import BUILTIN
from septet.vault.reading import is_like_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from septet.client.external import ExternalFirst
    from septet.postgres.vault import PostgresVault
    from septet.retrieval.config import RetrievalProfile
    from septet.retrieval.retriever import Retriever
    from septet.service.slow import SlowSearches
    from septet.service.tier_sessions import TierSessions
    from septet.vault import Vault

#: The served memory: one vault, or several as tiers.
Memory: TypeAlias = "Vault | PostgresVault | Federation"


class Serving(Protocol):
    """The context of an operation."""

    @property
    def blocking(self) -> Memory:
        """The vault or federation."""

    @property
    def searched(self) -> Memory | ExternalFirst:
        """The memory that searches use, or an external one before it."""

    @property
    def writable(self) -> bool:
        """True if operations may write."""

    @property
    def slow(self) -> SlowSearches:
        """The slowest searches."""

    def retriever(self, profile: RetrievalProfile | None = None) -> Retriever:
        """Return the cached retriever of a profile; None for the configured one."""

    def tier_sessions(self) -> TierSessions:
        """Return the sessions of remote tiers."""


class InTier(NamedTuple):
    """The context of an operation on one tier."""

    served: Serving
    blocking: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.served, name)


def in_tier(served: Serving, name: str, request: Any) -> Any:
    """Return the context of an operation: that of the tier that the request names, if it names one.

    Raises:
        TierError: there is no such tier; or none is named for a call that changes many entries.
    """
    tier, memory = getattr(request, "tier", None), served.blocking
    if name == "tier":
        # A call of a remote tier, which names the vault itself.
        return served
    if not isinstance(memory, Federation):
        if tier is not None:
            raise TierError(f"there is no tier {shown(tier)}: one vault is served, without tiers")
        return served
    if tier is None and name in ("update_many", "link_many"):
        memory._one(None)
    if tier is None or name == "learned":
        return served
    return InTier(served, memory._alone(tier) if name == "similar" else memory.tier(tier))


def set_fields(request: Any, *without: str) -> dict[str, Any]:
    """Return the fields that a request sets, as keyword arguments."""
    fields = {name: getattr(request, name) for name in request.model_fields_set if name not in without}
    return {name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in fields.items()}


def arguments_of(request: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a request as arguments of a method of the vault, federation or tier."""
    return set_fields(request, "tier", *without)


def method(name: str, answer: Any) -> Callable[[Serving, Any], dict[str, Any]]:
    """Return the `Operation.run` that calls a method of the vault with the fields of a request.

    Args:
        name: the name of the method.
        answer: the type of the answer. A result that is no dict in JSON is its only field; None is True.
    """
    (field, *_) = answer.__annotations__

    def run(served: Serving, request: Any) -> dict[str, Any]:
        called = getattr(served.blocking, name)
        arguments = arguments_of(request)
        # Methods take ids as positional arguments, or as one.
        ids = arguments.pop("ids", ()) if name in ("delete", "forget") else ()
        result = as_json(called(*ids, **arguments))
        return result if isinstance(result, dict) else {field: True if result is None else result}

    return run


def search(served: Serving, request: Any) -> dict[str, Any]:
    """See `Vault.search`; with ``passages``, hits have title and passage as pieces."""
    results = served.searched.search(**set_fields(request, "passages"))
    return results.to_dict() if request.passages is None else _with_passages(results, request.passages)


def retrieve(served: Serving, request: Any) -> dict[str, Any]:
    """See `Retriever.retrieve`."""
    return served.retriever(request.profile).retrieve(**set_fields(request, "profile")).to_dict()


def stats(served: Serving, request: Any) -> dict[str, Any]:
    """See `Vault.stats`; without the paths of the server."""
    return _without_paths(served.blocking.stats(**arguments_of(request)).to_dict())


def status(served: Serving, request: Any) -> dict[str, Any]:
    """Return names and counts of the served memory."""
    from septet import __version__

    memory, counts = served.blocking, served.blocking.stats().to_dict()
    return {
        "version": __version__,
        "writable": served.writable,
        "tiers": memory.tiers() if isinstance(memory, Federation) else {},
        "profile": memory.weights().profile,
        "profiles": list(BUILTIN),
        **{name: counts[name] for name in ("entries", "kinds", "links", "spaces", "notes")},
    }


def get(served: Serving, request: Any) -> dict[str, Any]:
    """See `Vault.get` (`EntryNotFound`)."""
    from septet.errors import EntryNotFound

    entry = served.blocking.get(**arguments_of(request))
    if entry is None:
        raise EntryNotFound(f"there is no entry {request.id!r}")
    return entry.to_dict()


def load(served: Serving, request: Any) -> dict[str, Any]:
    """See `Vault.load`; an id without an entry may be a path, as in `Vault.get`."""
    arguments = arguments_of(request)
    entries = served.blocking.load(**arguments)
    known, missing = {entry.id for entry in entries}, []
    del arguments["ids"]
    for id in dict.fromkeys(request.ids):
        if id in known:
            continue
        entry = served.blocking.get(id, **arguments) if is_like_place(id) else None
        if entry is None:
            missing.append(id)
        elif entry.id not in known:
            known.add(entry.id)
            entries.append(entry)
    return {"entries": [entry.to_dict() for entry in entries], "missing": missing}


def link_many(served: Serving, request: Any) -> dict[str, Any]:
    """See `Vault.link_many`."""
    links = [(link.source, link.target, link.type, link.note) for link in request.links]
    vault: Any = served.blocking  # A federation has no such method; see `in_tier`.
    return {"count": vault.link_many(links, **arguments_of(request, "links"))}


def _without_paths(counted: dict[str, Any]) -> dict[str, Any]:
    del counted["path"]
    for tier in counted.get("tiers", {}).values():
        _without_paths(tier)
    return counted


# -- passages ----------------------------------------------------------------------------------------------------------

#: A text, and True if it is a word of the query.
Piece = tuple[str, bool]


def _with_passages(results: Results, chars: int) -> dict[str, Any]:
    """Return the results as a dict whose hits have ``marked``: title and passage, of at most ``chars``, as pieces."""
    answer = results.to_dict()
    for hit, item in zip(results, answer["hits"]):
        item["marked"] = {
            "title": _pieces_data(_title_pieces(hit)),
            "passage": _pieces_data(_passage_pieces(hit, chars)),
        }
    return answer


def _title_pieces(hit: Hit) -> Iterable[Piece]:
    at = 0
    for match in hit.matches:
        if match.field == "title" and match.start >= at:
            yield hit.title[at : match.start], False
            yield hit.title[match.start : match.end], True
            at = match.end
    yield hit.title[at:], False


def _passage_pieces(hit: Hit, chars: int) -> Iterable[Piece]:
    texts: list[str] = []

    def record(text: str) -> str:
        texts.append(text)
        return text

    # `escape` is called with each text between marks: every second one is a match. Ellipses are not passed to it.
    whole = hit.excerpt(chars, marks=("", ""), escape=record)
    before, _, after = whole.partition("".join(texts)) if whole else ("", "", "")
    yield before, False
    yield from ((text, bool(index % 2)) for index, text in enumerate(texts))
    yield after, False


def _pieces_data(pieces: Iterable[Piece]) -> list[dict[str, Any]]:
    return [{"text": text, "match": match} for text, match in pieces if text]
