"""What items came to at a commit, kept so that what took minutes need not be run again."""

from __future__ import annotations

import json
from pathlib import Path

from release.checklist.item import Outcome, Work, held

__all__ = ["keep", "kept"]


def _file(work: Work) -> Path:
    return work.root / "target" / "release-check.json"


def _state(work: Work) -> str | None:
    """Return the commit; None while anything is changed, of which nothing is known later."""
    try:
        return None if work.git("status", "--porcelain") else work.git("rev-parse", "HEAD")
    except RuntimeError:
        return None


def _read(work: Work) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(_file(work).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def keep(work: Work, name: str, outcome: Outcome) -> None:
    """Remember that an item held at this commit; what failed is forgotten."""
    if (commit := _state(work)) is None:
        return
    held_at = _read(work)
    held_at.pop(name, None)
    if outcome.state == "ok":
        held_at[name] = {"commit": commit, "said": outcome.said}
    _file(work).parent.mkdir(parents=True, exist_ok=True)
    _file(work).write_text(json.dumps(held_at, indent=1), encoding="utf-8")


def kept(work: Work, name: str) -> Outcome | None:
    """Return what an item came to at this very commit, if it held then."""
    found = _read(work).get(name)
    if found is None or found.get("commit") != _state(work):
        return None
    return held(f"{found.get('said', '')} (earlier, at this commit)")
