"""The commands for other programs: serve, mcp, completion."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.options import COMPLETE_VARIABLE, Embedding
from septet.cli.places import find_embedding
from septet.cli.terminal import say, unguarded
from septet.errors import QueryError, StoreError
from septet.mcp.clients import CLIENTS, block
from septet.system.host import host
from septet.system.session import session

if TYPE_CHECKING:
    from septet.server.access_log import AccessLog

TOKEN_VARIABLE = "SEPTET_TOKEN"
#: Maximum bytes of a token file.
MOST_TOKEN_BYTES = 4_096
#: Maximum seconds between the end of the server and of the process: abandoned work may still occupy a thread.
CLOSE_S = 15.0
SHELLS = ("bash", "zsh", "fish")


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

    Ends at Ctrl-C. Needs the extra server: pip install 'septet[server]'.
    """
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
    session.raise_at_broken_pipes()
    options: Any = {"default_embedder" if embedding is None else "embedder": find_embedding(embedding).embedder}
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
        if host.others_read(file):
            say(f"warning: other users can read {file}: {session.PRIVATE}")
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


@command("embedding", "vault")
def mcp(
    shared: SharedOptions,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tiers and their embedder, instead of --vault. Or SEPTET_CONFIG."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Only offer tools that read.")] = False,
    documented_names: Annotated[
        bool,
        typer.Option("--documented-names", help="memory_search and knowledge_query instead of search and explain."),
    ] = False,
    install: Annotated[
        Literal[tuple(CLIENTS)] | None,  # type: ignore[valid-type]
        typer.Option(
            metavar="PROGRAM",
            help=f"Print the configuration that starts this server from a program: {', '.join(CLIENTS)}.",
        ),
    ] = None,
) -> None:
    """Serve a vault, or the tiers of a configuration, to an agent: MCP over standard input and output.

    Without --vault and --config: your vault, and that of the project (.septet/vault.db) in this folder or above.
    Needs the package mcp: pip install 'septet[mcp]'.
    """
    # --config takes precedence over SEPTET_VAULT.
    file = shared.vault if config is None else None
    if install is not None:
        flags = ["--read-only"] * read_only + ["--documented-names"] * documented_names
        _print_block(install, file, config, shared.embedding, flags)
        return
    try:
        from septet.mcp.stdio import serve_stdio
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise QueryError("`septet mcp` needs the extra: pip install 'septet[mcp]'") from None
    import logging

    from septet.service.opening import opened

    # Standard output carries only the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="septet: %(message)s")
    embedder: Any = {"default_embedder" if shared.embedding is None else "embedder": shared.embedder()}
    with opened(file, config, read_only=read_only, **embedder) as served:
        serve_stdio(served, documented_names=documented_names)


def _print_block(program: str, vault: str | None, config: Path | None, embedding: str | None, flags: list[str]) -> None:
    """Print the configuration block of a program, and the name of its file to standard error."""
    from septet.postgres.store.dsn import is_dsn, without_passwords
    from septet.service.configuration import CONFIG_VARIABLE
    from septet.service.places import expanded

    if vault is None and config is None and (named := os.environ.get(CONFIG_VARIABLE, "").strip()):
        # The program may run in another environment.
        config = Path(named)
    arguments = ["mcp"]
    if vault is not None and is_dsn(vault):
        if without_passwords(vault) != vault:
            raise QueryError(
                "the address contains a password, which would be printed: omit it, and store it in ~/.pgpass"
            )
        arguments += ["--vault", vault]
        vault = None
    for option, path in (("--vault", vault), ("--config", config)):
        if path is not None:
            arguments += [option, str(expanded(Path(path)).absolute())]
    if embedding is not None:
        file = expanded(Path(embedding))
        arguments += ["--embedding", str(file.absolute()) if file.is_file() else embedding]
    arguments += flags
    if any("$" in text for text in arguments):
        say(f"note: a path contains '$', which {program} may expand as a variable")
    if find_spec("mcp") is None:
        say("note: the server needs the extra: pip install 'septet[mcp]'")
    say(f"{CLIENTS[program].place}:")
    out = unguarded(sys.stdout)
    out.write(block(program, arguments))
    out.flush()


def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print a shell script that completes commands, options and ids.

    For bash: eval "$(septet completion bash)" in ~/.bashrc; zsh likewise, after compinit; fish: septet completion
    fish > ~/.config/fish/completions/septet.fish.
    """
    if shell not in SHELLS:
        raise QueryError(f"unsupported shell {shell!r}; available: {', '.join(SHELLS)}")
    from typer._completion_shared import get_completion_script

    print(get_completion_script(prog_name="septet", complete_var=COMPLETE_VARIABLE, shell=shell))
