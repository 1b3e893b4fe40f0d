"""What items came to at a commit, kept so that what took minutes need not be run again."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from release.checklist.item import Outcome, Work, held

__all__ = ["keep", "kept"]


#: Items that look at what was built, which git does not know.
OF_DIST = {"installed", "foreign"}


def _file(work: Work) -> Path:
    return work.root / "target" / "release-check.json"


def _state(work: Work, name: str) -> str | None:
    """Return the commit, and of an item about dist/ what lies there; None while changes are not committed."""
    try:
        if work.git("status", "--porcelain"):
            return None
        state = work.git("rev-parse", "HEAD")
    except RuntimeError:
        return None
    files = sorted(work.dist.glob("*")) if name in OF_DIST else []
    return " ".join([state, *(f"{file.name}:{sha256(file.read_bytes()).hexdigest()}" for file in files)])


def _read(work: Work) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(_file(work).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def keep(work: Work, name: str, outcome: Outcome) -> None:
    """Remember that an item held at this commit; what failed is forgotten."""
    if (state := _state(work, name)) is None:
        return
    held_at = _read(work)
    held_at.pop(name, None)
    if outcome.state == "ok":
        held_at[name] = {"state": state, "said": outcome.said}
    _file(work).parent.mkdir(parents=True, exist_ok=True)
    _file(work).write_text(json.dumps(held_at, indent=1), encoding="utf-8")


def kept(work: Work, name: str) -> Outcome | None:
    """Return what an item came to at this very commit, if it held then."""
    found = _read(work).get(name)
    if found is None or found.get("state") != _state(work, name):
        return None
    return held(f"{found.get('said', '')} (earlier, at this commit)")
