"""Entries that are alike: when two are, and what one entry is made of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from septet.errors import EntryError
from septet.inputs.arguments import exact, real, shown
from septet.model.drafts import merged_attrs
from septet.model.entry import SEVERITIES, Entry
from septet.model.fields import OnSimilar
from septet.ranking.pool import Candidate
from septet.sqlite.tables.entries import EntryRow

__all__ = ["KEEP", "SIMILARITY", "Near", "chars", "merged_fields", "nearness", "row_entry", "said_again"]

#: Without a word entries are not compared.
KEEP: OnSimilar = "keep"
#: From this cosine on two entries are alike.
SIMILARITY = 0.95


class Near(NamedTuple):
    """What is done about near-duplicates, and from which similarity on two entries are such."""

    what: str
    least: float


def nearness(on_similar: object, similarity: object) -> Near | None:
    """Return what is done about near-duplicates; None where nothing is.

    Raises:
        EntryError: no such way, or the similarity is no number from 0 to 1.
    """
    least, given = real(similarity, "similarity", EntryError, 0, 1), exact(on_similar)
    if not isinstance(given, str) or given not in get_args(OnSimilar):
        raise EntryError(f"on_similar is {shown(on_similar)}: wanted one of {', '.join(get_args(OnSimilar))}")
    return None if given == "keep" else Near(given, least)


def row_entry(row: EntryRow) -> Entry:
    """Return a row on its way in as an entry."""
    columns: Any = (0, *row[:9], row.attrs, *row[11:21])
    return Candidate._make(columns).to_entry()


def merged_fields(old: Entry, new: Entry, *, longer: bool) -> Mapping[str, Any]:
    """Return the fields of an entry that change when another one is merged into it.

    Args:
        longer: the text of the other one takes the place of its own, with the lines and the source that it is from.
    """
    own = ("title", "description", "context", "span", "source") if longer else ()
    starts, ends = (old.valid_from, new.valid_from), (old.valid_until, new.valid_until)
    return {
        **{name: getattr(new, name) for name in own},
        "tags": tuple(dict.fromkeys((*old.tags, *new.tags))),
        "attrs": merged_attrs(old.attrs, new.attrs),
        "severity": min(old.severity, new.severity, key=SEVERITIES.index),
        "created_at": min(old.created_at, new.created_at),
        "updated_at": max(old.updated_at, new.updated_at),
        "valid_from": None if None in starts else min(starts),  # type: ignore[type-var]
        "valid_until": None if None in ends else max(ends),  # type: ignore[type-var]
    }


def chars(entry: Entry) -> int:
    """Return how long the texts of an entry are."""
    return len(entry.title) + len(entry.description) + len(entry.context)


def said_again(known: Entry, made: Entry, given: Mapping[str, object]) -> dict[str, Any] | None:
    """Return what an entry of a known text becomes by the fields that are given with it; None if its text is another.

    What is not given stays: a text that is only repeated gets no more trust than it had, and keeps its end.

    Args:
        made: the entry that the text and the fields would make.
        given: fields by name; None is not given, and neither are no tags.
    """
    if (known.title, known.description) != (made.title, made.description):
        return None
    names = [name for name, value in given.items() if value is not None] + ["tags"] * bool(made.tags)
    return {name: getattr(made, name) for name in names if getattr(known, name) != getattr(made, name)}
