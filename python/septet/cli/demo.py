"""The demo: index the documentation of this Python or a folder, ask some questions, and explain the ranking."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import septet
from septet.cli import render
from septet.cli.commands.syncing import skipped_lines
from septet.cli.places import demo_vault, shown
from septet.cli.screen import Screen, StyledLine, progress
from septet.cli.stdlib_docs import PREFIX, collect
from septet.cli.terminal import flat, say, say_notes, sentence
from septet.errors import EntryError, QueryError
from septet.files.report import SyncReport, counted
from septet.model.entry import Entry
from septet.model.results import Results
from septet.service.places import make_folder
from septet.service.program import installing
from septet.system.session import session
from septet.vault import Vault

TOP = 5
#: The id that marks a vault of the demo.
MARK = f"{PREFIX}builtins"
#: Number of suggested questions, and of answers to each.
SUGGESTED, ANSWERS = 4, 3
#: Maximum chunks to read for questions.
READ = 5_000
#: Maximum characters of a question.
LONGEST = 72
#: Maximum skipped files to print.
SHOWN = 5

_MARKUP = re.compile(r"[*_`#\[\]<>]+|\([^)]*\)|^[\d.]+\s+")
_HEADING = re.compile(r"^#{2,6} +(.+)$", re.MULTILINE)
_USER = re.compile(r"^User: (?P<text>.*\?)$", re.MULTILINE)
#: Scripts without blanks between words need fewer characters.
_DENSE = re.compile(r"[\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]{3}")
_SENTENCE = re.compile(
    r"(?:^|[.!?]\s+|[。？！])(?P<text>[^\W\d_][^.!?\n|<>{}=。？！]{7,})[.!?\n。？！]",
    re.MULTILINE,
)


#: Each with a domain, or None. Their first answers are right on every supported Python.
QUESTIONS = (
    ("close matches of a misspelled word", None),
    ("a random token that is safe in URLs", None),
    ("leading and trailing whitespace removed", None),
    ("how much free disk space is left", None),
    ("count elements and find the most common", None),
    ("wait for a process to end", "subprocess"),
)

#: Meanings of signals specific to these entries.
MEANING = {
    "severity": "how important: here, documented in its own words rather than inherited ones",
    "temporal_decay": "how recently it changed: here, everything just now",
    "domain_match": "in the domain asked for: here the top-level module, in the last question",
    "graph_proximity": "linked to the best matches: a module to its members, a class to its methods",
}


def run(out: Screen, path: Path | None) -> None:
    """Write the vault, ask the questions, print the results and the next steps (`QueryError`, `StoreError`)."""
    target = path or demo_vault()
    build = _build(target)
    # Closing a writer removes SQLite's WAL files.
    with Vault(target) as vault:
        started = time.perf_counter()
        vault.optimize()
        index_s = build.index_s + time.perf_counter() - started
        answers = [(vault.search(text, limit=TOP, domain=domain), text, domain) for text, domain in QUESTIONS]
    tagline = " searches knowledge in one SQLite file, and shows why each answer ranks where it does."
    out.print(StyledLine(f"Septet {septet.__version__}", "bold").append(tagline))
    out.print(
        f"{build.entries:,} entries and {build.links:,} links: the documentation of this "
        f"{platform.python_implementation()} {platform.python_version()},\n"
        f"read in {build.read_s:.1f} s and indexed in {index_s:.1f} s. "
        "Six questions follow, with the best five answers each.\n"
    )
    out.print("A score, from 0 to 1, is the sum of its bars; a bar is one signal times its weight:")
    render.legend(out, [results for results, _, _ in answers], MEANING)
    for results, text, domain in answers:
        head = StyledLine(f"\n{text}", "bold")
        if domain:
            head.append(f"   --domain {domain}", "dim")
        out.print(head.append(f"   {results.took_ms:.1f} ms", "dim"))
        render.hits(out, results)
    out.print(f"\nThe vault is {shown(target)} ({target.stat().st_size / 1e6:.0f} MB). Continue with:")
    out.print(StyledLine(f'  {command()} search "how do I use argparse" --vault {shown(target)}', "bold"))


class _Build(NamedTuple):
    entries: int
    links: int
    read_s: float
    index_s: float


def _build(target: Path) -> _Build:
    """Write the vault to a temporary file, and move it to the target once complete."""
    if target.exists():
        with Vault(target, read_only=True) as vault:
            if MARK not in vault:
                raise QueryError(f"{target} is a vault of another program: name another file with --path")
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


def command() -> str:
    """Return the shell command that runs this program."""
    if again := installing("cli"):
        return " ".join(map(session.quoted, [Path(again[0]).name, *again[1:]]))
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return f"{session.quoted(sys.executable)} -m septet"
    installed = shutil.which(program.name)
    if installed is not None and Path(installed).resolve() == program.resolve():
        return program.name
    return session.quoted(str(program))


def run_folder(
    out: Screen,
    folder: Path,
    path: Path | None,
    questions: Sequence[str],
    *,
    profile: str | None = None,
    embedding: dict[str, Any] | None = None,
) -> bool:
    """Sync a folder, search it, and print the results; return False if it contains no text.

    Args:
        path: the vault file; None for a vault in memory.
        questions: the queries; empty to suggest some.
        embedding: the embedder arguments of `Vault`.
    """
    if not folder.exists():
        raise EntryError(f"{folder} does not exist: name a folder of Markdown or text")
    if path is not None:
        make_folder(path)
    with Vault(":memory:" if path is None else path, **embedding or {}) as vault:
        with progress("syncing") as step:
            report = vault.sync(folder, progress=step)
        if embedding:
            with progress("embedding") as step:
                notes = vault.embed(progress=step).notes
            say_notes(notes)
        started = time.perf_counter()
        vault.optimize()
        _print_summary(out, vault, report, report.took_s + time.perf_counter() - started)
        if not vault.stats().entries:
            say(f"{folder} contains no Markdown, text or transcript")
            return False
        talk = _Session(out, vault, report.roots[0], profile)
        entries = () if questions else vault.entries({"source": report.roots[0]}, order_by="path", limit=READ)
        questions = questions or suggest_questions(entries)
        if questions:
            talk.answer(questions)
        else:
            say(f"{folder} suggests no question: ask one with --ask")
        if sys.stdin.isatty() and out.is_terminal:
            talk.listen()
    vault_option = "" if path is None else f" --vault {shown(path)}"
    out.print("\nKeep it, and continue with:" if path is None else f"\nThe vault is {shown(path)}. Continue with:")
    for arguments in (f"sync {shown(folder)}", f"search {session.quoted(flat(talk.last) or 'QUESTION')}"):
        out.print(StyledLine(f"  {command()} {arguments}{vault_option}", "bold"))
    return True


def suggest_questions(entries: Iterable[Entry]) -> list[str]:
    """Return some questions in the words of a folder, at first one per file, of long files first.

    Prefers questions of users in transcripts, then headings that occur in one file only, then sentences.
    """
    files: dict[str, list[Entry]] = {}
    for entry in entries:
        files.setdefault(entry.parent or entry.id, []).append(entry)
    by_file = [_candidates(chunks) for chunks in files.values()]
    common = Counter(text.lower() for group in by_file for text in {candidate.text for candidate in group})
    unique = [[candidate for candidate in group if common[candidate.text.lower()] == 1] for group in by_file]
    best = sorted((min(group) for group in unique if group), key=lambda c: (c.rank, -c.chunks, c.text))
    chosen = [candidate.text for candidate in best[:SUGGESTED]]
    rest = sorted(candidate for group in by_file for candidate in group if candidate.text not in chosen)
    return [*chosen, *list(dict.fromkeys(candidate.text for candidate in rest))[: SUGGESTED - len(chosen)]]


class _Candidate(NamedTuple):
    """A possible question; lower is better. ``chunks`` is the number of chunks of its file."""

    rank: int
    distance: int
    text: str
    chunks: int


def _candidates(chunks: Sequence[Entry]) -> list[_Candidate]:
    """Return the possible questions of a file."""
    candidates = []
    for entry in chunks:
        headings = entry.attrs.get("headings") or []
        # Lower headings are more specific than the title of the file. A single # may be a comment in code.
        below = [*headings[1:], *_HEADING.findall(entry.description)]
        for heading, more in [*((heading, 0) for heading in below), *((heading, 20) for heading in headings[:1])]:
            if (text := _plain(str(heading))) and (" " in text or _DENSE.search(text)):
                candidates.append(_Candidate(1, abs(len(text) - 30) + more, text, len(chunks)))
        for rank, pattern in ((0, _USER), (2, _SENTENCE)):
            texts = (_plain(match["text"]) for match in pattern.finditer(entry.description))
            whole = (text for text in texts if text and not text[0].islower())
            if text := next((text for text in whole if text.count(" ") >= 3 or _DENSE.search(text)), ""):
                candidates.append(_Candidate(rank, abs(len(text) - 45), text, len(chunks)))
    return candidates


def _plain(text: str) -> str:
    """Return a text without markup, on one line; empty if it is too short or too long for a question."""
    line = " ".join(_MARKUP.sub(" ", text).split()).strip(" -:,;—")
    letters = sum(map(str.isalpha, line))
    least = 4 if _DENSE.search(line) else 6
    return line if least <= len(line) <= LONGEST and letters > len(line) / 2 and "(" not in line else ""


class _Session:
    """Searches a vault and prints the results."""

    def __init__(self, out: Screen, vault: Vault, source: str, profile: str | None) -> None:
        self._out, self._vault = out, vault
        self._options: dict[str, Any] = {"where": {"source": source}, "limit": ANSWERS, "group_by": "parent"}
        if profile is not None:
            self._options["profile"] = profile
        self.last = ""

    def answer(self, questions: Sequence[str]) -> None:
        """Search for questions, and print a legend and the results."""
        pages = [self._ask(text) for text in questions]
        self._out.print("A score, from 0 to 1, is the sum of its bars; a bar is one signal times its weight:")
        render.legend(self._out, pages, {})
        for number, (text, results) in enumerate(zip(questions, pages)):
            self._print(text, results, detail=not number)

    def listen(self) -> None:
        """Read and answer questions until an empty line."""
        self._out.print(StyledLine("\nAsk something; an empty line ends.", "dim"))
        while text := self._line():
            self._print(text, self._ask(text), detail=True)

    def _line(self) -> str:
        self._out.print(StyledLine("> ", "bold"), end="")
        try:
            return sys.stdin.readline().strip()
        except KeyboardInterrupt:
            return ""

    def _ask(self, text: str) -> Results:
        self.last = text
        return self._vault.search(text, **self._options)

    def _print(self, text: str, results: Results, *, detail: bool) -> None:
        head = StyledLine(f"\n{flat(text)}", "bold")
        self._out.print(head.append(f"   {results.took_ms:.1f} ms", "dim"))
        render.passages(self._out, results, detail=detail)
        for note in results.notes:
            self._out.print(StyledLine(f"       note {sentence(str(note))}", "dim"))
        if not results:
            self._out.print("       nothing found")


def _print_summary(out: Screen, vault: Vault, report: SyncReport, took_s: float) -> None:
    stats = vault.stats()
    tagline = " keeps a vault in sync with a folder, and shows why each passage ranks where it does."
    out.print(StyledLine(f"Septet {septet.__version__}", "bold").append(tagline))
    out.print(
        f"{counted(report.files_seen, 'file')} ({report.bytes / 1e6:.1f} MB) of {flat(report.roots[0])}, read and "
        f"indexed in {took_s:.2f} s: {counted(stats.entries, 'chunk')} and {counted(stats.links, 'link')}.\n"
    )
    for line in skipped_lines(report.skipped, SHOWN):
        out.print(StyledLine(line, "dim"))
    if report.skipped:
        out.print()
