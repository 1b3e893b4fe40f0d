"""The operations of a server by name: verb, path, True if read-only. `septet.service.operations` has the same table."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ROUTES"]

#: ``{id}`` is a field of the request. Read-only operations may be retried after a failed connection.
ROUTES: Mapping[str, tuple[str, str, bool]] = {
    "search": ("POST", "/v1/search", True),
    "search_many": ("POST", "/v1/search_many", True),
    "recall": ("POST", "/v1/recall", True),
    "retrieve": ("POST", "/v1/retrieve", True),
    "explain": ("POST", "/v1/explain", True),
    "similar": ("POST", "/v1/similar", True),
    "weights": ("POST", "/v1/weights", True),
    "stats": ("GET", "/v1/stats", True),
    "status": ("GET", "/v1/status", True),
    "load": ("POST", "/v1/load", True),
    "ids_beginning": ("POST", "/v1/ids", True),
    "entries": ("POST", "/v1/list", True),
    "count": ("POST", "/v1/count", True),
    "facets": ("POST", "/v1/facets", True),
    "history": ("POST", "/v1/history", True),
    "links": ("POST", "/v1/links/of", True),
    "tier": ("POST", "/v1/tier", True),
    "add": ("POST", "/v1/entries", False),
    "bulk": ("POST", "/v1/bulk", False),
    "update": ("PATCH", "/v1/entries/{id}", False),
    "update_many": ("POST", "/v1/update_many", False),
    "delete": ("POST", "/v1/delete", False),
    "remember": ("POST", "/v1/memories", False),
    "forget": ("POST", "/v1/forget", False),
    "supersede": ("POST", "/v1/supersede", False),
    "reinstate": ("POST", "/v1/reinstate", False),
    "link": ("POST", "/v1/links", False),
    "link_many": ("POST", "/v1/link_many", False),
    "unlink": ("POST", "/v1/unlink", False),
    "feedback": ("POST", "/v1/feedback", False),
}
