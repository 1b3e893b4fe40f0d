"""The page that a package index shows: the README, with addresses that lead there from anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message

__all__ = ["absolute", "source_of"]

#: What stands in the metadata for the entry of `[project.urls]` in pyproject.toml that names the repository.
_SOURCE = re.compile(r"Source\s*,\s*(https://\S+?)/?")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)(\[[^\[\]]*\])\(([^()\s]+)\)")
#: Addresses that are whole, or lead to a heading of the page itself.
_WHOLE = re.compile(r"#|[a-z][a-z0-9+.-]*:")


def source_of(metadata: Message) -> str | None:
    """Return the address of the repository that the metadata names, or None."""
    found = (_SOURCE.fullmatch(value.strip()) for value in metadata.get_all("Project-URL", []))
    return next((match[1] for match in found if match), None)


def absolute(text: str, source: str, version: str) -> str:
    """Return the page with links to files as addresses in the repository, at the tag of the version."""

    def led(link: re.Match[str]) -> str:
        image, words, target = link.groups()
        if _WHOLE.match(target):
            return link[0]
        return f"{image}{words}({source}/{'raw' if image else 'blob'}/v{version}/{target.removeprefix('./')})"

    # What stands between fences is code and shows itself.
    parts = _FENCED.split(text)
    return "".join(part if number % 2 else _LINK.sub(led, part) for number, part in enumerate(parts))
