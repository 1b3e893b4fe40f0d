"""The table of commands: each entry names a module, loaded on demand, and a function in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["COMMANDS", "PAGED", "SECTIONS", "function"]

#: The commands by the headings of the help: the name, then module and function.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Begin": {
        "demo": "vaults.demo",
    },
    "Ask": {
        "search": "searching.search",
        "explain": "searching.explain",
        "similar": "searching.similar",
        "recall": "searching.recall",
        "context": "searching.context",
        "feedback": "searching.feedback",
        "retrieve": "retrieving.retrieve",
        "plan": "retrieving.plan",
        "eval": "evaluation.evaluate",
        "tune": "evaluation.tune",
    },
    "Read and write entries": {
        "get": "reading.get",
        "list": "reading.list_",
        "count": "reading.count",
        "facets": "reading.facets",
        "add": "writing.add",
        "remember": "writing.remember",
        "edit": "editing.edit",
        "update": "writing.update",
        "delete": "writing.delete",
        "forget": "writing.forget",
        "link": "writing.link",
        "unlink": "writing.unlink",
        "links": "reading.links",
        "history": "reading.history",
    },
    "Folders": {
        "sync": "syncing.sync",
        "watch": "syncing.watch",
        "status": "syncing.status",
        "forget-root": "syncing.forget_root",
    },
    "Vaults": {
        "stats": "reading.stats",
        "tiers": "vaults.tiers",
        "import": "copying.import_",
        "export": "copying.export",
        "optimize": "vaults.optimize",
        "backup": "copying.backup",
        "restore": "copying.restore",
        "redact": "vaults.redact",
        "push": "postgres.push",
        "pull": "postgres.pull",
        "postgres": "postgres.postgres",
    },
    "Other programs": {
        "completion": "serving.completion",
        "serve": "serving.serve",
        "mcp": "serving.mcp",
        "hooks": "hooks.hooks",
    },
    "Embedding": {
        "embed": "embedding.embed",
        "models": "embedding.models",
        "doctor": "embedding.doctor",
    },
}
#: Commands with long output and no prompts.
PAGED = frozenset(
    "search context explain retrieve plan get list similar facets history links tiers stats status eval tune models "
    "doctor".split()
)
COMMANDS: Mapping[str, str] = {name: place for section in SECTIONS.values() for name, place in section.items()}


def function(name: str) -> Callable[..., None]:
    """Load the module of a command and return its function."""
    module, _, attribute = COMMANDS[name].rpartition(".")
    command: Callable[..., None] = getattr(import_module(f"{__name__}.{module}"), attribute)
    return command
