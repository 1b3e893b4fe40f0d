"""Ids that are made from texts: what is masked as a secret is in none of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from septet._core import made_id, text_hash

if TYPE_CHECKING:
    from septet.files.redaction import Redactor

__all__ = ["id_of_text", "with_clean_id", "with_clean_ids"]

#: What titles with a secret have: a sign before the value, digits among letters, a word too long to be spoken, or the
#: word before a password of a `.netrc` file.
_SUSPECT = re.compile(r"[=:：@]|(?:^|\s)-|[^\W\d_]\d|\d[^\W\d_]|[\w/+.-]{16,}|\bpassword\b", re.IGNORECASE)


#: Characters of a title that an id is made from, and more than enough around them.
LOOKED_AT = 4_096


def id_of_text(kind: str, title: str, digest: str) -> str:
    """Return the id of an entry that is given none; of a title with a secret, from the words that the mask leaves.

    Args:
        digest: of title, description and context, 32 hexadecimal digits; the end of the id comes from it.
    """
    title = title[:LOOKED_AT]
    return made_id(kind, _rules().redact(title).text if _SUSPECT.search(title) else title, digest)


def with_clean_id(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an entry; where no id is given and the title holds a secret, with an id without it."""
    title = fields.get("title")
    if fields.get("id") is not None or not isinstance(title, str) or not _SUSPECT.search(title[:LOOKED_AT]):
        return fields
    return _cleaned(fields) if _rules().redact(title[:LOOKED_AT]).counts else fields


def with_clean_ids(items: Sequence[object]) -> Sequence[object]:
    """Return entries, as `with_clean_id` does each of those that are dicts."""
    # No function of Python is called for each item.
    titles = {
        at: title[:LOOKED_AT]
        for at, one in enumerate(items)
        if type(one) is dict
        and one.get("id") is None
        and type(title := one.get("title")) is str
        and _SUSPECT.search(title[:LOOKED_AT])
    }
    if not titles:
        return items
    places = list(titles)
    made: list[Any] = list(items)
    for number, _ in _rules().redact_all(list(titles.values())):
        made[places[number]] = _cleaned(made[places[number]])
    return made


def _cleaned(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = ["" if (one := fields.get(name)) is None else one for name in ("title", "description", "context")]
    kind = "entry" if fields.get("kind") is None else fields["kind"]
    try:
        return {**fields, "id": id_of_text(kind, texts[0], text_hash(*texts))}
    except (TypeError, UnicodeEncodeError):
        # The checks of an entry say what is wrong.
        return fields


@lru_cache(1)
def _rules() -> Redactor:
    # They take 70 ms to make ready, and most titles need none.
    from septet.files.redaction import Redactor

    return Redactor()
