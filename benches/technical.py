"""Words alone over technical texts: the default profile beside FTS5, on judged sets, half to tune and half to report.

python benches/technical.py [--tune]

- ``names``: names of functions and classes, alone and inside four questions, over docstrings of the standard library
  and of two packages
- ``titles``: the titles of some chunks of documentation pages
- ``documentation``, ``signs``, ``one-word``: questions of `technical_questions.tsv` on the documentation of other
  projects, written before anything was searched

An answer is an entry, or any chunk of a page. FTS5 gets what a user would write: the words of the query, quoted, joined
by OR, over title and text with `porter`, ranked by `bm25()` with the title twice.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from septet import Vault
from septet.cli.stdlib_docs import collect
from septet.evaluation.outcomes import interval

QUESTIONS = Path(__file__).with_name("technical_questions.tsv")
PACKAGES = ("numpy", "pydantic")
#: Their modules that are not for users.
UNDOCUMENTED = ("_", "test", "conftest", "core", "mypy", "v1", "f2py", "distutils")
NOW = 1.7e9
#: Names that are asked for, and how: the name alone, and in questions of more and more ordinary words.
NAMES = 240
TEMPLATES = (
    "{}",
    "how do I use {}",
    "what does {} do and when should it be called",
    "where is {} implemented and how do I use it",
    "why does {} raise an error on windows",
)
TITLES = 200
DEPTH = 10


class Question(NamedTuple):
    """A query and the keys of what answers it; a key is an entry's id, or a page's path."""

    set: str
    text: str
    answers: frozenset[str]
    report: bool


class Collection(NamedTuple):
    """Entries as `Vault.add_many` takes them, the key of each, and questions."""

    entries: Sequence[Mapping[str, Any]]
    keys: Mapping[str, str]
    questions: Sequence[Question]


Search = Callable[[str], Sequence[str]]


def docstrings() -> Iterator[dict[str, Any]]:
    """Yield docstrings of the standard library and of two packages under the names that people use."""
    seen: set[str] = set()
    for entry in collect().entries:
        if entry["type"] not in ("topic",) and entry["title"] not in seen:
            seen.add(entry["title"])
            yield {"id": entry["title"], "title": entry["title"], "description": entry["description"]}
    for package in PACKAGES:
        for name, text in _documented(package):
            if name not in seen:
                seen.add(name)
                yield {"id": name, "title": name, "description": text}


def _documented(package: str) -> Iterator[tuple[str, str]]:
    top = importlib.import_module(package)
    modules = [top]
    for one in pkgutil.iter_modules(top.__path__, f"{package}."):
        if not one.name.rpartition(".")[2].startswith(
            ("_", "test", "conftest", "core", "mypy", "v1", "f2py", "distutils")
        ):
            try:
                modules.append(importlib.import_module(one.name))
            except ImportError:
                continue
    for module in modules:
        for name in sorted(getattr(module, "__all__", None) or vars(module)):
            value = getattr(module, name, None)
            if name.startswith("_") or not (inspect.isroutine(value) or inspect.isclass(value)):
                continue
            if text := inspect.getdoc(value):
                yield f"{module.__name__}.{name}", text
            if inspect.isclass(value):
                for member, inner in sorted(vars(value).items()):
                    if not member.startswith("_") and (text := inspect.getdoc(inner)):
                        yield f"{module.__name__}.{name}.{member}", text


@cache
def names() -> Collection:
    """Return docstrings, and names inside questions: one half as they are written, the other by their last part."""
    entries = list(docstrings())
    last: dict[str, list[str]] = {}
    for entry in entries:
        last.setdefault(entry["title"].rpartition(".")[2], []).append(entry["title"])
    asked = [name for name in last if len(last[name]) == 1 and len(name) > 3 and len(name.strip("_")) == len(name)]
    random.Random(1).shuffle(asked)
    questions = []
    for number, name in enumerate(asked[:NAMES]):
        (title,) = last[name]
        shown = title if number % 4 < 2 else name
        for template in TEMPLATES:
            found = Question(
                f"names: {template.format('…')}", template.format(shown), frozenset({title}), bool(number % 2)
            )
            questions.append(found)
    return Collection(entries, {entry["id"]: entry["id"] for entry in entries}, questions)


@cache
def pages() -> Collection:
    """Return chunks of documentation pages, and what is asked about these: written questions, and titles."""
    from technical_documents import documents

    folder = documents(Path(__file__).parents[1] / "target" / "technical")
    entries, keys, titles = [], {}, []
    with Vault(":memory:", clock=lambda: NOW) as vault:
        vault.sync(folder, name="pages")
        for entry in vault.entries({"kind": "chunk"}, limit=None):
            path = entry.span.path if entry.span else ""
            entries.append(
                {"id": entry.id, "title": entry.title, "description": entry.description, "context": entry.context}
            )
            keys[entry.id] = path
            titles.append((entry.title, entry.id))
    questions = []
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines()[1:]:
        kind, half, text, answers = line.split("\t")
        if answers:
            questions.append(Question(kind, text, frozenset(answers.split()), half == "report"))
    count: dict[str, int] = {}
    for title, _ in titles:
        count[title] = count.get(title, 0) + 1
    own = [(title, id) for title, id in titles if count[title] == 1 and len(title.split()) > 1]
    random.Random(2).shuffle(own)
    for number, (title, id) in enumerate(own[:TITLES]):
        questions.append(Question("titles", title, frozenset({id}), bool(number % 2)))
    return Collection(entries, keys, questions)


def fts5(entries: Sequence[Mapping[str, Any]]) -> Search:
    """Return what ten lines of SQLite find."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, title, text, tokenize = 'porter unicode61')")
    rows = ((e["id"], e["title"], f"{e['description']}\n{e.get('context', '')}") for e in entries)
    base.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)

    def search(query: str) -> Sequence[str]:
        words = " OR ".join('"' + word.replace('"', '""') + '"' for word in query.split())
        sql = f"SELECT id FROM t WHERE t MATCH ? ORDER BY bm25(t, 0, 2.0, 1.0) LIMIT {DEPTH}"
        return [row[0] for row in base.execute(sql, (words,))]

    return search


def of_vault(vault: Vault, **options: Any) -> Search:
    """Return what a vault finds."""
    return lambda query: vault.search(query, limit=DEPTH, **options).ids


def filled(entries: Sequence[Mapping[str, Any]]) -> Vault:
    """Return a vault of entries of one age."""
    vault = Vault(":memory:", clock=lambda: NOW)
    vault.add_many({**entry, "created_at": NOW} for entry in entries)
    vault.search("warm")
    vault.optimize()
    return vault


def reciprocal(found: Sequence[str], question: Question, keys: Mapping[str, str]) -> float:
    """Return 1 / the rank of the first answer, 0 without one."""
    ranks = (rank for rank, id in enumerate(found, 1) if question.answers & {id, keys.get(id, id)})
    return 1 / next(ranks, float("inf"))


def measured(search: Search, asked: Sequence[Question], keys: Mapping[str, str]) -> dict[str, list[float]]:
    """Return the reciprocal ranks by set."""
    found: dict[str, list[float]] = {}
    for question in asked:
        found.setdefault(question.set, []).append(reciprocal(search(question.text), question, keys))
    return found


def main() -> None:
    """Print first answers, answers among three, and MRR of each competitor by set, and what septet gains over FTS5."""
    tune = "--tune" in sys.argv
    for make in (names, pages):
        try:
            collection = make()
        except subprocess.CalledProcessError as fault:
            print(f"no documentation of other projects: {fault}")
            continue
        asked = [question for question in collection.questions if question.report != tune]
        with filled(collection.entries) as vault:
            competitors = {
                "FTS5": fts5(collection.entries),
                "six-signals": of_vault(vault, profile="six-signals"),
                "septet": of_vault(vault),
            }
            table = {name: measured(search, asked, collection.keys) for name, search in competitors.items()}
        print(f"{len(collection.entries)} entries; first, in three, MRR@10")
        for kind in dict.fromkeys(question.set for question in asked):
            cells = []
            for name in competitors:
                values = table[name][kind]
                first, three = (sum(v >= least for v in values) / len(values) for least in (1, 1 / 3))
                cells.append(f"{name} {first:.3f} {three:.3f} {sum(values) / len(values):.3f}")
            gains = np.subtract(table["septet"][kind], table["FTS5"][kind])
            low, high = interval(gains)
            cells.append(f"septet - FTS5 {gains.mean():+.3f} (95 % {low:+.3f} to {high:+.3f})")
            print(f"{kind:60} {len(gains):4}   " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
