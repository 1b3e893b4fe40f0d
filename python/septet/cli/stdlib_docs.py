"""The docstrings of the standard library of this Python, as entries and links.

Modules are imported, with output suppressed, and inspected; no other code of theirs runs. Each object appears once,
under its common name: ``asyncio.gather`` rather than ``asyncio.tasks.gather``, ``os.getcwd`` rather than
``posix.getcwd``, ``str.split`` without ``builtins``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import os
import pkgutil
import re
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

from septet.system.session import session

PREFIX = "py:"

#: Modules that print, open windows, or do not document the library.
SKIPPED = frozenset({"antigravity", "idlelib", "lib2to3", "test", "this", "turtledemo"})
SKIPPED_PARTS = frozenset({"test", "tests", "idle_test", "__main__"})
#: Public modules that implement `os` for a platform.
PLATFORM_HALVES = frozenset({"nt", "posix", "ntpath", "posixpath"}) - {os.path.__name__}

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Documentation:
    """The collected entries and links.

    Attributes:
        entries: dicts with the fields of an entry, with unique ids.
        links: ``(container id, member id, "contains")``, both ends among the entries.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    links: list[tuple[str, str, str]] = field(default_factory=list)


def collect(progress: Progress | None = None) -> Documentation:
    """Read the docstrings of every public module, class, function, method and property of the standard library.

    Includes special methods. As in `help`, a member without a docstring inherits that of the member it overrides.

    Args:
        progress: called with the number of top-level modules read so far, and their total.
    """
    with _quiet():
        return _Collection().read(_modules(progress))


def words_of(name: str) -> list[str]:
    """Split a qualified name into unique lower-case words: ``a.readLine_x`` into a, read, line and x."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    return list(dict.fromkeys(word.lower() for word in words))


# -- modules ---------------------------------------------------------------------------------------------------------


@contextmanager
def _quiet() -> Iterator[None]:
    # tkinter sets SIGPIPE to be ignored in C, which would break `septet demo | head -1`.
    restore = session.kept_pipe_handler()
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            restore()


def _modules(progress: Progress | None) -> dict[str, types.ModuleType]:
    """Import the public modules and return them by common name."""
    tops = sorted(n for n in sys.stdlib_module_names if not _private(n) and n not in SKIPPED)
    modules: dict[str, types.ModuleType] = {}
    for done, top in enumerate(tops, start=1):
        if _is_stdlib(top):
            for module in _walk(top):
                modules["os.path" if module is os.path else module.__name__] = module
        if progress is not None:
            progress(done, len(tops))
    return modules


def _is_stdlib(top: str) -> bool:
    """Return True if a name would import a standard library module, not one in the working directory."""
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
    except (Exception, SystemExit):  # noqa: BLE001 - skip modules of other platforms, which may fail in any way
        return
    yield module
    for child in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not _private(child.name) and child.name not in SKIPPED_PARTS:
            yield from _walk(f"{name}.{child.name}")


def _private(name: str) -> bool:
    return name != "__future__" and any(part.startswith("_") for part in name.split("."))


# -- places of objects -----------------------------------------------------------------------------------------------


class _ObjectPlace(NamedTuple):
    """A module and name of an object. The smallest place of an object counts."""

    foreign: bool
    unlisted: bool
    depth: int
    module: str
    name: str


def _places(modules: dict[str, types.ModuleType]) -> dict[int, tuple[_ObjectPlace, Any]]:
    """Return the classes and functions of the modules by identity, each with its best place."""
    best: dict[int, tuple[_ObjectPlace, Any]] = {}
    for shown_as, module in modules.items():
        if shown_as in PLATFORM_HALVES:
            continue
        listed = frozenset(getattr(module, "__all__", ()))
        for name in sorted(name for name in listed.union(vars(module)) if not name.startswith("_")):
            value = getattr(module, name, None)
            foreign = _foreign(value, shown_as, module)
            if _kind(value) is None:
                continue
            if foreign and (name not in listed or value.__module__.partition(".")[0] not in sys.stdlib_module_names):
                continue
            place = _ObjectPlace(foreign, name not in listed, shown_as.count("."), shown_as, name)
            key = id(_inner(value))
            if key not in best or place < best[key][0]:
                best[key] = (place, value)
    return best


def _foreign(value: Any, shown_as: str, module: types.ModuleType) -> bool:
    """Return True if an object was defined outside a module, its submodules and the C module it wraps."""
    home = getattr(value, "__module__", None)
    names = (shown_as, module.__name__)
    return (
        isinstance(home, str) and home.lstrip("_") not in names and not home.startswith(tuple(f"{n}." for n in names))
    )


def _kind(value: Any) -> str | None:
    if isinstance(value, type) and not isinstance(value, types.GenericAlias):
        return "class"
    cached = hasattr(type(value), "cache_info")
    return "function" if inspect.isroutine(value) or cached else None


def _inner(value: Any) -> Any:
    """Return the function in a method, static method, class method or property; other objects unchanged."""
    if isinstance(value, (types.MethodType, staticmethod, classmethod)):
        return value.__func__
    if isinstance(value, property):
        return value.fget or value
    return value.func if isinstance(value, cached_property) else value


_DATA = (property, cached_property, types.GetSetDescriptorType, types.MemberDescriptorType)


# -- entries ---------------------------------------------------------------------------------------------------------


class _Collection:
    """Builds the entries and links."""

    def __init__(self) -> None:
        self.result = Documentation()
        self.titles: set[str] = set()
        self.seen: set[int] = set()

    def read(self, modules: dict[str, types.ModuleType]) -> Documentation:
        """Add the entries of modules, then of their members, and links from containers to members."""
        for name, module in modules.items():
            if name not in PLATFORM_HALVES and self.add(name, "module", name, _own_doc(module)):
                self.link(name.rpartition(".")[0], name)
        places = sorted(_places(modules).values(), key=lambda placed: placed[0])
        self.seen.update(id(_inner(value)) for _, value in places)
        for place, value in places:
            title = place.name if place.module == "builtins" else f"{place.module}.{place.name}"
            if isinstance(value, type):
                self.add_class(title, place.module, value)
            elif self.add(title, "function", place.module, _own_doc(value), _signature(value, place.name)):
                self.link(place.module, title)
        for name, text in TOPICS.items():
            self.add(f"Python: {name.lower()}", "topic", "language", text.strip())
        return self.result

    def add_class(self, title: str, module: str, cls: type, owner: str | None = None) -> None:
        """Add the entries of a class and its members; members of public bases belong to the base."""
        own_doc = _own_doc(cls)
        doc = own_doc or next(filter(None, map(_own_doc, cls.__mro__[1:-1])), "")
        if self.add(title, "class", module, doc, _signature(cls, cls.__name__), is_own=bool(own_doc)):
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
            own_doc = "" if name.startswith("__") else _own_doc(raw)
            # As in `help`, the docstring may be that of the member that it overrides.
            overridden = (vars(base)[name] for base in cls.__mro__[1:] if name in vars(base))
            doc = own_doc or _own_doc(raw) or next(filter(None, map(_own_doc, overridden)), "")
            if self.add(whole, kind, module, doc, signature, is_own=bool(own_doc)):
                self.link(title, whole)

    def members(self, cls: type) -> dict[str, tuple[Any, type]]:
        """Return the members that a class or its private bases define, with the defining class."""
        members = {name: (raw, cls) for name, raw in vars(cls).items()}
        public = [base for base in cls.__mro__[1:-1] if id(base) in self.seen]
        for base in cls.__mro__[1:-1]:
            private = base.__name__.startswith("_") or _private(base.__module__)
            if private and base not in public and not any(base in above.__mro__ for above in public):
                members = {name: (raw, base) for name, raw in vars(base).items()} | members
        return members

    def add(self, title: str, kind: str, module: str, doc: str, signature: str = "", *, is_own: bool = True) -> bool:
        """Add an entry if there is a docstring and the title is new; return True if added.

        Args:
            is_own: True if the docstring is not inherited and not of a special method; it then ranks higher.
        """
        if not doc or title in self.titles:
            return False
        self.titles.add(title)
        description, signature = _split_signature(doc, signature)
        deprecated = _DEPRECATED.search(doc) is not None
        self.result.entries.append(
            {
                "id": PREFIX + title.replace(" ", ""),
                "title": title,
                "description": description,
                "context": signature,
                "type": kind,
                "domain": module.partition(".")[0],
                "severity": "warning" if is_own and not deprecated else "suggestion",
                "tags": words_of(title.rpartition(".")[2]),
                "attrs": {"deprecated": True} if deprecated else {},
            }
        )
        return True

    def link(self, owner: str, member: str) -> None:
        """Link a container to its member if the container is an entry."""
        if owner in self.titles:
            self.result.links.append((PREFIX + owner, PREFIX + member, "contains"))


_DEPRECATED = re.compile(r"\bdeprecated\b", re.IGNORECASE)
#: Prefixes of generated docstrings.
_GENERATED = ("Alias for field number", "An enumeration.")
_PLUMBING = frozenset({"__dict__", "__weakref__", "__module__"})
_SLOTS = (types.WrapperDescriptorType, types.MethodDescriptorType)
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


def _own_doc(value: Any) -> str:
    source = _inner(value) if isinstance(value, (staticmethod, classmethod, types.MethodType)) else value
    doc = None if isinstance(source, type) and "__doc__" not in vars(source) else getattr(source, "__doc__", None)
    text = inspect.cleandoc(doc).encode("utf-8", "replace").decode() if isinstance(doc, str) else ""
    return "" if text.startswith(_GENERATED) else text


def _split_signature(doc: str, signature: str) -> tuple[str, str]:
    """Split a signature on the first line, as in docstrings of C functions, from the docstring."""
    first, _, rest = doc.partition("\n")
    if not rest.strip() or not _SIGNATURE_LINE.fullmatch(first.strip()):
        return doc, signature
    return inspect.cleandoc(rest).strip(), signature or first.strip()


def _signature(value: Any, name: str) -> str:
    """Return ``name(parameters)`` without annotations; empty if the object has no signature."""
    inner = _inner(value)
    if parameters := _plain_parameters(inner):
        return name + parameters
    try:
        signature = inspect.signature(inner)
    except (TypeError, ValueError, NameError, AttributeError, RecursionError):
        return ""
    plain = [
        p.replace(annotation=inspect.Parameter.empty, default=_shown_default(p.default))
        for p in signature.parameters.values()
    ]
    return name + str(inspect.Signature(plain))


def _plain_parameters(function: Any) -> str:
    """Return the parameters of a common function as `inspect` does, ten times as fast; empty for other objects."""
    if type(function) in _SLOTS and not set("=[") & set(text := function.__text_signature__ or "="):
        return str(text.replace("$", "", 1))
    # One with attributes may wrap another, or have a signature of its own.
    if type(function) is not types.FunctionType or vars(function):
        return ""
    code, names = function.__code__, function.__code__.co_varnames
    count = code.co_argcount
    after = count + code.co_kwonlyargcount
    defaults = function.__defaults__ or ()
    pairs = [*zip(names[count - len(defaults) : count], defaults), *(function.__kwdefaults__ or {}).items()]
    values = {name: value for name, value in pairs if value is not inspect.Parameter.empty}
    shown = [f"{name}={_shown_default(values[name])!r}" if name in values else name for name in names[:after]]
    positional, keywords = shown[:count], shown[count:]
    if code.co_posonlyargcount:
        positional.insert(code.co_posonlyargcount, "/")
    if code.co_flags & inspect.CO_VARARGS:
        positional.append(f"*{names[after]}")
        after += 1
    elif keywords:
        positional.append("*")
    if code.co_flags & inspect.CO_VARKEYWORDS:
        keywords.append(f"**{names[after]}")
    return f"({', '.join(positional + keywords)})"


class _Ellipsis:
    """Replaces a default whose repr is long or differs between runs."""

    def __repr__(self) -> str:
        return "..."


def _shown_default(default: Any) -> Any:
    short = isinstance(default, (bool, int, float, str, bytes, type(None))) and len(repr(default)) <= 40
    return default if short or default is inspect.Parameter.empty else _Ellipsis()
