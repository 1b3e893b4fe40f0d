"""`septet serve`: the vault over HTTP, with a page to look at it."""

from __future__ import annotations

from typing import Annotated

import typer

from septet.cli.options import Embedding, VaultPath
from septet.cli.places import existing
from septet.cli.terminal import say
from septet.errors import QueryError

__all__ = ["serve"]


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 7077,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
) -> None:
    """Serve a vault over HTTP, with a page to search and inspect it; ends at Ctrl-C.

    Needs the packages starlette and uvicorn: pip install 'septet[server]'.
    """
    from septet.cli import settings

    try:
        from septet.server.app import make_app
        from septet.server.running import Server, bound
        from septet.server.settings import Settings
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"starlette", "uvicorn", "anyio"}:
            raise
        raise QueryError("`septet serve` needs the extra: pip install 'septet[server]'") from None
    from septet.service.served import Served

    with existing(vault, read_only=read_only, **settings.find(embedding).embedder) as opened:
        listening = bound(host, port)
        app = make_app(Served(opened, writable=not read_only), Settings())
        Server(app, listening, lambda url: say(f"serving {url}")).serve_until_stopped()
