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
from sources import FUNCTION, assert_none, line_of, place, tree_of

PAIRS = {Vault: AsyncVault, PostgresVault: AsyncPostgresVault, Federation: AsyncFederation}
#: Names of an async class alone: how it is opened, and what is behind it.
OWN = {"open", "of", "blocking", "on_thread", "max_workers"}
#: Methods whose arguments take more than those of the other class do.
WIDER = {("AsyncVault", "add_many"): {"items"}, ("AsyncFederation", "add_many"): {"items"}}
WIDER["AsyncPostgresVault", "add_many"] = {"items"}
WIDER["AsyncFederation", "connect"] = {"vault"}


def public(kind):
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def parameters(function):
    return [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]


def plain(attribute):
    return getattr(attribute, "__func__", attribute)


#: Every public method with its class and name.
METHODS = [
    (kind, name, plain(attribute))
    for kind in PAIRS
    for name, attribute in public(kind).items()
    if callable(plain(attribute))
]


def place_of(twin):
    path = Path(inspect.getfile(twin))
    return place(path, line_of(path, f"class {twin.__name__}"))


def names(parameter):
    return parameter.name, parameter.kind, parameter.default


def differences(kind, name, method):
    """The ways in which the twin of a method is none."""
    twin = plain(inspect.getattr_static(PAIRS[kind], name, None))
    if twin is None:
        return ["is missing"]
    if not (inspect.iscoroutinefunction(twin) or inspect.isasyncgenfunction(twin)):
        return ["is not awaited"]
    own, theirs = parameters(twin), parameters(method)
    if [*map(names, own)] != [*map(names, theirs)]:
        return [f"takes {[*map(str, own)]}, that of {kind.__name__} {[*map(str, theirs)]}"]
    wider = WIDER.get((PAIRS[kind].__name__, name), set())
    return [
        f"takes {mine}, that of {kind.__name__} {other}"
        for mine, other in zip(own, theirs, strict=True)
        if mine.name not in wider and str(mine.annotation) != str(other.annotation)
    ]


def test_every_public_method_has_a_twin_that_is_awaited_and_takes_the_same():
    faults = [
        f"{place_of(PAIRS[kind])}: {PAIRS[kind].__name__}.{name} {difference}"
        for kind, name, method in METHODS
        for difference in differences(kind, name, method)
    ]
    assert_none(faults)


def test_there_is_nothing_else():
    faults = [
        f"{place_of(twin)}: {twin.__name__}.{name} is in one of the class and OWN alone"
        for kind, twin in PAIRS.items()
        for name in sorted((public(twin).keys() - public(kind).keys()) ^ OWN)
    ]
    assert_none(faults)


def test_the_constructor_takes_the_same_and_how_many_threads():
    faults = []
    for kind, twin in PAIRS.items():
        own, theirs = parameters(twin.__init__), parameters(kind.__init__)
        same = [p.replace(annotation=None) for p in own[:-1]] == [p.replace(annotation=None) for p in theirs]
        alike = [str(p.annotation) for p in own[1:-1]] == [str(p.annotation) for p in theirs[1:]]
        if not (same and alike and own[-1].name == "max_workers"):
            faults.append(f"{place_of(twin)}: the constructor takes {[*map(str, own)]}, not {[*map(str, theirs)]}")
    assert_none(faults)


def test_type_checkers_see_every_method():
    """A method that is not named in the body is there when a program runs, and type checkers refuse it."""
    faults = []
    for kind, twin in PAIRS.items():
        named = set()
        for node in nodes_in(twin):
            if isinstance(node, ast.Assign):
                named |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            elif isinstance(node, FUNCTION):
                named.add(node.name)
        missing = sorted(public(kind).keys() - named - {"close"})
        faults += [f"{place_of(twin)}: write a line for {name} into {twin.__name__}" for name in missing]
    assert_none(faults)


@cache
def nodes_in(twin):
    """Every node in the bodies of an async class and of its base."""
    return [node for kind in (twin, twin.__base__) for statement in body_of(kind) for node in ast.walk(statement)]


def body_of(kind):
    """The statements in a class of this package."""
    tree = tree_of(Path(inspect.getfile(kind)))
    return next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="overloads are not kept")
def test_what_is_overloaded_is_overloaded_alike():
    faults = []
    for kind, name, method in METHODS:
        signatures = [inspect.signature(overload) for overload in typing.get_overloads(method)]
        theirs = [sorted(map(str, signature.parameters.values())) for signature in signatures]
        if theirs and (own := overloads_for_type_checkers(PAIRS[kind], name)) != theirs:
            twin = PAIRS[kind]
            faults.append(f"{place_of(twin)}: overloads of {twin.__name__}.{name} are {own}, of its twin {theirs}")
    assert_none(faults)


def overloads_for_type_checkers(twin, name):
    """The parameters of each overload in the source, which does not run."""
    overloads = []
    for node in nodes_in(twin):
        if isinstance(node, ast.AsyncFunctionDef) and node.name == name and node.decorator_list:
            namespace = {}
            head = ast.unparse(ast.Module([node], [])).replace("@overload\n", "").replace("async def", "def")
            exec(f"from __future__ import annotations\n{head}", namespace)
            overloads.append(sorted(map(str, inspect.signature(namespace[name]).parameters.values())))
    return overloads


def test_what_python_asks_without_a_name_has_its_twin():
    faults = []
    for kind, twin in PAIRS.items():
        asked = {name for name in ("__iter__", "__getitem__", "__next__") if hasattr(kind, name)}
        faults += [
            f"{place_of(kind)}: {kind.__name__}.{name} is in one of the class and this test alone"
            for name in asked ^ {"__iter__"}
        ]
        if not hasattr(twin, "__aiter__"):
            faults.append(f"{place_of(twin)}: {twin.__name__} has no __aiter__")
        # Counting would run on the loop's thread.
        blocking = [name for name in ("__len__", "__contains__", "__iter__") if hasattr(twin, name)]
        faults += [f"{place_of(twin)}: {twin.__name__} has {name}" for name in blocking]
    assert_none(faults)


def test_the_async_classes_are_public():
    assert {"AsyncVault", "AsyncPostgresVault", "AsyncFederation"} <= set(septet.__all__)
