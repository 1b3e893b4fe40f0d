"""What the docstrings' reader cannot see by itself: methods made of others, comments of values, names in backticks."""

from __future__ import annotations

import re
from typing import Any

import griffe

from septet.query.options import DEFAULTS

__all__ = ["Septet"]

#: `Vault`, `Vault.search` or `septet.notes.DEGRADING` in single backticks.
_NAME = re.compile(r"(?<![`\[\w])`((?:septet\.)?[A-Za-z_]\w*(?:\.\w+)*)(?:\(\))?`(?![`\]])")
#: Makers of a method that returns what another returns: of clients, and of the tiers of a federation.
_BLOCKING = {"blocking", "remote", "of_highest", "of_holder"}
#: All makers of methods, those of coroutines too.
_MAKERS = _BLOCKING | {"mirrored", "mirrored_add", "mirrored_static", "mirrored_retriever", "awaited", "remote_async"}
_DATACLASS = "dataclasses.dataclass"


class Septet(griffe.Extension):
    """Gives methods that are made of others their signature, and values the comment above them."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Change what was read when all of it is there."""
        if pkg.path == "septet":
            public = {name for name, member in pkg.members.items() if member.is_alias}
            self._walk(pkg, pkg, public, set())

    def _walk(self, pkg: griffe.Module, of: griffe.Module | griffe.Class, public: set[str], seen: set[str]) -> None:
        for name, member in list(of.members.items()):
            if isinstance(member, griffe.Alias):
                # The decorator of records is the same to readers; griffe reads the fields below the other.
                if member.target_path == "septet.system.records.dataclass":
                    member.target_path = _DATACLASS
                continue
            if member.path in seen:
                continue
            seen.add(member.path)
            if isinstance(member, griffe.Attribute):
                if isinstance(of, griffe.Class) and (made := self._mirrored(of, name, member)) is not None:
                    of.set_member(name, made)
                elif member.docstring is None and (said := _comment(member)):
                    member.docstring = griffe.Docstring(said, parent=member, lineno=member.lineno)
            current = of.members[name]
            if isinstance(current, griffe.Class) and any(d.callable_path == _DATACLASS for d in current.decorators):
                current.labels.add("dataclass")
            if current.docstring is not None:
                current.docstring.value = _linked(current.docstring.value, pkg, public)
                if isinstance(current, griffe.Function):
                    _tell_options(current, current.docstring)
            if isinstance(current, (griffe.Module, griffe.Class)):
                self._walk(pkg, current, public, seen)

    def _mirrored(self, of: griffe.Class, name: str, member: griffe.Attribute) -> griffe.Function | None:
        """Return the method that `name = mirrored(Vault.name)` makes; None if the value is no such call."""
        value = member.value
        while isinstance(value, griffe.ExprCall) and str(value.function) == "staticmethod":
            value = value.arguments[0]
        if not isinstance(value, griffe.ExprCall) or str(value.function) not in _MAKERS:
            return None
        kind, _, method = str(value.arguments[0]).partition(".")
        twin = _target(_target(of.module.members[kind]).all_members[method])
        if isinstance(twin, griffe.Attribute) and isinstance(twin.parent, griffe.Class):
            twin = self._mirrored(twin.parent, method, twin) or twin
        if not isinstance(twin, griffe.Function):
            raise TypeError(f"{of.path}.{name} is made of {kind}.{method}, which is no method")
        steps = kind == "Calls"
        made = griffe.Function(
            name,
            lineno=member.lineno,
            endlineno=member.endlineno,
            parameters=twin.parameters,
            # The steps of a call return what the method does.
            returns=twin.returns.slice if steps and isinstance(twin.returns, griffe.ExprSubscript) else twin.returns,
            parent=of,
        )
        blocks = str(value.function) in _BLOCKING
        if not blocks:
            made.labels.add("async")
        said = f"`{'Client' if steps else kind}.{method}`, awaited: the same arguments, the same result."
        if blocks and twin.docstring is not None:
            said = twin.docstring.value
        made.docstring = griffe.Docstring(said, parent=made, lineno=member.lineno)
        return made


def _target(found: griffe.Object | griffe.Alias) -> griffe.Object:
    return found.final_target if found.is_alias else found  # type: ignore[union-attr,return-value]


def _comment(member: griffe.Attribute) -> str:
    """Return the lines that begin with `#:` above a value, as one text."""
    collection, path = member.lines_collection, member.filepath
    if member.lineno is None or isinstance(path, list) or path not in collection:
        return ""
    lines = collection[path]
    at = member.lineno - 2
    said: list[str] = []
    while 0 <= at < len(lines) and (line := lines[at].strip()).startswith("#:"):
        said.insert(0, line.removeprefix("#:").strip())
        at -= 1
    return " ".join(said)


def _tell_options(method: griffe.Function, docstring: griffe.Docstring) -> None:
    """Give arguments that a signature has as `**options: Unpack[...]` their types and defaults where they are told."""
    packed = [p.annotation for p in method.parameters if p.kind is griffe.ParameterKind.var_keyword]
    if not packed or not isinstance(packed[0], griffe.ExprSubscript) or str(packed[0].left) != "Unpack":
        return
    kind = method.module.modules_collection.get_member(packed[0].slice.canonical_path)  # type: ignore[union-attr]
    members = _target(kind).all_members
    sections = docstring.parse("google", warnings=False)
    for section in sections:
        if isinstance(section, griffe.DocstringSectionParameters):
            for told in section.value:
                if told.name not in method.parameters and told.name in members:
                    told.annotation = _bare(getattr(_target(members[told.name]), "annotation", None))
                    told.value = repr(DEFAULTS[told.name]) if told.name in DEFAULTS else "..."
    vars(docstring)["parsed"] = sections


def _bare(annotation: Any) -> Any:
    """Return a type without what `Annotated` says beside it."""
    if isinstance(annotation, griffe.ExprSubscript) and str(annotation.left) == "Annotated":
        return annotation.slice.elements[0] if isinstance(annotation.slice, griffe.ExprTuple) else annotation.slice
    return annotation


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
