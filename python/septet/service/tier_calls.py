"""Calls of remote tiers to a served memory: search sessions, and reads of all entries.

One operation outside of the public table: its format is for clients of the same version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from typing_extensions import TypedDict

from septet import __version__
from septet.client.routes import ROUTES
from septet.errors import QueryError, SeptetError, TierError
from septet.federation import Federation
from septet.inputs.arguments import listed, shown, utf8, whole
from septet.listing.queries import MirrorQuery, Shadowing
from septet.model.arrays import Mask
from septet.service.operations import operation
from septet.service.requests import WireRequest
from septet.service.running import Memory, Serving
from septet.tiers.protocol import SearchAgain
from septet.tiers.remote.listings import answer_data, hidden_of, mirror_data, query_of
from septet.tiers.remote.packing import packed
from septet.tiers.remote.tier import PROTOCOL
from septet.vault.anywhere import AnyVault
from septet.watch.events import SearchEvent

#: Maximum number of ids per call.
MOST_IDS = 100_000
#: Maximum row number of a table.
MOST_ROW = 2**63 - 1


class TierCall(WireRequest, extra="allow"):
    """A call of a remote tier: a method, and its arguments as further fields."""

    method: str


class TierAnswer(TypedDict, total=False):
    """An answer to a remote tier; ``again`` is the reason to restart its search."""

    again: str
    answer: Any


def run(served: Serving, request: Any) -> dict[str, Any]:
    """Return the answer to a call of a remote tier."""
    call: dict[str, Any] = {"method": request.method, **(request.model_extra or {})}
    sessions = served.tier_sessions()
    try:
        if request.method == "open":
            began = perf_counter()
            opened = sessions.open(_vault_of(served.blocking, call), call)
            if call.get("recall") is True:
                _report_search(served, call.get("plans"), opened["generation"], (perf_counter() - began) * 1e3)
            return opened
        if request.method == "close":
            return {"answer": sessions.end(str(call.get("session")))}
        if request.method not in _READS:
            return {"answer": sessions.ask(call)}
        vault = _vault_of(served.blocking, call)
        try:
            return {"answer": _READS[request.method](vault, call)}
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
            if isinstance(fault, SeptetError):
                raise
            raise QueryError(f"invalid call of a remote tier: {type(fault).__name__}") from fault
    except SearchAgain as fault:
        return {"again": str(fault)}


def _report_search(served: Serving, plans: Any, generation: int, took_ms: float) -> None:
    """Report a search to the watcher of the memory; the remote federation ranks and counts its hits itself."""
    watch = served.blocking._watch
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


def _vault_of(memory: Memory, call: Mapping[str, Any]) -> AnyVault:
    """Return the vault of a call (`TierError`)."""
    tier = call.get("tier")
    if isinstance(memory, Federation):
        if tier is None:
            known = ", ".join(map(shown, memory.tiers()))
            raise TierError(f"this server has several tiers: choose one with Client(url, tier=...): {known}")
        vault = memory.tier(str(tier))
        if not isinstance(vault, AnyVault):
            raise TierError(f"tier {shown(tier)} is on a server of Septet: run this on that machine")
        return vault
    if tier is not None:
        raise TierError(f"there is no tier {shown(tier)}: this server has one vault, without tiers")
    return memory


def _ids(call: Mapping[str, Any]) -> list[str]:
    ids = listed(call["ids"], "ids", QueryError, "a list of ids", MOST_IDS, of=str)
    return [utf8(id_, "id", QueryError) for id_ in ids]


def _about(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, Any]:
    return {"version": __version__, "protocol": PROTOCOL, "embeds": vault._embeds(), "embeds_now": vault._embeds_now()}


def _part(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return some hundred entries after a row, up to a last row; None for the current last one."""
    last_row = None if call["last"] is None else whole(call["last"], "last", QueryError, 0, MOST_ROW)
    last, rows = vault._part(whole(call["row"], "row", QueryError, 0, MOST_ROW), last_row)
    return {"last": last, "entries": [list(row) for row in rows]}


def _layouts(vault: AnyVault, call: Mapping[str, Any]) -> list[list[Any]]:
    return [[model, dimensions, count] for (model, dimensions), count in vault._layouts().items()]


def _vectors(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, str]:
    layout = utf8(call["model"], "model", QueryError), whole(call["dimensions"], "dimensions", QueryError, 1)
    return {id_: packed(blob) for id_, blob in vault._vectors_of(_ids(call), layout).items()}


def _holds(vault: AnyVault, call: Mapping[str, Any]) -> list[str]:
    kind = call["kind"]
    return sorted(vault._holds(_ids(call), None if kind is None else utf8(kind, "kind", QueryError)))


def _mirror(vault: AnyVault, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return ids and validity of the listing; only its state if the client has the rest."""
    mirror, _ = vault._listed(MirrorQuery(), None)
    return {"state": mirror.state} if call["known"] == mirror.state else mirror_data(mirror)


def _listed(vault: AnyVault, call: Mapping[str, Any]) -> Any:
    listing, state = query_of(call["asked"]), call["state"]

    def hidden(shadowing: Shadowing) -> Mask | None:
        if str(shadowing.state) != state:
            # The mask was made for another state.
            raise SearchAgain("the listing has changed")
        return hidden_of(call["hidden"], len(shadowing))

    return answer_data(vault._listed(listing, None if state is None else hidden)[0], listing)


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

#: Not in the table of operations: it is for remote tiers of the same version.
TIER = operation(
    "tier", "Serve the sessions of remote tiers.", TierCall, run, ROUTES["tier"]._replace(answer=TierAnswer)
)
