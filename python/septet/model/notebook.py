"""Notebook output: small HTML tables, legible in light and dark themes, and rows for data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from septet.errors import SeptetError
from septet.inputs.times import utc_time

#: Characters of a passage in a table.
PASSAGE = 160
#: Hits and entries that a table shows.
MOST_ROWS = 50
#: Colours of signals, distinguishable on white and on black.
COLOURS = ("#3b82f6", "#10b981", "#f59e0b", "#ef4444", "#8b5cf6", "#14b8a6", "#ec4899", "#84cc16")
_TABLE = "border-collapse:collapse;margin:0;font-size:90%;color:inherit;background:transparent"
# Keeps numbers and headings on one line.
_CELL = (
    "text-align:left;vertical-align:top;padding:.25em .6em;border-bottom:1px solid rgba(128,128,128,.35);"
    "overflow-wrap:normal;word-break:normal"
)
_MARKS = ('<mark style="background:rgba(250,190,0,.4);color:inherit">', "</mark>")
_FAINT = "opacity:.7"
_SWATCH = "display:inline-block;width:.7em;height:.7em"
#: Breaks long paths and names, so that a table fits its page.
_BROKEN = "overflow-wrap:anywhere;min-width:8em"
#: Columns converted to times.
#: Fields of a hit in its row.
_HIT = (
    *(
        "id",
        "title",
        "score",
        "confidence",
        "citation",
        "snippet",
        "kind",
        "type",
        "domain",
        "severity",
        "tags",
        "tier",
    ),
    *("source", "trust"),
)
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")


def rows_of(shown: Any) -> list[dict[str, Any]]:
    """Return flat rows, one per hit, entry, query or measure."""
    return _ROWS[shown._shown_as](shown)


def frame_of(shown: Any) -> Any:
    """Return the rows as a data frame, times as UTC; raise `SeptetError` without pandas."""
    try:
        import pandas  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise SeptetError("to_pandas() needs pandas: pip install pandas; to_dicts() returns the same rows") from None
    frame = pandas.DataFrame(rows_of(shown))
    for name in frame.columns.intersection(list(_TIMES)):
        frame[name] = pandas.to_datetime(frame[name], unit="s", utc=True, errors="coerce")
    return frame


def html_of(shown: Any) -> str:
    """Return the HTML of a value."""
    return _HTML[shown._shown_as](shown)


def _hit_row(rank: int, hit: Any) -> dict[str, Any]:
    return {"rank": rank, **{name: getattr(hit, name) for name in _HIT}, "tags": list(hit.tags)}


def _measure_rows(comparison: Any) -> list[dict[str, Any]]:
    rows = comparison.to_dict()["differences"].values()
    return [{**row, "significant": comparison[row["measure"]].significant} for row in rows]


def _entry_row(entry: Any) -> dict[str, Any]:
    names = ("id", "title", "description", "kind", "type", "domain", "severity")
    row = {name: getattr(entry, name) for name in names}
    row |= {"tags": list(entry.tags), "citation": entry.citation, "source": entry.source, "trust": entry.trust}
    return row | {name: getattr(entry, name) for name in _TIMES}


def _hits_html(shown: Any) -> str:
    query = getattr(shown, "query", "")
    head = f"{len(shown):,} for “{query[:PASSAGE]}”" if query else f"{len(shown):,} hits"
    names = list(dict.fromkeys(name for hit in shown.hits[:MOST_ROWS] for name in _raising(hit.breakdown)))
    rows = []
    for rank, hit in enumerate(shown.hits[:MOST_ROWS], 1):
        where = _faint(" · ".join(filter(None, [hit.citation or hit.id, hit.tier if hit.tier != "vault" else ""])))
        title, passage = _broken(f"<b>{escape(hit.title)}</b><br>{where}"), _broken(_passage(hit))
        rows.append((str(rank), f"{hit.score:.3f}", _bar(hit.breakdown, names), title, passage))
    table = _table(("", "score", "", "title", "passage"), rows)
    return _captioned(head, table + _left(len(shown)) + _legend(names) + _notes(shown.notes))


def _hit_html(hit: Any) -> str:
    facts: dict[str, str | None] = {"score": f"{hit.score:.4f}", "confidence": f"{hit.confidence:.2f}", "id": hit.id}
    facts |= {"tier": hit.tier, "where": hit.citation, "tags": ", ".join(hit.tags), "trust": hit.trust}
    names = _raising(hit.breakdown)
    about = " · ".join(f"{name} {escape(value)}" for name, value in facts.items() if value)
    bar = f"{_bar(hit.breakdown, names)}{_legend(names)}"
    return _captioned(hit.title, f"<div>{_passage(hit)}</div>{bar}{_faint_html(about)}")


def _page_html(page: Any) -> str:
    rows = []
    for entry in page.entries[:MOST_ROWS]:
        facts = (entry.citation or entry.id, entry.kind, ", ".join(entry.tags), _day(entry.updated_at))
        rows.append((_broken(f"<b>{escape(entry.title)}</b>"), *(_broken(escape(fact)) for fact in facts)))
    more = "" if page.next is None else _faint("more follow: after=page.next")
    table = _table(("title", "id", "kind", "tags", "changed"), rows)
    return _captioned(f"{len(page):,} entries", table + _left(len(page)) + more)


def _entry_html(entry: Any) -> str:
    names = ("id", "kind", "type", "domain", "severity")
    facts: dict[str, str | None] = {name: getattr(entry, name) for name in names}
    facts |= {"tags": ", ".join(entry.tags), "where": entry.citation, "source": entry.source, "trust": entry.trust}
    rows = [(name, value) for name, value in facts.items() if value]
    rows.append(("changed", _day(entry.updated_at)))
    text = entry.description[: 4 * PASSAGE] + ("…" if len(entry.description) > 4 * PASSAGE else "")
    passage = f'<div style="white-space:pre-wrap">{escape(text)}</div>' if text else ""
    return _captioned(entry.title, passage + _table(("", ""), _escaped(rows)))


def _explanation_html(why: Any) -> str:
    rows = []
    for name, part in why.breakdown.items():
        value, weight = why.signals.get(name), why.weights.get(name)
        numbers = "" if weight is None else f"{weight:.3f}", "unknown" if value is None else f"{value:.3f}"
        rows.append((name, *numbers, f"{part:+.3f}"))
    names = _raising(why.breakdown)
    reason = escape(why.reason) + ("" if why.remedy is None else f"<br>{escape(why.remedy.text)}")
    filters = [f"{name}: {'passes' if ok else 'fails'}" for name, ok in why.filters.items()]
    legs = [f"{leg.leg}: " + (f"rank {leg.rank} of {leg.of}" if leg.rank else "no match") for leg in why.legs]
    table = _table(("signal", "weight", "value", "part"), _escaped(rows)) if rows else ""
    facts = _faint(" · ".join([*filters, *legs]))
    head = f"{why.id} for “{why.query[:PASSAGE]}”"
    return _captioned(head, f"<div>{reason}</div>{_bar(why.breakdown, names)}{table}{facts}")


def _evaluation_html(shown: Any) -> str:
    means = [(name, f"{value:.4f}") for name, value in shown.means.items()]
    head = f"{shown.profile} over {len(shown.per_query):,} queries"
    return _captioned(head, _table(("measure", "mean"), _escaped(means)))


def _comparison_html(shown: Any) -> str:
    rows = [
        (d.measure, f"{d.before:.4f}", f"{d.after:.4f}", f"{d.difference:+.4f}", f"{d.low:+.4f} to {d.high:+.4f}",
         f"{d.p:.4f}", f"{d.wins}/{d.ties}/{d.losses}")
        for d in shown.differences.values()
    ]  # fmt: skip
    head = f"{shown.profile} compared with {shown.baseline}, {shown.queries:,} queries"
    columns = ("measure", "before", "after", "change", "95 %", "p", "better/same/worse")
    return _captioned(head, _table(columns, _escaped(rows)))


def _passage(hit: Any) -> str:
    if hit._origin is None:
        return escape(hit.snippet)
    return str(hit.excerpt(PASSAGE, marks=_MARKS, escape=escape))


def _raising(parts: Mapping[str, float]) -> list[str]:
    """Return the signals that raise a score."""
    return [name for name, part in parts.items() if part > 0]


def _bar(parts: Mapping[str, float], names: Sequence[str]) -> str:
    """Return the parts of a score as one bar, as wide as the score."""
    pieces = "".join(
        f'<span title="{escape(name)} {parts[name]:.3f}" style="display:inline-block;height:.8em;'
        f'width:{8 * min(parts[name], 1):.3f}em;background:{COLOURS[at % len(COLOURS)]}"></span>'
        for at, name in enumerate(names)
        if parts.get(name, 0) > 0
    )
    return f'<div style="white-space:nowrap;min-width:8em">{pieces}</div>'


def _legend(names: Sequence[str]) -> str:
    items = "&emsp;".join(
        f'<span style="{_SWATCH};background:{COLOURS[at % len(COLOURS)]}"></span> {escape(name)}'
        for at, name in enumerate(names)
    )
    return f'<div style="font-size:85%">{items}</div>' if items else ""


def _notes(notes: Iterable[object]) -> str:
    return "".join(f"<div>note {escape(str(note))}</div>" for note in notes)


def _left(count: int) -> str:
    return _faint(f"and {count - MOST_ROWS:,} more") if count > MOST_ROWS else ""


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already."""
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in columns) if any(columns) else ""
    body = "".join(f"<tr>{''.join(f'<td style={_CELL!r}>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table style="{_TABLE}">{f"<thead><tr>{head}</tr></thead>" if head else ""}<tbody>{body}</tbody></table>'


def _escaped(rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    return [tuple(escape(str(cell)) for cell in row) for row in rows]


def _captioned(head: str, inner: str) -> str:
    return f'<div style="color:inherit;overflow-wrap:anywhere"><div><b>{escape(head)}</b></div>{inner}</div>'


def _broken(inner: str) -> str:
    return f'<div style="{_BROKEN}">{inner}</div>'


def _faint(text: str) -> str:
    return _faint_html(escape(text)) if text else ""


def _faint_html(inner: str) -> str:
    return f'<span style="{_FAINT}">{inner}</span>'


def _day(seconds: float) -> str:
    try:
        return f"{utc_time(seconds):%Y-%m-%d}"
    except (OverflowError, OSError, ValueError):
        return ""


#: By `_shown_as` of the class.
_HTML: Mapping[str, Callable[[Any], str]] = {
    "hits": _hits_html,
    "hit": _hit_html,
    "page": _page_html,
    "entry": _entry_html,
    "explanation": _explanation_html,
    "evaluation": _evaluation_html,
    "comparison": _comparison_html,
}
_ROWS: Mapping[str, Callable[[Any], list[dict[str, Any]]]] = {
    "hits": lambda hits: [_hit_row(rank, hit) for rank, hit in enumerate(hits.hits, 1)],
    "page": lambda page: [_entry_row(entry) for entry in page.entries],
    "evaluation": lambda evaluation: [{"query": id, **values} for id, values in evaluation.per_query.items()],
    "comparison": _measure_rows,
}
