"""The pages of the API, made of the public names and their docstrings at build time; none of them is committed.

Which page a name is on follows from the module it is defined in, so a new name needs no line here; one of a part that
no page has stops the build.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

import septet

__all__ = ["PAGES", "Subject", "page_of", "pages", "placed"]

PACKAGE = Path(septet.__file__).parent
#: The modules that the names of `septet` are loaded from, given below it.
_HOMES: dict[str, str] = {name: home for home, names in vars(septet)["_NAMES"].items() for name in names.split()}


class Subject(NamedTuple):
    """A page of the API.

    Attributes:
        slug: the name of the page.
        title: its heading.
        about: what stands under it.
        parts: modules below `septet` whose public names are on it.
        beside: what is public though `septet` itself does not have it: modules with all their names, or single names.
    """

    slug: str
    title: str
    about: str
    parts: str
    beside: str = ""


PAGES = (
    Subject(
        "vault",
        "Vaults",
        "One SQLite file of knowledge. [The API on one page](../api.md) has the methods by subject; what a search "
        "answers is under [results](results.md).",
        "vault model.stats",
    ),
    Subject(
        "postgres",
        "Vaults on PostgreSQL",
        "The same vault as a schema of a server. [The guide](../postgres.md) has examples.",
        "postgres.vault",
    ),
    Subject("federation", "Federation", "Several vaults searched as one.", "federation", "federation"),
    Subject(
        "asyncio", "asyncio", "The same methods, awaited. [The guide](../async.md) has examples.", "aio postgres.aio"
    ),
    Subject(
        "client", "Clients", "A vault that a server holds. [The guide](../client.md) has examples.", "client", "client"
    ),
    Subject(
        "entries",
        "Entries",
        "What is stored, and the types of what you give to be stored.",
        "model.entry model.fields model.links",
    ),
    Subject(
        "results",
        "Results",
        "What searches, explanations, lists and counts return, and their options.",
        "model.results model.context model.explanation model.matches model.pages",
        "types",
    ),
    Subject(
        "observing",
        "Notes and events",
        "What a search could not do, and what hooks are told. [Codes of notes](../reference/notes.md) are on a page of "
        "their own; [the guide](../observing.md) has examples.",
        "notes watch",
        "watch notes.DEGRADING",
    ),
    Subject(
        "profiles",
        "Profiles",
        "How searches rank, as values. [The guide](../profiles.md) explains columns and expressions; "
        "[the built-in ones](../reference/profiles.md) are tables.",
        "profiles ranking",
        "profiles",
    ),
    Subject("files", "Files and imports", "Folders kept in step, chunks, secrets, imports.", "files", "files exchange"),
    Subject(
        "retrieval",
        "Retrieval",
        "Several corpora as one answer. [The guide](../retrieval.md) has examples.",
        "retrieval",
        "retrieval retrieval.planning.planner.plan retrieval.planning.evidence.tuned "
        "retrieval.expansion.chat.expanding_of",
    ),
    Subject(
        "embedding",
        "Embedding",
        "What turns texts into vectors. [The guide](../embedding.md) explains chains and fallbacks.",
        "embedding model.vector",
        "embedding",
    ),
    Subject(
        "evaluation",
        "Evaluation",
        "How well searches answer. [The guide](../evaluation.md) has examples.",
        "evaluation",
        "evaluation evaluation.measures.groundedness evaluation.measures.term_recall",
    ),
    Subject(
        "vectors", "Vectors and TF-IDF", "Exact vector search and TF-IDF without a vault.", "index tfidf", "index tfidf"
    ),
    Subject(
        "adapters",
        "Adapters",
        "Septet behind the interfaces of LangChain, LlamaIndex and LangGraph. [The guide](../adapters.md) has "
        "examples.",
        "",
        "adapters.langchain adapters.llama_index adapters.langgraph",
    ),
    Subject(
        "servers",
        "Servers",
        "What `septet serve` and `septet mcp` are made of, to mount in an application of yours. The guides to "
        "[HTTP](../http.md) and [MCP](../mcp.md) have examples.",
        "",
        "service.opening.opened service.served.Served server.app.make_app server.settings.Settings "
        "mcp.protocol.mcp_app mcp.protocol.make_server",
    ),
    Subject(
        "errors",
        "Errors",
        "All errors are a `SeptetError`. [Their tree with codes](../reference/errors.md) is on a page of its own.",
        "errors",
    ),
)


def page_of(module: str) -> str:
    """Return the slug of the page for names of a module, given below `septet`: the most exact of its parts decides.

    Raises:
        LookupError: no page has the module.
    """
    fitting = {part: subject.slug for subject in PAGES for part in subject.parts.split() if _within(module, part)}
    if not fitting:
        raise LookupError(f"septet.{module} is on no page of the API: give it one in PAGES of website/site_api.py")
    return fitting[max(fitting, key=len)]


def _within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def _source(module: str) -> Path:
    """Return the file of a module, given below `septet`; it need not exist."""
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _defined(module: str) -> dict[str, ast.stmt]:
    """Return what a module defines or assigns at its level, read without running it: what it needs may be missing."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(_source(module).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update((target.id, node) for target in targets if isinstance(target, ast.Name))
    return found


def _beside(given: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of what is public beside `septet` itself."""
    if not _source(given).exists():
        module, _, name = given.rpartition(".")
        if name not in _defined(module):
            raise LookupError(f"septet.{module} has no {name}, which website/site_api.py names")
        yield module, name
        return
    defined = _defined(given)
    if isinstance(listed := defined.get("__all__"), ast.Assign):
        names = ast.literal_eval(listed.value)
    elif "__all__" not in _source(given).read_text(encoding="utf-8"):
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        names = [name for name, node in defined.items() if isinstance(node, kinds) and not name.startswith("_")]
    else:  # loaded late
        names = vars(importlib.import_module(f"septet.{given}"))["__all__"]
    yield from ((given, name) for name in names)


def placed() -> dict[str, list[str]]:
    """Return the whole names of what is public by the slugs of their pages, each on exactly one.

    What `septet` has comes first; of other modules follow the names of their `__all__` that are not there already.
    """
    found: dict[str, list[str]] = {subject.slug: [] for subject in PAGES}
    shown: set[str] = set()
    for name in vars(septet)["__all__"]:
        if name in _HOMES:
            found[page_of(_HOMES[name])].append(f"septet.{name}")
            shown.add(name)
    for subject in PAGES:
        for given in subject.beside.split():
            for module, name in _beside(given):
                if name not in shown or not _same(module, name):
                    found[subject.slug].append(f"septet.{module}.{name}")
    return found


def _same(module: str, name: str) -> bool:
    return getattr(importlib.import_module(f"septet.{module}"), name) is getattr(septet, name)


def _ordered(names: list[str], parts: list[str]) -> list[str]:
    """Return classes before functions before types and values; within, the page's first part comes first."""

    def place(name: str) -> tuple[object, ...]:
        module, _, last = name.removeprefix("septet.").rpartition(".")
        home = module or _HOMES[last]
        if kind := module and _defined(home).get(last):
            rank = 0 if isinstance(kind, ast.ClassDef) else 1 if isinstance(kind, ast.FunctionDef) else 2
        else:
            value = getattr(importlib.import_module(f"septet.{module}") if module else septet, last)
            rank = 0 if isinstance(value, type) else 1 if isinstance(value, FunctionType) else 2
        part = next((at for at, part in enumerate(parts) if _within(home, part)), len(parts))
        return rank, bool(module), part, home.count("."), last.lower()

    return sorted(names, key=place)


def pages() -> dict[str, str]:
    """Return the Markdown of the API's pages by their paths within the site, in the order of the navigation."""
    by_page = placed()
    made = {}
    for subject in PAGES:
        blocks = [f"# {subject.title}", subject.about]
        blocks += [f"::: {name}" for name in _ordered(by_page[subject.slug], subject.parts.split())]
        made[f"api/{subject.slug}.md"] = "\n\n".join(blocks) + "\n"
    return made
