"""AsyncVault and AsyncFederation have every public method of Vault and Federation, with the same arguments."""

import ast
import inspect
from functools import cache
from pathlib import Path

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
    if (PAIRS[kind], name) == (AsyncFederation, "tier"):
        # It only looks up a name.
        return []
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


def test_the_constructor_takes_the_same():
    faults = []
    for kind, twin in PAIRS.items():
        own, theirs = parameters(twin.__init__), parameters(kind.__init__)
        if [*map(str, own)] != [*map(str, theirs)]:
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
    """Every node in the bodies of an async class and of its bases."""
    kinds = [
        kind
        for kind in twin.__mro__
        if kind.__module__.startswith(("septet.aio", "septet.vault.faces")) or kind is twin
    ]
    return [node for kind in kinds for statement in body_of(kind) for node in ast.walk(statement)]


def body_of(kind):
    """The statements in a class of this package."""
    tree = tree_of(Path(inspect.getfile(kind)))
    return next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


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
