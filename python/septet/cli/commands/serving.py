"""`septet serve`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.options import Embedding
from septet.cli.terminal import say
from septet.errors import QueryError, StoreError

if TYPE_CHECKING:
    from septet.server.access_log import AccessLog

TOKEN_VARIABLE = "SEPTET_TOKEN"
#: Maximum bytes of a token file.
MOST_TOKEN_BYTES = 4_096
#: Maximum seconds between the end of the server and of the process: abandoned work may still occupy a thread.
CLOSE_S = 15.0


@command("vault")
def serve(
    shared: SharedOptions,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="HOST", help="The address to listen on; addresses beyond this machine require a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65_535, help="The port; 0 takes a free one.")
    ] = 7077,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=f"Contains the token of requests, or lines SCOPE TOKEN. Or {TOKEN_VARIABLE}."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Another accepted host name; repeat for more.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="Maximum time of a request.")] = 30.0,
    grace: Annotated[float, typer.Option(metavar="SECONDS", help="Time for running requests at shutdown.")] = 10.0,
    access_log: Annotated[
        str, typer.Option(metavar="FILE", help="A line of JSON per request; - is standard error, off is none.")
    ] = "-",
    log_queries: Annotated[
        bool, typer.Option("--log-queries", help="Include queries and ids in the access log.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tiers and their embedder, instead of --vault.")
    ] = None,
    embedding: Embedding = None,
    automatic: Annotated[
        bool,
        typer.Option("--embed/--no-embed", help="Embed new texts in the background; one process per vault suffices."),
    ] = True,
) -> None:
    """Serve a vault, or the tiers of a configuration, over HTTP, with a page to search and inspect it.

    Ends at Ctrl-C. Needs the packages starlette and uvicorn: pip install 'septet[server]'.
    """
    from septet.cli import settings

    try:
        from septet.server.app import make_app
        from septet.server.running import Server, bound
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"anyio", "prometheus_client", "starlette", "uvicorn"}:
            raise
        raise QueryError("`septet serve` needs the extra: pip install 'septet[server]'") from None
    from septet.server.settings import Settings
    from septet.service.opening import opened

    allowed = Settings(
        host=host,
        tokens=_tokens(token_file),
        allow_hosts=tuple(allow_host or ()),
        deadline_s=deadline,
        log_queries=log_queries,
    )
    # A disconnecting client must not end the server; `run` sets the default handler for other commands.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    options: Any = {"default_embedder" if embedding is None else "embedder": settings.find(embedding).embedder}
    # --config takes precedence over SEPTET_VAULT.
    file = shared.vault if config is None else None
    options |= {"read_only": read_only, "automatic": automatic}
    with _log(access_log, log_queries) as log, opened(file, config, **options) as served:
        listening = bound(host, port)
        server = Server(make_app(served, allowed, log), listening, lambda url: say(f"serving {url}"), grace_s=grace)
        server.serve_until_stopped()
        if log is not None:
            log.flush()
        say("stopped")
        watchdog = Timer(CLOSE_S, os._exit, [0])
        watchdog.daemon = True
        watchdog.start()


def _tokens(file: Path | None) -> dict[str, str]:
    """Return the scopes by token. Tokens are never options: other users can read command lines.

    Raises:
        StoreError: the file cannot be read.
        QueryError: the file contains no token, or a malformed line.
    """
    from septet.server.guard import tokens_in
    from septet.server.settings import LEAST_TOKEN

    token, source = os.environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE
    if file is not None:
        from septet.inputs.documents import Unreadable, read_bytes

        try:
            token, source = read_bytes(file, MOST_TOKEN_BYTES).decode("ascii").strip(), str(file)
        except Unreadable as fault:
            raise StoreError(f"--token-file {file} {fault}") from None
        except UnicodeDecodeError:
            raise QueryError(f"--token-file {file} is not ASCII") from None
        if file.stat().st_mode & 0o077:
            say(f"warning: other users can read {file}: run chmod 600 on it")
    if token is None:
        return {}
    if not token.strip():
        raise QueryError(f"{source} contains no token")
    tokens = tokens_in(token, source)
    if any(len(text) < LEAST_TOKEN for text in tokens):
        say(f"warning: the token in {source} has fewer than {LEAST_TOKEN} characters and can be guessed")
    return tokens


@contextmanager
def _log(named: str, queries: bool) -> Iterator[AccessLog | None]:
    """Open the access log, and add it to the loggers of the server."""
    import logging

    from septet.server.access_log import AccessLog

    if named == "off":
        yield None
        return
    try:
        stream = sys.stderr if named == "-" else Path(named).open("a", encoding="utf-8")  # noqa: SIM115
    except OSError as fault:
        raise StoreError(f"--access-log {named} cannot be written: {fault.strerror}") from None
    log = AccessLog(stream, queries=queries)
    log.setLevel(logging.WARNING)
    loggers = [logging.getLogger(name) for name in ("septet", "uvicorn", "asyncio")]
    try:
        for logger in loggers:
            logger.addHandler(log)
        yield log
    finally:
        for logger in loggers:
            logger.removeHandler(log)
        log.close()
        if stream is not sys.stderr:
            stream.close()
