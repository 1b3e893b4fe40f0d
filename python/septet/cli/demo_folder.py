"""The demo with a folder: take it in, ask it a few questions of its own, and show where the answers stand and why."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import septet
from septet.cli import render
from septet.cli.commands.syncing import left_out
from septet.cli.places import make_folder, shown
from septet.cli.progress import progress
from septet.cli.screen import Line, Screen
from septet.cli.terminal import flat, say, say_notes, sentence
from septet.errors import EntryError
from septet.files.report import SyncReport, counted
from septet.model.entry import Entry
from septet.model.results import Results
from septet.vault import Vault

__all__ = ["asked_of", "run"]

#: How many questions it asks by itself, and how many answers it shows to each.
QUESTIONS, TOP = 4, 3
#: So many chunks are read to find questions in.
READ = 5_000
#: A question has so many characters at most.
LONGEST = 72
#: Files that were left out and are named.
SHOWN = 5

_MARKUP = re.compile(r"[*_`#\[\]<>]+|\([^)]*\)|^[\d.]+\s+")
_HEADING = re.compile(r"^#{2,6} +(.+)$", re.MULTILINE)
_USER = re.compile(r"^User: (?P<said>.*\?)$", re.MULTILINE)
#: Scripts without blanks say in few characters what others say in words.
_DENSE = re.compile(r"[\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]{3}")
_SENTENCE = re.compile(
    r"(?:^|[.!?]\s+|[。？！])(?P<said>[^\W\d_][^.!?\n|<>{}=。？！]{7,})[.!?\n。？！]",
    re.MULTILINE,
)


def run(
    out: Screen,
    folder: Path,
    path: Path | None,
    questions: Sequence[str],
    *,
    command: str,
    profile: str | None = None,
    embedding: dict[str, Any] | None = None,
) -> bool:
    """Take a folder into a vault, ask, and print the answers; return whether there was anything to ask.

    Args:
        path: the file of the vault; None keeps it in memory.
        questions: None of its own are asked if there are any.
        command: that runs this program.
        profile: the ranking of the answers; None takes the default.
        embedding: the arguments of a vault with an embedder.

    Raises:
        EntryError: there is no such folder.
        StoreError: the vault cannot be written.
    """
    if not folder.exists():
        raise EntryError(f"{folder} is not there: name a folder of Markdown or text")
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
        _print_taken(out, vault, report, report.took_s + time.perf_counter() - started)
        if not vault.stats().entries:
            say(f"{folder} has no Markdown, text or transcript to ask")
            return False
        asking = _Asking(out, vault, report.roots[0], profile)
        questions = questions or asked_of(vault.entries({"source": report.roots[0]}, order_by="path", limit=READ))
        if questions:
            asking.answer(questions)
        else:
            say(f"{folder} suggests no question: ask one of your own with --ask")
        if sys.stdin.isatty() and out.is_terminal:
            asking.listen()
    _print_next(out, folder, path, command, asking.last)
    return True


def asked_of(entries: Iterable[Entry]) -> list[str]:
    """Return a few questions that a folder can answer, in its own words: one of a file, of long files first.

    They are what users asked in transcripts, else headings that stand in one file only, else sentences.
    """
    files: dict[str, list[Entry]] = {}
    for entry in entries:
        files.setdefault(entry.parent or entry.id, []).append(entry)
    found = {file: _candidates(chunks) for file, chunks in files.items()}
    common = Counter(text.lower() for own in found.values() for text in {one.text for one in own})
    best = [min(one for one in own if common[one.text.lower()] == 1) for own in found.values() if _any_own(own, common)]
    chosen = [one.text for one in sorted(best, key=lambda one: (one.rank, -one.chunks, one.text))[:QUESTIONS]]
    rest = sorted(one for own in found.values() for one in own if one.text not in chosen)
    return [*chosen, *list(dict.fromkeys(one.text for one in rest))[: QUESTIONS - len(chosen)]]


class _Candidate(NamedTuple):
    """What one could ask: the lower, the better. ``chunks`` is how many its file has."""

    rank: int
    distance: int
    text: str
    chunks: int


def _any_own(own: Iterable[_Candidate], common: Counter[str]) -> bool:
    return any(common[one.text.lower()] == 1 for one in own)


def _candidates(chunks: Sequence[Entry]) -> list[_Candidate]:
    """Return what one could ask of a file."""
    found = []
    for entry in chunks:
        headings = entry.attrs.get("headings") or []
        # One below others says more than the title of the file. A single # may begin a comment among code.
        below = [*headings[1:], *_HEADING.findall(entry.description)]
        for heading, more in [*((heading, 0) for heading in below), *((heading, 20) for heading in headings[:1])]:
            if (text := _plain(str(heading))) and (" " in text or _DENSE.search(text)):
                found.append(_Candidate(1, abs(len(text) - 30) + more, text, len(chunks)))
        for rank, pattern in ((0, _USER), (2, _SENTENCE)):
            said = (_plain(match["said"]) for match in pattern.finditer(entry.description))
            if text := next((text for text in said if text and not text[0].islower() and _is_long(text)), ""):
                found.append(_Candidate(rank, abs(len(text) - 45), text, len(chunks)))
    return found


def _is_long(text: str) -> bool:
    return text.count(" ") >= 3 or _DENSE.search(text) is not None


def _plain(text: str) -> str:
    """Return a text without markup, on one line; empty if it is too short or too long for a question."""
    line = " ".join(_MARKUP.sub(" ", text).split()).strip(" -:,;—")
    letters = sum(map(str.isalpha, line))
    least = 4 if _DENSE.search(line) else 6
    return line if least <= len(line) <= LONGEST and letters > len(line) / 2 and "(" not in line else ""


class _Asking:
    """Asks a vault and prints the answers."""

    def __init__(self, out: Screen, vault: Vault, source: str, profile: str | None) -> None:
        self._out, self._vault = out, vault
        self._options: dict[str, Any] = {"where": {"source": source}, "limit": TOP, "group_by": "parent"}
        if profile is not None:
            self._options["profile"] = profile
        self.last = ""

    def answer(self, questions: Sequence[str]) -> None:
        """Ask questions, and print their answers with a legend above."""
        pages = [self._ask(text) for text in questions]
        self._out.print("A score, from 0 to 1, is the sum of its bars; a bar is one signal times its weight:")
        render.legend(self._out, pages, {})
        for number, (text, results) in enumerate(zip(questions, pages)):
            self._print(text, results, detail=not number)

    def listen(self) -> None:
        """Ask what somebody types, until an empty line."""
        self._out.print(Line("\nAsk something; an empty line ends.", "dim"))
        while text := self._line():
            self._print(text, self._ask(text), detail=True)

    def _line(self) -> str:
        self._out.print(Line("> ", "bold"), end="")
        try:
            return sys.stdin.readline().strip()
        except KeyboardInterrupt:
            return ""

    def _ask(self, text: str) -> Results:
        self.last = text
        return self._vault.search(text, **self._options)

    def _print(self, text: str, results: Results, *, detail: bool) -> None:
        head = Line(f"\n{flat(text)}", "bold")
        self._out.print(head.append(f"   {results.took_ms:.1f} ms", "dim"))
        render.passages(self._out, results, detail=detail)
        for note in results.notes:
            self._out.print(Line(f"       note {sentence(str(note))}", "dim"))
        if not results:
            self._out.print("       nothing found")


def _print_taken(out: Screen, vault: Vault, report: SyncReport, took_s: float) -> None:
    held = vault.stats()
    out.print(Line(f"Septet {septet.__version__}", "bold").append(_TAGLINE))
    out.print(
        f"{counted(report.files_seen, 'file')} ({report.bytes / 1e6:.1f} MB) of {flat(report.roots[0])}, read and "
        f"indexed in {took_s:.2f} s: {counted(held.entries, 'chunk')} and {counted(held.links, 'link')}.\n"
    )
    for line in left_out(report.skipped, SHOWN):
        out.print(Line(line, "dim"))
    if report.skipped:
        out.print()


_TAGLINE = " keeps a vault in step with a folder, and shows why each passage ranks so."


def _print_next(out: Screen, folder: Path, path: Path | None, command: str, question: str) -> None:
    vault = "" if path is None else f" --vault {shown(path)}"
    out.print("\nKeep it, and go on with:" if path is None else f"\nThe vault is {shown(path)}. Go on with:")
    for arguments in (f"sync {shown(folder)}", f"search {shlex.quote(flat(question) or 'QUESTION')}"):
        out.print(Line(f"  {command} {arguments}{vault}", "bold"))
