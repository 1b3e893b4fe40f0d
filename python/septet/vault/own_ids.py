"""Ids derived from texts, without masked secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from septet._core import made_id, text_hash

if TYPE_CHECKING:
    from septet.files.redaction import Redactor

#: A necessary condition of a title with a secret: a separator before the value, digits among letters, a very long word,
#: or the keyword before a password in a `.netrc` file.
_SUSPECT = re.compile(r"[=:：@]|(?:^|\s)-|[^\W\d_]\d|\d[^\W\d_]|[\w/+.-]{16,}|\bpassword\b", re.IGNORECASE)


#: Maximum characters of a title that are scanned; an id uses far fewer.
LOOKED_AT = 4_096


def id_of_text(kind: str, title: str, digest: str) -> str:
    """Return the id of an entry without one, derived from the title with secrets masked.

    Args:
        digest: hash of title, description and context, 32 hexadecimal digits; its start ends the id.
    """
    title = title[:LOOKED_AT]
    return made_id(kind, _rules().redact(title).text if _SUSPECT.search(title) else title, digest)


def with_clean_id(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an entry, with an id if it has none and its title contains a secret."""
    title = fields.get("title")
    if fields.get("id") is not None or not isinstance(title, str) or not _SUSPECT.search(title[:LOOKED_AT]):
        return fields
    return _cleaned(fields) if _rules().redact(title[:LOOKED_AT]).counts else fields


def with_clean_ids(items: Sequence[object]) -> Sequence[object]:
    """Apply `with_clean_id` to every dict of a block."""
    # No Python call per item, for speed.
    titles = {
        at: title[:LOOKED_AT]
        for at, item in enumerate(items)
        if type(item) is dict
        and item.get("id") is None
        and type(title := item.get("title")) is str
        and _SUSPECT.search(title[:LOOKED_AT])
    }
    if not titles:
        return items
    places = list(titles)
    cleaned: list[Any] = list(items)
    for number, _ in _rules().redact_all(list(titles.values())):
        cleaned[places[number]] = _cleaned(cleaned[places[number]])
    return cleaned


def _cleaned(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = ["" if (text := fields.get(name)) is None else text for name in ("title", "description", "context")]
    kind = "entry" if fields.get("kind") is None else fields["kind"]
    try:
        return {**fields, "id": id_of_text(kind, texts[0], text_hash(*texts))}
    except (TypeError, UnicodeEncodeError):
        # The checks of the entry report the malformed field.
        return fields


@lru_cache(1)
def _rules() -> Redactor:
    # Compiling the rules takes 70 ms, and most titles need none.
    from septet.files.redaction import Redactor

    return Redactor()
