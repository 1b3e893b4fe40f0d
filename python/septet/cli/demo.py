"""The demo: index the documentation of this Python, ask six questions, and explain the ranking."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import septet
from septet.cli import render
from septet.cli.places import demo_vault, shown
from septet.cli.screen import Screen, StyledLine, progress
from septet.cli.stdlib_docs import PREFIX, collect
from septet.errors import QueryError
from septet.service.places import make_folder
from septet.vault import Vault

TOP = 5
#: The id that marks a vault of the demo.
MARK = f"{PREFIX}builtins"


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the demo, with an optional domain."""

    text: str
    domain: str | None = None


QUESTIONS = (
    Question("run a command and capture its output"),
    Question("make a temporary directory that cleans up after itself"),
    Question("remove whitespace from both ends of a string"),
    Question("read one line from a gzip file"),
    Question("cache the results of a function"),
    Question("wait until a thread terminates", domain="threading"),
)

#: Meanings of signals specific to these entries.
MEANING = {
    "severity": "how important: here, documented in its own words rather than inherited ones",
    "temporal_decay": "how recently it changed: here, everything just now",
    "domain_match": "in the domain asked for: here the top-level module, in the last question",
    "graph_proximity": "linked to the best matches: a module to its members, a class to its methods",
}


def run(out: Screen, path: Path | None) -> None:
    """Write the vault, ask the questions, print the results and the next steps.

    Raises:
        QueryError: the path is a vault of another program.
        StoreError: the vault cannot be written.
    """
    target = path or demo_vault()
    build = _build(target)
    # Closing a writer removes SQLite's WAL files.
    with Vault(target) as vault:
        started = time.perf_counter()
        vault.optimize()
        index_s = build.index_s + time.perf_counter() - started
        answers = [(q, vault.search(q.text, limit=TOP, domain=q.domain)) for q in QUESTIONS]
    out.print(StyledLine(f"Septet {septet.__version__}", "bold").append(_TAGLINE))
    out.print(
        f"{build.entries:,} entries and {build.links:,} links: the documentation of this "
        f"{platform.python_implementation()} {platform.python_version()},\n"
        f"read in {build.read_s:.1f} s and indexed in {index_s:.1f} s. "
        "Six questions follow, with the best five answers each.\n"
    )
    out.print("A score, from 0 to 1, is the sum of its bars; a bar is one signal times its weight:")
    render.legend(out, [results for _, results in answers], MEANING)
    for question, results in answers:
        head = StyledLine(f"\n{question.text}", "bold")
        if question.domain:
            head.append(f"   --domain {question.domain}", "dim")
        out.print(head.append(f"   {results.took_ms:.1f} ms", "dim"))
        render.hits(out, results)
    out.print(f"\nThe vault is {shown(target)} ({target.stat().st_size / 1e6:.0f} MB). Continue with:")
    out.print(StyledLine(f'  {command()} search "how do I use argparse" --vault {shown(target)}', "bold"))


_TAGLINE = " searches knowledge in one SQLite file, and shows why each answer ranks where it does."


@dataclass(frozen=True, slots=True)
class _Build:
    entries: int
    links: int
    read_s: float
    index_s: float


def _build(target: Path) -> _Build:
    """Write the vault to a temporary file, and move it to the target once complete."""
    _refuse_foreign(target)
    make_folder(target)
    fresh = target.with_name(f".{target.name}.{os.getpid()}.new")
    started = time.perf_counter()
    with progress("reading docstrings") as step:
        docs = collect(step)
    read = time.perf_counter()
    try:
        with progress("indexing          ") as step, Vault(fresh, sidecar=False) as vault:
            vault.add_many(docs.entries, progress=step)
            vault.link_many(docs.links)
        indexed = time.perf_counter()
        for leftover in ("-wal", "-shm"):
            Path(f"{target}{leftover}").unlink(missing_ok=True)
        fresh.replace(target)
    finally:
        for part in ("", "-wal", "-shm"):
            Path(f"{fresh}{part}").unlink(missing_ok=True)
    return _Build(len(docs.entries), len(docs.links), read - started, indexed - read)


def _refuse_foreign(target: Path) -> None:
    if not target.exists():
        return
    with Vault(target, read_only=True) as vault:
        if MARK in vault:
            return
    raise QueryError(f"{target} is a vault of another program: name another file with --path")


def command() -> str:
    """Return the shell command that runs this program."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m septet"
    installed = shutil.which(program.name)
    if installed is not None and Path(installed).resolve() == program.resolve():
        return program.name
    return shlex.quote(str(program))
