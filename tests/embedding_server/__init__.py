"""A server on loopback that speaks the embedding providers' own formats, and fails when it is told to.

::

    with EmbeddingServer(embed) as server:
        server.script(faults.status(429, headers={"retry-after": "1"}), faults.CUT_BODY)
        ...  # ask server.url
        assert len(server.requests) == 3

Routes are a list: another module adds its own with ``EmbeddingServer(routes=[*ROUTES, *MINE])``.
"""

from embedding_server import faults
from embedding_server.parts import Fault, Reply, Request, Route, text_rows
from embedding_server.providers import ROUTES
from embedding_server.server import EmbeddingServer

__all__ = ["ROUTES", "EmbeddingServer", "Fault", "Reply", "Request", "Route", "faults", "text_rows"]
