"""Answers of a server as the values that a vault returns: each the inverse of `to_dict`, the same doubles in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from septet.entry import SNIPPET_CHARS, Entry, Span, Version
from septet.explanation import Explanation, LegReport, Remedy
from septet.notes import Note
from septet.pages import Facets, Page
from septet.ranking.adaptive import Weights
from septet.results import Hit, Results, SoughtParts, TierReport
from septet.spaces import Space
from septet.stats import Stats
from septet.storage.tables.links import Link

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = [
    "Shown",
    "entry_of",
    "explanation_of",
    "facets_of",
    "hit_of",
    "link_of",
    "note_of",
    "page_of",
    "results_of",
    "stats_of",
    "version_of",
    "weights_of",
]

#: As `Span.citation` writes it.
_CITED = re.compile(r"(.*)#[Lp](\d+)(?:-[Lp](\d+))?", re.DOTALL)
#: What whole hits show of themselves: what the query looks for in them, whether their snippets are around the best
#: match, and how many characters these have.
Shown: TypeAlias = "tuple[SoughtParts, bool, int]"


def entry_of(data: Mapping[str, Any]) -> Entry:
    """Return the entry that `Entry.to_dict` described."""
    given = dict(data)
    given["tags"] = tuple(given["tags"])
    if (span := given.get("span")) is not None:
        given["span"] = Span(span["path"], span["first_line"], span["last_line"])
    return Entry(**given)


def note_of(data: Mapping[str, Any]) -> Note:
    """Return the note that `Note.to_dict` described."""
    return Note(data["code"], data["cause"], data["cure"], data["tier"])


def hit_of(data: Mapping[str, Any], shown: Shown | None = None) -> Hit:
    """Return the hit that `Hit.to_dict` described.

    Of one in mode ``scan`` the dict has no breakdown, signals, raw values and texts: they are empty, and an excerpt is
    one of the snippet.
    """
    parts = tuple(hit_of(part, shown) for part in data.get("parts", ()))
    ranked = {name: data[name] for name in ("id", "score", "confidence", "tier")}
    if "entry" not in data:
        return _light(data, ranked, parts)
    entry = entry_of(data["entry"])
    sought: SoughtParts = ((), (), False)
    around, chars = False, SNIPPET_CHARS
    if shown is not None:
        sought, around, chars = shown
    snippet = entry.description if len(entry.description) <= chars else entry.description[:chars] + "..."
    if shown is not None and around:
        from septet.matches import Sought, passage_of

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
        _origin=None if shown is None else (entry, sought, chars),
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
    """Return what is known of the entry of a light hit: its passage, and where it stands."""
    cited = _CITED.fullmatch(data.get("citation", ""))
    span = None if cited is None else Span(cited[1], int(cited[2]), int(cited[3] or cited[2]))
    return Entry(id=data["id"], title=data["title"], description=data["snippet"], span=span)


def results_of(data: Mapping[str, Any], shown: Callable[[str], Shown] | None = None) -> Results:
    """Return the results that `Results.to_dict` described.

    Args:
        shown: says what whole hits show, by the name of the profile; None leaves `Hit.matches` empty.
    """
    own = None if shown is None or not data["hits"] or data["mode"] == "scan" else shown(data["profile"])
    return Results(
        hits=tuple(hit_of(one, own) for one in data["hits"]),
        query=data["query"],
        profile=data["profile"],
        mode=data["mode"],
        weights=data["weights"],
        confidence=data["confidence"],
        notes=tuple(map(note_of, data["notes"])),
        tiers=tuple(TierReport(**{**one, "error": one["error"] or ""}) for one in data["tiers"]),
        took_ms=data["took_ms"],
        total=data["total"],
        offset=data["offset"],
        understood=data.get("understood"),
        facets={name: facets_of(one) for name, one in data.get("facets", {}).items()},
        matched_by=data.get("matched_by"),
    )


def facets_of(data: Mapping[str, Any]) -> Facets:
    """Return the facets that `Facets.to_dict` described."""
    counts = tuple((one["value"], one["count"]) for one in data["values"])
    numbers = {name: data[name] for name in ("field", "total", "missing", "distinct", "other")}
    return Facets(counts=counts, **numbers)


def page_of(data: Mapping[str, Any]) -> Page:
    """Return the page that `Page.to_dict` described."""
    return Page(tuple(map(entry_of, data["entries"])), data["next"])


def explanation_of(data: Mapping[str, Any]) -> Explanation:
    """Return the explanation that `Explanation.to_dict` described."""
    legs = tuple(LegReport(**leg) for leg in data["legs"])
    notes = tuple(map(note_of, data["notes"]))
    remedy = None if data.get("remedy") is None else Remedy(**data["remedy"])
    more = {"estimated": tuple(data["estimated"]), "legs": legs, "notes": notes, "remedy": remedy}
    return Explanation(**{**data, **more})


def stats_of(data: Mapping[str, Any], path: str) -> Stats:
    """Return the counts that `Stats.to_dict` described; ``path`` stands for that of the server, which it keeps."""
    given = dict(data)
    spaces = [
        Space(number, one["model"], one["dimensions"], "", one["entries"])
        for number, one in enumerate(given["spaces"], start=1)
    ]
    tiers = {name: stats_of(one, path) for name, one in given.get("tiers", {}).items()}
    more = {"path": path, "spaces": spaces, "notes": tuple(map(note_of, given["notes"])), "tiers": tiers}
    return Stats(**{**given, **more})


def weights_of(data: Mapping[str, Any]) -> Weights:
    """Return the weights that `Weights.to_dict` described."""
    return Weights(**data)


def version_of(data: Mapping[str, Any]) -> Version:
    """Return an earlier version of an entry."""
    return Version(
        entry=entry_of(data["entry"]),
        replaced_at=data["replaced_at"],
        call=data["call"],
        changed=tuple(data["changed"]),
    )


def link_of(data: Mapping[str, Any]) -> Link:
    """Return a link."""
    return Link(data["source"], data["target"], data["type"], data["note"])
