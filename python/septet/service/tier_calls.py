"""What remote tiers ask of a memory that is served: sessions of searches, and reads that go through all entries.

It is one operation beside the table of those for people: what it takes and gives is for a client of the same version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from typing_extensions import TypedDict

from septet import __version__
from septet.errors import QueryError, SeptetError, TierError
from septet.federation import Federation
from septet.inputs.arguments import listed, shown, utf8, whole
from septet.listing.asked import MirrorAsked
from septet.listing.shadows import Shadowing
from septet.service.operations import Operation
from septet.service.requests import Request
from septet.service.running import Memory, Serving
from septet.sqlite.snapshot.arrays import Mask
from septet.tiers.protocol import SearchAgain
from septet.tiers.remote.listings import answer_data, asked_of, hidden_of, mirror_data
from septet.tiers.remote.packing import packed
from septet.tiers.remote.tier import PROTOCOL
from septet.vault.anywhere import AnyVault
from septet.watch.events import SearchEvent

__all__ = ["TIER", "TierAnswer", "TierCall"]

#: So many ids one call names.
MOST_IDS = 100_000
#: The highest row of a table.
MOST_ROW = 2**63 - 1


class TierCall(Request, extra="allow"):
    """A call of a remote tier: what is asked, and more by name."""

    method: str


class TierAnswer(TypedDict, total=False):
    """What a remote tier is told; ``again`` says why its search has to begin anew."""

    again: str
    answer: Any


def run(at: Serving, asked: Any) -> dict[str, Any]:
    """Answer a call of a remote tier."""
    call: dict[str, Any] = {"method": asked.method, **(asked.model_extra or {})}
    sessions = at.tier_sessions()
    try:
        if asked.method == "open":
            begun = perf_counter()
            opened = sessions.open(_vault_of(at.blocking, call), call)
            if call.get("recall") is True:
                _tell_search(at, call.get("plans"), opened["generation"], (perf_counter() - begun) * 1e3)
            return opened
        if asked.method == "close":
            return {"answer": sessions.end(str(call.get("session")))}
        if asked.method in _READS:
            return {"answer": _read(_READS[asked.method], _vault_of(at.blocking, call), call)}
        return {"answer": sessions.ask(call)}
    except SearchAgain as fault:
        return {"again": str(fault)}


def _tell_search(at: Serving, plans: Any, generation: int, took_ms: float) -> None:
    """Tell who watches the memory of a search by a federation elsewhere, which ranks and counts hits itself."""
    watch = at.blocking._watch
    if watch is None or watch.on_search is None:
        return
    count = len(plans) if isinstance(plans, list) else 1
    event = SearchEvent(
        method="search" if count == 1 else "search_many",
        query="",
        query_chars=0,
        queries=count,
        took_ms=took_ms,
        stages={"recall": took_ms},
        candidates=0,
        hits=0,
        generation=generation,
        profile="",
        notes=(),
        error=None,
    )
    watch.tell(watch.on_search, event)


def _read(read: Callable[[AnyVault, Mapping[str, Any]], Any], vault: AnyVault, call: Mapping[str, Any]) -> Any:
    try:
        return read(vault, call)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
        if isinstance(fault, SeptetError):
            raise
        raise QueryError(f"no call of a remote tier: {type(fault).__name__}") from fault


def _vault_of(memory: Memory, call: Mapping[str, Any]) -> AnyVault:
    """Return the vault that is meant.

    Raises:
        TierError: there are several, or another one is meant.
    """
    tier = call.get("tier")
    if isinstance(memory, Federation):
        if tier is None:
            known = ", ".join(map(shown, memory.tiers()))
            raise TierError(f"this server holds several tiers: name one, Client(url, tier=...), of {known}")
        return memory._local(memory._named(str(tier)))
    if tier is not None:
        raise TierError(f"there is no tier {shown(tier)}: this server holds one vault")
    return memory


def _ids(call: Mapping[str, Any]) -> list[str]:
    given = listed(call["ids"], "ids", QueryError, "a list of ids", MOST_IDS, of=str)
    return [utf8(one, "id", QueryError) for one in given]


def _about(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, Any]:
    return {"version": __version__, "protocol": PROTOCOL, "embeds": vault._embeds(), "embeds_now": vault._embeds_now()}


def _part(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return some hundred entries behind a row; without a last one, up to what is the last one now."""
    given = None if call["last"] is None else whole(call["last"], "last", QueryError, 0, MOST_ROW)
    last, found = vault._part(whole(call["row"], "row", QueryError, 0, MOST_ROW), given)
    return {"last": last, "entries": [list(one) for one in found]}


def _layouts(vault: AnyVault, call: Mapping[str, Any]) -> list[list[Any]]:
    return [[model, dimensions, count] for (model, dimensions), count in vault._layouts().items()]


def _vectors(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, str]:
    layout = utf8(call["model"], "model", QueryError), whole(call["dimensions"], "dimensions", QueryError, 1)
    return {one: packed(blob) for one, blob in vault._vectors_of(_ids(call), layout).items()}


def _holds(vault: AnyVault, call: Mapping[str, Any]) -> list[str]:
    kind = call["kind"]
    return sorted(vault._holds(_ids(call), None if kind is None else utf8(kind, "kind", QueryError)))


def _mirror(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return ids and validity of the listing; its state alone where that is known."""
    mirror, _ = vault._listed(MirrorAsked(), None)
    return {"state": mirror.state} if call["known"] == mirror.state else mirror_data(mirror)


def _listed(vault: AnyVault, call: Mapping[str, Any]) -> Any:
    asked, state = asked_of(call["asked"]), call["state"]

    def hidden(listing: Shadowing) -> Mask | None:
        if str(listing.state) != state:
            # What is hidden was told by another state.
            raise SearchAgain("the listing has changed")
        return hidden_of(call["hidden"], len(listing))

    return answer_data(vault._listed(asked, None if state is None else hidden)[0], asked)


_READS: Mapping[str, Callable[[AnyVault, Mapping[str, Any]], Any]] = {
    "about": _about,
    "feedback_counts": lambda vault, call: dict(vault._feedback_counts()),
    "held": lambda vault, call: sorted(vault._held(_ids(call))),
    "holds": _holds,
    "part": _part,
    "layouts": _layouts,
    "vectors_of": _vectors,
    "mirror": _mirror,
    "listed": _listed,
}

#: Beside the table of operations: what a client of the same version asks of a tier.
TIER = Operation(
    name="tier",
    summary="Answer the sessions of remote tiers.",
    route=("POST", "/v1/tier"),
    request=TierCall,
    answer=TierAnswer,
    run=run,
)
