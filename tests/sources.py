"""The sources of the project, each read and parsed once in a process."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

__all__ = [
    "BACKENDS",
    "FUNCTION",
    "PACKAGE",
    "ROOT",
    "RUST",
    "SOURCES",
    "STUB",
    "assert_none",
    "faults",
    "files",
    "line_of",
]
__all__ += ["module_of", "nodes_of", "part_of", "place", "text_of", "tree_of"]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "septet"
STUB = PACKAGE / "_core.pyi"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def files(folder: Path, pattern: str) -> list[Path]:
    """Return the files below a folder in order. A rule over no file would hold of nothing: without any, it fails."""
    paths = sorted(folder.rglob(pattern))
    assert paths, f"{folder} has no {pattern}"
    return paths


SOURCES = files(PACKAGE, "*.py")
RUST = files(ROOT / "rust", "*.rs")


@cache
def module_of(path: Path) -> str:
    """Return the name of the module that a file of the package is."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


#: Backends: each of their rooms stands on the floor of what it implements.
BACKENDS = ("postgres", "sqlite")


def part_of(module: str) -> str:
    """Return the module or folder at the top of the package that a module is in; of a backend also the room."""
    names = module.split(".")[1:] or ["__init__"]
    return ".".join(names[:2]) if names[0] in BACKENDS else names[0]


@cache
def text_of(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(text_of(path), filename=str(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of the syntax tree of a file."""
    return tuple(ast.walk(tree_of(path)))


def place(path: Path, line: int = 1) -> str:
    """Return ``path:line``, from the root of the repository where the file is below it."""
    return f"{path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path}:{line}"


def line_of(path: Path, words: str) -> int:
    """Return the number of the first line with these words, 1 without such a line."""
    text = text_of(path)
    match = re.search(rf"(?<!\w){re.escape(words)}", text)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def faults(rule: Callable[[Path], Iterable[tuple[int, str]]], paths: Iterable[Path]) -> list[str]:
    """Return what breaks a rule, ``path:line: fault`` each, where the rule yields lines and faults of one file."""
    return [f"{place(path, line)}: {fault}" for path in paths for line, fault in rule(path)]


def assert_none(lines: Iterable[str]) -> None:
    """Fail with all faults, one a line."""
    __tracebackhide__ = True
    lines = list(lines)
    assert not lines, "\n".join(["", *lines])
