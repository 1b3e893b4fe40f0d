"""What the docstrings' reader cannot see by itself: methods made of others, comments of values, names in backticks."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["Septet"]

#: `Vault`, `Vault.search` or `septet.notes.DEGRADING` in single backticks.
_NAME = re.compile(r"(?<![`\[\w])`((?:septet\.)?[A-Za-z_]\w*(?:\.\w+)*)(?:\(\))?`(?![`\]])")
#: What makes the method of an asynchronous class of one that blocks.
_MAKERS = ("mirrored", "mirrored_static", "mirrored_retriever")


class Septet(griffe.Extension):
    """Gives methods that are made of others their signature, and values the comment above them."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Change what was read when all of it is there."""
        if pkg.path == "septet":
            public = {name for name, member in pkg.members.items() if member.is_alias}
            self._walk(pkg, pkg, public, set())

    def _walk(self, pkg: griffe.Module, of: griffe.Module | griffe.Class, public: set[str], seen: set[str]) -> None:
        for name, member in list(of.members.items()):
            if member.is_alias or member.path in seen:
                continue
            seen.add(member.path)
            if isinstance(member, griffe.Attribute):
                made = self._mirrored(of, name, member)
                if made is not None:
                    of.set_member(name, made)
                elif member.docstring is None and (said := _comment(member)):
                    member.docstring = griffe.Docstring(said, parent=member, lineno=member.lineno)
            current = of.members[name]
            if current.docstring is not None:
                current.docstring.value = _linked(current.docstring.value, pkg, public)
            if isinstance(current, (griffe.Module, griffe.Class)):
                self._walk(pkg, current, public, seen)

    def _mirrored(self, of: griffe.Object, name: str, member: griffe.Attribute) -> griffe.Function | None:
        """Return the method that `name = mirrored(Vault.name)` makes; None if the value is no such call."""
        value = member.value
        if not isinstance(value, griffe.ExprCall) or str(value.function) not in _MAKERS:
            return None
        kind, _, method = str(value.arguments[0]).partition(".")
        blocking = of.module[kind] if kind in of.module.members else None
        if blocking is None:
            return None
        plain = blocking.final_target if blocking.is_alias else blocking
        twin = plain.all_members.get(method)
        if twin is None:
            return None
        twin = twin.final_target if twin.is_alias else twin
        if not isinstance(twin, griffe.Function):
            return None
        made = griffe.Function(
            name,
            lineno=member.lineno,
            endlineno=member.endlineno,
            parameters=twin.parameters,
            returns=twin.returns,
            parent=of,  # type: ignore[arg-type]
        )
        made.labels.add("async")
        said = f"`{kind}.{method}`, awaited: the same arguments, the same result."
        made.docstring = griffe.Docstring(said, parent=made, lineno=member.lineno)
        return made


def _comment(member: griffe.Attribute) -> str:
    """Return the lines that begin with `#:` above a value, as one text."""
    if member.lineno is None:
        return ""
    lines = member.lines_collection[member.filepath] if member.filepath in member.lines_collection else []
    at, said = member.lineno - 2, []
    while 0 <= at < len(lines) and (line := lines[at].strip()).startswith("#:"):
        said.insert(0, line.removeprefix("#:").strip())
        at -= 1
    return " ".join(said)


def _linked(text: str, pkg: griffe.Module, public: set[str]) -> str:
    """Return a docstring with public names in backticks as references to where they are documented."""

    def reference(found: re.Match[str]) -> str:
        path = found[1].removeprefix("septet.")
        head, _, rest = path.partition(".")
        if head not in public:
            return found[0]
        if rest:
            kind = pkg[head].final_target
            member = kind.all_members.get(rest) if isinstance(kind, griffe.Class) else None
            # Fields of a value stand in a table of its own text, and have no place of their own.
            if member is None or not member.has_docstring:
                return found[0]
        return f"[{found[0]}][septet.{path}]"

    return _NAME.sub(reference, text)
