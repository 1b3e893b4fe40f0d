"""Answers as short texts for a model: each result is delimited as data, with its source, never as instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from septet.model.entry import Entry
from septet.model.prompt import ShownHit, line_of, listing_of, sections_of, text_of

#: Fields in the JSON line of a result, besides its source.
_HIT_FIELDS = ("kind", "type", "domain", "severity", "tags", "parent")
_ENTRY_FIELDS = ("kind", "type", "domain", "severity", "tags", "attrs", "valid_from", "valid_until", "parent")
#: Default values of entries; repeating them would waste tokens.
_DEFAULTS: Mapping[str, object] = {"kind": "entry", "type": "note", "domain": "general", "severity": "suggestion"}
#: Attributes that are printed as text.
_TEXT_ATTRS = ("example", "counter_example", "why")
#: The documented headings of corpora, and of the lists of a planned retrieval.
_SECTIONS = {
    "memory": "MEMORY",
    "knowledge_graph": "KNOWLEDGE_GRAPH",
    "document_chunks": "DOCUMENT_CHUNKS",
    "repo_inventory": "REPO",
}
_STATUS = (
    "retrieval_tier",
    "search_intent",
    "selected_mode",
    "memory_hit_count",
    "knowledge_hit_count",
    "chunk_hit_count",
    "repo_hit_count",
    "rrf_fused_hit_count",
    "contradiction_count",
    "evidence_quality",
    "citation_coverage",
    "recommended_next_action",
)


class _EntryTexts(NamedTuple):
    """The texts of an entry that a prompt uses."""

    description: str
    context: str
    attrs: Mapping[str, Any]
    updated_at: float


class _PromptItem(NamedTuple):
    """A result as `septet.model.prompt` reads it."""

    id: str
    title: str
    tier: str
    source: str | None
    trust: str
    citation: str | None
    snippet: str
    entry: Entry | None


def results_text(answer: Mapping[str, Any]) -> str:
    """Return the results of a search."""
    hits = answer["hits"]
    total = answer.get("total")
    total_part = f" of {total}" if total is not None and total > len(hits) else ""
    confidence = f", confidence {answer['confidence']:.2f}" if answer.get("confidence") is not None else ""
    head = f"{len(hits)}{total_part} found{confidence}." if hits else "Nothing was found."
    if any("entry" not in hit for hit in hits):
        head += " These are excerpts: load the ids for full texts."
    return _with_notes(listing_of([_hit(hit) for hit in hits], head=head), answer)


def entries_text(answer: Mapping[str, Any]) -> str:
    """Return full entries."""
    missing = answer["missing"]
    head = f"no entry: {line_of({'ids': missing})}" if missing else ""
    return listing_of([_entry(entry) for entry in answer["entries"]], head=head)


def explanation_text(answer: Mapping[str, Any]) -> str:
    """Return the reasons for the rank of an entry, or for its absence."""
    place = f"rank {answer['rank']}, score {answer['score']:.4f}" if answer["rank"] is not None else "not found"
    lines = [f"{place}: {_line(answer['reason'])}"]
    for leg in answer["legs"]:
        rank = f"rank {leg['rank']} of {leg['of']}" if leg["rank"] is not None else f"no match of {leg['of']}"
        detail = f"; {leg['detail']}" if leg["detail"] else ""
        lines.append(_line(f"{leg['leg']}: {rank}{detail}"))
    if failed := [name for name, passed in answer["filters"].items() if not passed]:
        lines.append(_line(f"failed filters: {', '.join(failed)}"))
    if parts := {name: round(value, 4) for name, value in answer["breakdown"].items() if value}:
        lines.append(f"score by signal: {line_of(parts)}")
    return _with_notes("\n".join(lines) + "\n", answer)


def remembered_text(answer: Mapping[str, Any]) -> str:
    """Return the id of the stored memory, or a suggestion."""
    if "verdict" not in answer:
        return changed_text(answer)
    relation = {"verdict": answer["verdict"], "other": answer["other"], "probability": round(answer["probability"], 2)}
    return f"not stored: {line_of({**relation, 'reason': answer['reason']})}\n"


def changed_text(answer: Mapping[str, Any]) -> str:
    """Return the effect of a write."""
    if "id" in answer:
        return f"stored {line_of({'id': answer['id']})}\n"
    return f"{answer['count']} deleted\n" if "count" in answer else "recorded\n"


def updated_text(answer: Mapping[str, Any]) -> str:
    """Return the id of the changed entry."""
    return f"updated {line_of({'id': answer['id']})}\n"


def status_text(answer: Mapping[str, Any]) -> str:
    """Return the status of the memory as one line of JSON, without empty values."""
    values = {name: value for name, value in answer.items() if name != "profiles" and value not in ({}, [])}
    return f"{line_of(values)}\n"


def documented_text(answer: Mapping[str, Any]) -> str:
    """Return a planned retrieval in its documented form: a line of ``key=value``, then the results by corpus.

    ``fused_rrf`` in the JSON line of a result is its rank in the fused order.
    """
    envelope = answer["envelope"]
    status = _line(" ".join(f"{name}={_value(envelope.get(name))}" for name in _STATUS))
    if not answer["hits"]:
        return _with_notes(f"{status}\nNo results found.\n", answer)
    sections: dict[str, list[ShownHit]] = {heading: [] for heading in _SECTIONS.values()}
    for rank, hit in enumerate(answer["hits"], 1):
        corpus = hit["tier"].partition("/")[0]
        shown = _hit(hit)
        heading = _SECTIONS.get(corpus) or corpus.upper()
        sections.setdefault(heading, []).append(shown._replace(more={"fused_rrf": rank, **shown.more}))
    return _with_notes(f"{status}\n{sections_of([*sections.items()], citations=False)}", answer)


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).lower() if value is not None else "none"


def _hit(hit: Mapping[str, Any]) -> ShownHit:
    entry = hit.get("entry")
    if entry is not None:
        shown = _entry(entry, tier=hit["tier"], citation=hit.get("citation"))
    else:
        item = _PromptItem(
            id=hit["id"],
            title=hit.get("title", ""),
            tier=hit["tier"],
            source=hit.get("source"),
            trust=hit.get("trust", "untrusted"),
            citation=hit.get("citation"),
            snippet=hit.get("snippet", ""),
            entry=None,
        )
        shown = ShownHit(item, text_of(item), _more(hit, _HIT_FIELDS))
    if hit.get("confidence") is not None:
        shown = shown._replace(more={**shown.more, "confidence": round(hit["confidence"], 3)})
    return shown


def _entry(entry: Mapping[str, Any], *, tier: str = "", citation: str | None = None) -> ShownHit:
    span = entry.get("span")
    if citation is None and span is not None:
        citation = f"{span['path']}:{span['first_line']}-{span['last_line']}"
    attrs = entry.get("attrs", {})
    texts = _EntryTexts(entry["description"], entry["context"], attrs, entry["updated_at"])
    item = _PromptItem(
        id=entry["id"],
        title=entry["title"],
        tier=tier,
        source=entry.get("source"),
        trust=entry["trust"],
        citation=citation,
        snippet="",
        entry=cast("Entry", texts),
    )
    other_attrs = {name: value for name, value in attrs.items() if name not in _TEXT_ATTRS}
    return ShownHit(item, text_of(item), _more({**entry, "attrs": other_attrs}, _ENTRY_FIELDS))


def _more(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, object]:
    return {name: value for name in names if (value := values.get(name)) and _DEFAULTS.get(name) != value}


def _with_notes(text: str, answer: Mapping[str, Any]) -> str:
    lines = [f"note {item['code']}: {item['cause']}; {item['cure']}" for item in answer.get("notes", ())]
    return text + "".join(f"{_line(note)}\n" for note in dict.fromkeys(lines))


def _line(text: str) -> str:
    """Return a text with line breaks and unprintable characters replaced by blanks."""
    return "".join(c if c.isprintable() else " " for c in text)
