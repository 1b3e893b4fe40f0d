"""The sources of the project, each read and parsed once in a process."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "RUST", "SOURCES", "STUB", "faults", "nodes_of", "text_of", "tree_of"]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "septet"
SOURCES = sorted(PACKAGE.rglob("*.py"))
RUST = sorted((ROOT / "rust").rglob("*.rs"))
STUB = PACKAGE / "_core.pyi"


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


def faults(rule: Callable[[Path], Iterable[str] | None], paths: Iterable[Path]) -> list[str]:
    """Return what breaks a rule, ``path: fault`` each, where the rule yields the faults of one file."""

    def broken(path: Path) -> Iterator[str]:
        return (f"{path.relative_to(ROOT).as_posix()}: {fault}" for fault in rule(path) or ())

    return [fault for path in paths for fault in broken(path)]
