"""Answers of a server as the values that a vault returns: inverses of `to_dict`, floats bit for bit.

Input was validated against its type; see `septet.client.shapes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from septet.client import shapes
from septet.model.codec import value_of
from septet.model.context import Context, ContextItem, LeftOutEntry
from septet.model.entry import SNIPPET_CHARS, Entry, Version
from septet.model.explanation import Explanation
from septet.model.fields import Span
from septet.model.links import Link
from septet.model.pages import Facets, Page
from septet.model.results import Hit, Results, SoughtParts, TierReport
from septet.model.stats import Stats
from septet.model.suggestion import Suggestion
from septet.model.vector import Space
from septet.ranking.score import Weights
from septet.tiers.remote.answers import note_of

if TYPE_CHECKING:
    from typing import TypeAlias

_RANKED: tuple[Literal["id", "score", "confidence", "tier"], ...] = ("id", "score", "confidence", "tier")
#: Format of `Span.citation`.
_CITED = re.compile(r"(.*)#[Lp](\d+)(?:-[Lp](\d+))?", re.DOTALL)
#: Context of full hits: the parts sought by the query, True if snippets are cut around the best match, and the
#: maximum number of characters of a snippet.
HitContext: TypeAlias = "tuple[SoughtParts, bool, int]"


entry_of = partial(value_of, Entry)
explanation_of = partial(value_of, Explanation)
link_of = partial(value_of, Link)
page_of = partial(value_of, Page)
suggestion_of = partial(value_of, Suggestion)
version_of = partial(value_of, Version)
weights_of = partial(value_of, Weights)


def hit_of(data: shapes.HitAnswer, context: HitContext | None = None) -> Hit:
    """Return the hit of `Hit.to_dict`.

    The dict of mode ``scan`` has no breakdown, signals, raw values and texts: these are empty, and excerpts are cut
    from the snippet.
    """
    inner: Any = data.get("parts", ())
    parts = tuple(hit_of(part, context) for part in inner)
    ranked: dict[str, Any] = {name: data[name] for name in _RANKED}
    if "entry" not in data:
        return _light(cast("Mapping[str, Any]", data), ranked, parts)
    entry = entry_of(data["entry"])
    sought: SoughtParts = ((), (), False)
    around, chars = False, SNIPPET_CHARS
    if context is not None:
        sought, around, chars = context
    snippet = entry.description if len(entry.description) <= chars else entry.description[:chars] + "..."
    if context is not None and around:
        from septet.model.matches import Sought, passage_of

        snippet = passage_of(entry, Sought(*sought), chars)
    return Hit(
        **ranked,
        title=entry.title,
        type=entry.type,
        domain=entry.domain,
        severity=entry.severity,
        tags=entry.tags,
        kind=entry.kind,
        snippet=snippet,
        token_estimate=entry.token_estimate,
        breakdown=data["breakdown"],
        signals=data["signals"],
        raw=data["raw"],
        entry=entry,
        parent=entry.parent,
        source=entry.source,
        trust=entry.trust,
        parts=parts,
        _origin=None if context is None else (entry, sought, chars),
    )


def _light(data: Mapping[str, Any], ranked: Mapping[str, Any], parts: tuple[Hit, ...]) -> Hit:
    names = ("title", "type", "domain", "severity", "kind", "snippet", "token_estimate", "source", "trust")
    return Hit(
        **ranked,
        **{name: data[name] for name in names},
        tags=tuple(data["tags"]),
        breakdown={},
        signals={},
        raw={},
        parent=data.get("parent"),
        parts=parts,
        _origin=(_stub(data), ((), (), False), SNIPPET_CHARS),
    )


def _stub(data: Mapping[str, Any]) -> Entry:
    """Return a partial entry of a light hit: its passage and its span."""
    cited = _CITED.fullmatch(data.get("citation", ""))
    span = None if cited is None else Span(cited[1], int(cited[2]), int(cited[3] or cited[2]))
    return Entry(id=data["id"], title=data["title"], description=data["snippet"], span=span)


def results_of(data: shapes.ResultsAnswer, context_of: Callable[[str], HitContext] | None = None) -> Results:
    """Return the results of `Results.to_dict`.

    Args:
        context_of: returns the context of full hits, by the name of the profile; None leaves `Hit.matches` empty.
    """
    context = None if context_of is None or not data["hits"] or data["mode"] == "scan" else context_of(data["profile"])
    read: dict[str, Any] = {
        "hits": tuple(hit_of(item, context) for item in data["hits"]),
        "notes": tuple(map(note_of, data["notes"])),
        "tiers": tuple(value_of(TierReport, {**item, "error": item["error"] or ""}) for item in data["tiers"]),
        "facets": {name: facets_of(item) for name, item in data.get("facets", {}).items()},
    }
    return Results(**{**data, **read})


def context_of(data: shapes.ContextAnswer, context_of: Callable[[str], HitContext]) -> Context:
    """Return the context of `Context.to_dict`; ``context_of`` as for `results_of`."""
    context = context_of(data["profile"]) if data["items"] else None
    items = []
    for item in data["items"]:
        # An entry that does not match the query has no words of it.
        hit = hit_of(item["hit"], context if item["hit"].get("breakdown") else None)
        items.append(ContextItem(hit, item["code"], item["reason"], item["tokens"]))
    read: dict[str, Any] = {
        "items": tuple(items),
        "left_out": tuple(value_of(LeftOutEntry, item) for item in data["left_out"]),
        "notes": tuple(map(note_of, data["notes"])),
    }
    return Context(**{**data, **read})


def facets_of(data: shapes.FacetsAnswer) -> Facets:
    """Return the facets of `Facets.to_dict`."""
    counts = tuple((item["value"], item["count"]) for item in data["values"])
    numbers = {"total": data["total"], "missing": data["missing"], "distinct": data["distinct"]}
    return Facets(data["field"], counts, other=data["other"], **numbers)


def stats_of(data: shapes.StatsAnswer, path: str) -> Stats:
    """Return the counts of `Stats.to_dict`, with ``path`` for that of the server, which it does not send."""
    spaces = [
        Space(number, space["model"], space["dimensions"], "", space["entries"])
        for number, space in enumerate(data["spaces"], start=1)
    ]
    tiers = {name: stats_of(stats, path) for name, stats in data.get("tiers", {}).items()}
    counts = {name: value for name, value in data.items() if name not in ("spaces", "tiers")}
    return value_of(Stats, counts, path=path, spaces=spaces, tiers=tiers)
