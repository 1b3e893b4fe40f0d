"""The check of `septet doctor --recall`: searches by lists of vectors, compared with exact ones."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

from septet.cli.exits import STORE
from septet.cli.vault_checks import Check, rebuild_sidecar
from septet.errors import StoreError
from septet.evaluation.measures import wilson
from septet.files.report import counted
from septet.service.places import default_vault
from septet.sqlite.snapshot.listed import NEAREST, ListedRecall, measured_recalls
from septet.sqlite.snapshot.maintenance import LEAST_LISTED
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.store.store import SqliteStore

#: The share of the nearest vectors to search for.
RECALL = 0.99


def recall_check(path: Path | None, queries: int) -> Check:
    """Measure the recall of searches by lists, for some vectors of each model.

    Args:
        queries: number of vectors to search for.
    """
    path = path or default_vault()
    if not path.exists():
        return Check("recall", "none", "not measured: there is no vault", {"spaces": []})
    try:
        with closing(SqliteStore(str(path), read_only=True)) as store:
            manager = SnapshotManager(Sidecar(str(path), read_only=True))
            measured = measured_recalls(store, manager, queries, RECALL)
    except (StoreError, OSError, ValueError) as fault:
        return Check("recall", "fault", f"not measured: {fault}", {"spaces": []}, STORE)
    facts = {"wanted": RECALL, "spaces": [_facts(space) for space in measured]}
    summary = "; ".join(map(_summary, measured)) or "not measured: there are no vectors"
    if any(space.lists and wilson(space.hits, space.nearest)[1] < RECALL for space in measured):
        cure = "make new lists"
        return Check("recall", "fault", summary, facts, STORE, cure, partial(rebuild_sidecar, path))
    return Check("recall", "ok" if any(space.nearest for space in measured) else "none", summary, facts)


def _facts(measured: ListedRecall) -> dict[str, object]:
    space = measured.space
    facts: dict[str, object] = {
        "model": space.model,
        "dimensions": space.dimensions,
        "vectors": space.entries,
        "lists": measured.lists,
        "queries": measured.queries,
    }
    if not measured.nearest:
        return {**facts, "recall": None, "low": None, "high": None, "certain": None}
    low, high = wilson(measured.hits, measured.nearest)
    recall, certain = measured.hits / measured.nearest, measured.certain / measured.queries
    return {**facts, "recall": recall, "low": low, "high": high, "certain": certain}


def _summary(measured: ListedRecall) -> str:
    space = measured.space
    if not measured.lists:
        cure = "; `septet optimize` makes them" if space.entries >= LEAST_LISTED else ""
        return f"{space.model} has no lists, so searches are exact{cure}"
    if not measured.nearest:
        return f"{space.model} has no second vector to find"
    low, high = wilson(measured.hits, measured.nearest)
    recall, certain = measured.hits / measured.nearest, measured.certain / measured.queries
    return (
        f"{recall:.4f} ({low:.4f} to {high:.4f}) of the {NEAREST} nearest of {counted(measured.queries, 'vector')} of "
        f"{space.model}, for a recall of {RECALL}; {certain:.0%} of the answers are certain"
    )
