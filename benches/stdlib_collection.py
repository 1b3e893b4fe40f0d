"""A collection of three corpora, made of the standard library of the Python that runs this, and questions about it.

- ``docs``: docstrings of classes, functions, methods and properties, under the names that people use: ``json.dumps``
- ``code``: source files, cut into definitions without their docstrings, so that the corpora have no text in common:
  ``json/encoder.py#JSONEncoder.iterencode``; a class is what stands in it outside its methods
- ``guide``: docstrings of modules with the names that they hold, and the topics of the language: ``json``,
  ``Python:slicings``

`stdlib_questions.tsv` has the questions, each with what answers it: 2 for an answer, 1 for what helps. They were
written from the documentation and the source, before anything was searched, and stayed as they were.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from real_documents import LEFT_OUT, MOST_TOPIC
from septet.cli.stdlib_docs import PREFIX, SKIPPED, SKIPPED_PARTS, Documentation, collect

__all__ = ["CORPORA", "KINDS", "Question", "collection", "known", "questions"]

CORPORA = ("docs", "code", "guide")
#: What a question is: in words of the answer; in others; a name; what code does or where; where something belongs; or
#: with typing errors.
KINDS = ("words", "paraphrase", "identifier", "code", "structure", "typo")
QUESTIONS = Path(__file__).with_name("stdlib_questions.tsv")
#: A definition of fewer lines says nothing that its name does not.
LEAST_LINES = 3
#: Of the names that a module holds, so many stand in its entry.
MOST_NAMES = 100

Entry = dict[str, Any]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Question(NamedTuple):
    """A question with the grades of what answers it, by ``corpus:id``."""

    id: str
    kind: str
    text: str
    grades: Mapping[str, int]

    @property
    def corpora(self) -> frozenset[str]:
        """Where the answers are; what only helps does not count."""
        return frozenset(key.partition(":")[0] for key, grade in self.grades.items() if grade == 2)


@cache
def collection() -> dict[str, list[Entry]]:
    """Return the entries of each corpus, with ids that stay the same from one version of Python to the next."""
    made = collect()
    guide = [*_modules(made), *_topics(made)]
    docs = [_documented(entry) for entry in made.entries if entry["type"] not in ("module", "topic") and _asked(entry)]
    return {"docs": docs, "code": list(_sources()), "guide": guide}


def _asked(entry: Mapping[str, Any]) -> bool:
    return entry["domain"] not in LEFT_OUT and not entry["title"].rpartition(".")[2].startswith("__")


def _documented(entry: Mapping[str, Any]) -> Entry:
    return {
        "id": entry["title"],
        "title": entry["title"],
        "description": entry["description"],
        "context": entry["context"],
    }


def _modules(made: Documentation) -> Iterator[Entry]:
    held: dict[str, list[str]] = {}
    for owner, member, _ in made.links:
        held.setdefault(owner.removeprefix(PREFIX), []).append(member.removeprefix(PREFIX).rpartition(".")[2])
    for entry in made.entries:
        if entry["type"] == "module" and entry["domain"] not in LEFT_OUT:
            names = held.get(entry["title"], [])[:MOST_NAMES]
            yield _documented(entry) | {"context": " ".join(names)}


def _topics(made: Documentation) -> Iterator[Entry]:
    for entry in made.entries:
        if entry["type"] == "topic" and len(entry["description"]) <= MOST_TOPIC:
            yield _documented(entry) | {"id": entry["title"].replace(" ", "")}


# -- source files ----------------------------------------------------------------------------------------------------


def _sources() -> Iterator[Entry]:
    """Yield the definitions of the public modules, in the order of their files."""
    home = Path(sysconfig.get_path("stdlib"))
    for path in sorted(home.rglob("*.py")):
        inside = path.relative_to(home)
        top = inside.parts[0].removesuffix(".py")
        known = top in sys.stdlib_module_names and not top.startswith("_") and top not in SKIPPED | LEFT_OUT
        if known and SKIPPED_PARTS.isdisjoint(part.removesuffix(".py") for part in inside.parts):
            yield from _definitions(inside.as_posix(), path.read_text(encoding="utf-8", errors="replace"))


def _definitions(path: str, text: str) -> Iterator[Entry]:
    lines = text.splitlines()
    seen: set[str] = set()
    for name, node in _walk(ast.parse(text), ""):
        id = f"{path}#{name}"
        body = _without(lines, node)
        # Of one that is defined twice, for two platforms, the first counts.
        if id not in seen and sum(bool(line.strip()) for line in body) >= LEAST_LINES:
            seen.add(id)
            yield {
                "id": id,
                "title": f"{path} {name}",
                "description": "\n".join(body),
                "attrs": {"path": path, "line": node.lineno},
            }


def _walk(node: ast.AST, owner: str) -> Iterator[tuple[str, Definition]]:
    """Yield the definitions of a module and of its classes, also those under an `if` or a `try`; not local ones."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            name = f"{owner}{child.name}"
            yield name, child
            if isinstance(child, ast.ClassDef):
                yield from _walk(child, f"{name}.")
        elif isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from _walk(child, owner)


def _without(lines: Sequence[str], node: Definition) -> list[str]:
    """Return the lines of a definition without its docstring, those of a class also without its definitions."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    kept = dict(enumerate(lines[first - 1 : node.end_lineno], start=first))
    inner: list[ast.AST] = [one for one in ast.walk(node) if isinstance(one, Definition)]
    hidden = [one.body[0] for one in inner if ast.get_docstring(one, clean=False) is not None]
    if isinstance(node, ast.ClassDef):
        hidden += [one for _, one in _walk(node, "")]
    for part in hidden:
        decorated = [decorator.lineno for decorator in getattr(part, "decorator_list", ())]
        for number in range(min([part.lineno, *decorated]), (part.end_lineno or part.lineno) + 1):
            kept.pop(number, None)
    return list(kept.values())


# -- questions -------------------------------------------------------------------------------------------------------


def questions() -> list[Question]:
    """Return the questions, and what answers them."""
    made = []
    for number, line in enumerate(QUESTIONS.read_text(encoding="utf-8").splitlines()[1:], start=1):
        kind, text, answers = line.split("\t")
        grades = {}
        for one in answers.split("; "):
            key, _, grade = one.partition("=")
            grades[key] = int(grade or 2)
        made.append(Question(f"q{number:03}", kind, text, grades))
    return made


def known(asked: Sequence[Question], entries: Mapping[str, Sequence[Entry]]) -> tuple[list[Question], list[str]]:
    """Return the questions with those of their answers that are there, and the keys of the others."""
    there = {f"{corpus}:{entry['id']}" for corpus, own in entries.items() for entry in own}
    made = [one._replace(grades={key: grade for key, grade in one.grades.items() if key in there}) for one in asked]
    lost = [key for one in asked for key in one.grades if key not in there]
    return [one for one in made if 2 in one.grades.values()], lost
