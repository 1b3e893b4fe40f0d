"""AsyncVault and AsyncFederation have every public method of Vault and Federation, with the same arguments."""

import ast
import inspect
import sys
import typing
from functools import cache
from pathlib import Path

import pytest

import septet
from septet import AsyncFederation, AsyncPostgresVault, AsyncVault, Federation, PostgresVault, Vault

PAIRS = {Vault: AsyncVault, PostgresVault: AsyncPostgresVault, Federation: AsyncFederation}
#: What an async class has beside: how it is opened, and what is behind it.
OWN = {"open", "of", "blocking", "on_thread", "max_workers"}
#: Methods whose arguments take more than those of the other class do.
WIDER = {("AsyncVault", "add_many"): {"items"}, ("AsyncFederation", "add_many"): {"items"}}
WIDER["AsyncPostgresVault", "add_many"] = {"items"}
WIDER["AsyncFederation", "connect"] = {"vault"}


def public(kind):
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def parameters(function):
    return [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]


def plain(found):
    return getattr(found, "__func__", found)


METHODS = [
    (kind, name, plain(found)) for kind in PAIRS for name, found in public(kind).items() if callable(plain(found))
]
IDS = [f"{kind.__name__}.{name}" for kind, name, _ in METHODS]


@pytest.mark.parametrize(("kind", "name", "method"), METHODS, ids=IDS)
def test_every_public_method_has_a_twin_that_is_awaited_and_takes_the_same(kind, name, method):
    twin = plain(inspect.getattr_static(PAIRS[kind], name))
    assert inspect.iscoroutinefunction(twin) or inspect.isasyncgenfunction(twin)
    wider = WIDER.get((PAIRS[kind].__name__, name), set())
    for own, theirs in zip(parameters(twin), parameters(method), strict=True):
        assert (own.name, own.kind, own.default) == (theirs.name, theirs.kind, theirs.default)
        if own.name not in wider:
            assert str(own.annotation) == str(theirs.annotation)


@pytest.mark.parametrize("kind", PAIRS)
def test_there_is_nothing_else(kind):
    assert set(public(PAIRS[kind])) - set(public(kind)) == OWN


@pytest.mark.parametrize("kind", PAIRS)
def test_the_constructor_takes_the_same_and_how_many_threads(kind):
    own, theirs = parameters(PAIRS[kind].__init__), parameters(kind.__init__)
    assert [p.replace(annotation=None) for p in own[:-1]] == [p.replace(annotation=None) for p in theirs]
    assert [str(p.annotation) for p in own[1:-1]] == [str(p.annotation) for p in theirs[1:]]
    assert own[-1].name == "max_workers"


@pytest.mark.parametrize("kind", PAIRS)
def test_type_checkers_see_every_method(kind):
    """A method that is not named in the body is there when a program runs, and type checkers refuse it."""
    twin = PAIRS[kind]
    named = set()
    for node in (inner for one in (twin, twin.__base__) for statement in body_of(one) for inner in ast.walk(statement)):
        if isinstance(node, ast.Assign):
            named |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            named.add(node.name)
    missing = set(public(kind)) - named - {"close"}
    assert not missing, f"write a line for each into {twin.__name__}: {sorted(missing)}"


@cache
def body_of(kind):
    """What stands in a class of this package."""
    tree = ast.parse(Path(inspect.getfile(kind)).read_text(encoding="utf-8"))
    return next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="overloads are not kept")
@pytest.mark.parametrize(("kind", "name", "method"), METHODS, ids=IDS)
def test_what_is_overloaded_is_overloaded_alike(kind, name, method, monkeypatch):
    theirs = [inspect.signature(one) for one in typing.get_overloads(method)]
    if theirs:
        own = overloads_for_type_checkers(PAIRS[kind], name)
        assert own == [sorted(map(str, one.parameters.values())) for one in theirs]


def overloads_for_type_checkers(twin, name):
    """The parameters of each overload in the source, which does not run."""
    found = []
    for node in (inner for one in (twin, twin.__base__) for statement in body_of(one) for inner in ast.walk(statement)):
        if isinstance(node, ast.AsyncFunctionDef) and node.name == name and node.decorator_list:
            namespace = {}
            head = ast.unparse(ast.Module([node], [])).replace("@overload\n", "").replace("async def", "def")
            exec(f"from __future__ import annotations\n{head}", namespace)
            found.append(sorted(map(str, inspect.signature(namespace[name]).parameters.values())))
    return found


@pytest.mark.parametrize("kind", PAIRS)
def test_what_python_asks_without_a_name_has_its_twin(kind):
    assert {name for name in ("__iter__", "__getitem__", "__next__") if hasattr(kind, name)} == {"__iter__"}
    assert hasattr(PAIRS[kind], "__aiter__")
    # Counting would run on the loop's thread.
    assert not [name for name in ("__len__", "__contains__", "__iter__") if hasattr(PAIRS[kind], name)]


def test_the_async_classes_are_public():
    assert {"AsyncVault", "AsyncPostgresVault", "AsyncFederation"} <= set(septet.__all__)
