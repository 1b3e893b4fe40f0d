"""The documentation of the Python that runs this: the standard library's docstrings as plain entries and links.

Modules are imported (quietly) and inspected; no other code of theirs runs. Each object appears once, under the name
that people use: ``json.dumps`` although it is also reachable elsewhere, ``asyncio.gather`` rather than
``asyncio.tasks.gather``, ``os.getcwd`` rather than ``posix.getcwd``, ``str.split`` without ``builtins``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import os
import pkgutil
import re
import signal
import sys
import sysconfig
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from pydoc_data.topics import topics as TOPICS
from typing import Any, NamedTuple

__all__ = ["PREFIX", "Documentation", "collect", "words_of"]

PREFIX = "py:"

#: Modules that print, open windows, or do not document the library.
SKIPPED = frozenset({"antigravity", "idlelib", "lib2to3", "test", "this", "turtledemo"})
SKIPPED_PARTS = frozenset({"test", "tests", "idle_test", "__main__"})
#: Public modules that are only a platform's half of `os`.
PLATFORM_HALVES = frozenset({"nt", "posix", "ntpath", "posixpath"}) - {os.path.__name__}

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Documentation:
    """What was collected.

    Attributes:
        entries: dicts with the fields of an entry, each with an id of its own.
        links: ``(container id, member id, "contains")``, both ends among the entries.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    links: list[tuple[str, str, str]] = field(default_factory=list)


def collect(progress: Progress | None = None) -> Documentation:
    """Read the docstrings of every public module, class, function, method and property of the standard library.

    Like `help`, a member without a docstring says what the one it overrides says. Special methods are included.

    Args:
        progress: called with the top-level modules read so far and their number.
    """
    with _quiet():
        return _Collection().read(_modules(progress))


def words_of(name: str) -> list[str]:
    """Return the lower-case words in a qualified name, each once: ``a.readLine_x`` has a, read, line and x."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    return list(dict.fromkeys(word.lower() for word in found))


# -- modules ---------------------------------------------------------------------------------------------------------


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            # tkinter has the process ignore it, behind Python's back: `septet demo | head -1` ends as others do.
            if (before := signal.getsignal(signal.SIGPIPE)) is not None:
                signal.signal(signal.SIGPIPE, before)


def _modules(progress: Progress | None) -> dict[str, types.ModuleType]:
    """Import the public modules and return them by the name people use."""
    tops = sorted(n for n in sys.stdlib_module_names if not _private(n) and n not in SKIPPED)
    found: dict[str, types.ModuleType] = {}
    for done, top in enumerate(tops, start=1):
        if _is_stdlib(top):
            for module in _walk(top):
                found["os.path" if module is os.path else module.__name__] = module
        if progress is not None:
            progress(done, len(tops))
    return found


def _is_stdlib(top: str) -> bool:
    """Say whether a name would import the standard library's module, not one in the working directory."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    if spec is None or spec.origin in ("built-in", "frozen"):
        return spec is not None
    origin = Path(spec.origin or "").resolve()
    homes = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib")}
    return not {"site-packages", "dist-packages"} & set(origin.parts) and not homes.isdisjoint(origin.parents)


def _walk(name: str) -> Iterator[types.ModuleType]:
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001 - a module of another platform may fail in any way; it is left out
        return
    yield module
    for child in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not _private(child.name) and child.name not in SKIPPED_PARTS:
            yield from _walk(f"{name}.{child.name}")


def _private(name: str) -> bool:
    return name != "__future__" and any(part.startswith("_") for part in name.split("."))


# -- who is at home where --------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where a module shows an object. Of several places the smallest is the one that counts."""

    foreign: bool
    unlisted: bool
    depth: int
    module: str
    name: str


def _places(modules: dict[str, types.ModuleType]) -> dict[int, tuple[_Place, Any]]:
    """Return the classes and functions of the modules, by identity, each at its best place."""
    best: dict[int, tuple[_Place, Any]] = {}
    for shown_as, module in modules.items():
        if shown_as in PLATFORM_HALVES:
            continue
        listed = frozenset(getattr(module, "__all__", ()))
        for name in sorted(name for name in listed.union(vars(module)) if not name.startswith("_")):
            found = getattr(module, name, None)
            foreign = _foreign(found, shown_as, module)
            if _kind(found) is None or (foreign and (name not in listed or not _in_stdlib(found))):
                continue
            place = _Place(foreign, name not in listed, shown_as.count("."), shown_as, name)
            key = id(_inner(found))
            if key not in best or place < best[key][0]:
                best[key] = (place, found)
    return best


def _foreign(found: Any, shown_as: str, module: types.ModuleType) -> bool:
    """Say whether an object was made by a module that this one is neither, nor holds, nor wraps."""
    home = getattr(found, "__module__", None)
    own = (shown_as, module.__name__)
    return isinstance(home, str) and home.lstrip("_") not in own and not home.startswith(tuple(f"{n}." for n in own))


def _in_stdlib(found: Any) -> bool:
    return found.__module__.partition(".")[0] in sys.stdlib_module_names


def _kind(found: Any) -> str | None:
    if isinstance(found, type) and not isinstance(found, types.GenericAlias):
        return "class"
    cached = hasattr(type(found), "cache_info")
    return "function" if inspect.isroutine(found) or cached else None


def _inner(found: Any) -> Any:
    """Return the function in a method, static method, class method or property; anything else as it is."""
    if isinstance(found, (types.MethodType, staticmethod, classmethod)):
        return found.__func__
    if isinstance(found, property):
        return found.fget or found
    return found.func if isinstance(found, cached_property) else found


_DATA = (property, cached_property, types.GetSetDescriptorType, types.MemberDescriptorType)


# -- entries ---------------------------------------------------------------------------------------------------------


class _Collection:
    """Entries and links in the making."""

    def __init__(self) -> None:
        self.made = Documentation()
        self.titles: set[str] = set()
        self.seen: set[int] = set()

    def read(self, modules: dict[str, types.ModuleType]) -> Documentation:
        """Make the entries of modules, then of what they hold, and links from each container to its members."""
        for name, module in modules.items():
            if name not in PLATFORM_HALVES and self.add(name, "module", name, _own_doc(module)):
                self.link(name.rpartition(".")[0], name)
        places = sorted(_places(modules).values(), key=lambda placed: placed[0])
        self.seen.update(id(_inner(found)) for _, found in places)
        for place, found in places:
            title = place.name if place.module == "builtins" else f"{place.module}.{place.name}"
            if isinstance(found, type):
                self.add_class(title, place.module, found)
            elif self.add(title, "function", place.module, _own_doc(found), _signature(found, place.name)):
                self.link(place.module, title)
        for name, text in TOPICS.items():
            self.add(f"Python: {name.lower()}", "topic", "language", text.strip())
        return self.made

    def add_class(self, title: str, module: str, cls: type, owner: str | None = None) -> None:
        """Make the entries of a class and its members; those inherited from a public class belong to that one."""
        own = _own_doc(cls)
        doc = own or next(filter(None, map(_own_doc, cls.__mro__[1:-1])), "")
        if self.add(title, "class", module, doc, _signature(cls, cls.__name__), own=bool(own)):
            self.link(owner or module, title)
        for name, (raw, home) in self.members(cls).items():
            kind = _member_kind(name, raw, home)
            inner = _inner(raw)
            if kind is None or id(inner) in self.seen:
                continue
            self.seen.add(id(inner))
            whole = f"{title}.{name}"
            if kind == "class":
                self.add_class(whole, module, raw, title)
                continue
            signature = "" if kind == "property" else _signature(raw, name)
            own = "" if name.startswith("__") else _own_doc(raw)
            if self.add(whole, kind, module, own or _member_doc(name, raw, cls), signature, own=bool(own)):
                self.link(title, whole)

    def members(self, cls: type) -> dict[str, tuple[Any, type]]:
        """Return what a class defines, itself or through private bases, and which of them it was."""
        found = {name: (raw, cls) for name, raw in vars(cls).items()}
        public = [base for base in cls.__mro__[1:-1] if id(base) in self.seen]
        for base in cls.__mro__[1:-1]:
            private = base.__name__.startswith("_") or _private(base.__module__)
            if private and base not in public and not any(base in above.__mro__ for above in public):
                found = {name: (raw, base) for name, raw in vars(base).items()} | found
        return found

    def add(self, title: str, kind: str, module: str, doc: str, signature: str = "", *, own: bool = True) -> bool:
        """Make an entry, unless there is no docstring, and say whether there is one now.

        Args:
            own: the text was written for this very thing; it then weighs more than inherited and special ones.
        """
        if not doc or title in self.titles:
            return False
        self.titles.add(title)
        description, signature = _split_signature(doc, signature)
        deprecated = _DEPRECATED.search(doc) is not None
        self.made.entries.append(
            {
                "id": PREFIX + title.replace(" ", ""),
                "title": title,
                "description": description,
                "context": signature,
                "type": kind,
                "domain": module.partition(".")[0],
                "severity": "warning" if own and not deprecated else "suggestion",
                "tags": words_of(title.rpartition(".")[2]),
                "attrs": {"deprecated": True} if deprecated else {},
            }
        )
        return True

    def link(self, owner: str, member: str) -> None:
        """Link a container to its member when both are entries."""
        if owner in self.titles:
            self.made.links.append((PREFIX + owner, PREFIX + member, "contains"))


_DEPRECATED = re.compile(r"\bdeprecated\b", re.IGNORECASE)
#: Docstrings that a class builder wrote, not a person.
_GENERATED = ("Alias for field number", "An enumeration.")
_PLUMBING = frozenset({"__dict__", "__weakref__", "__module__"})
_SIGNATURE_LINE = re.compile(r"[\w.]+\(.*\)(\s*(->|--|=>|=|:).*)?")


def _member_kind(name: str, raw: Any, cls: type) -> str | None:
    special = name.startswith("__") and name.endswith("__") and name not in _PLUMBING
    if (name.startswith("_") and not special) or getattr(raw, "__objclass__", cls) is not cls:
        return None
    if isinstance(raw, type):
        return "class" if raw.__qualname__ == f"{cls.__qualname__}.{raw.__name__}" else None
    if isinstance(raw, _DATA):
        return "property"
    return "method" if isinstance(raw, (staticmethod, classmethod)) or inspect.isroutine(raw) else None


def _member_doc(name: str, raw: Any, cls: type) -> str:
    """Return a member's docstring; one that has none says what the member it overrides says, as in `help`."""
    overridden = (vars(base)[name] for base in cls.__mro__[1:] if name in vars(base))
    return _own_doc(raw) or next(filter(None, map(_own_doc, overridden)), "")


def _own_doc(found: Any) -> str:
    source = _inner(found) if isinstance(found, (staticmethod, classmethod, types.MethodType)) else found
    doc = None if isinstance(source, type) and "__doc__" not in vars(source) else getattr(source, "__doc__", None)
    text = inspect.cleandoc(doc).encode("utf-8", "replace").decode() if isinstance(doc, str) else ""
    return "" if text.startswith(_GENERATED) else text


def _split_signature(doc: str, signature: str) -> tuple[str, str]:
    """Move a first line that is only a signature, as docstrings of C functions have it, out of the docstring."""
    first, _, rest = doc.partition("\n")
    if not rest.strip() or not _SIGNATURE_LINE.fullmatch(first.strip()):
        return doc, signature
    return inspect.cleandoc(rest).strip(), signature or first.strip()


def _signature(found: Any, name: str) -> str:
    """Return ``name(parameters)`` without annotations, or nothing when the object does not tell."""
    try:
        signature = inspect.signature(_inner(found))
    except (TypeError, ValueError, NameError, AttributeError, RecursionError):
        return ""
    plain = [
        p.replace(annotation=inspect.Parameter.empty, default=_shown_default(p.default))
        for p in signature.parameters.values()
    ]
    return name + str(inspect.Signature(plain))


class _Elsewhere:
    """Stands for a default whose own text would differ from run to run, or be long."""

    def __repr__(self) -> str:
        return "..."


def _shown_default(default: Any) -> Any:
    short = isinstance(default, (bool, int, float, str, bytes, type(None))) and len(repr(default)) <= 40
    return default if short or default is inspect.Parameter.empty else _Elsewhere()
