"""The tests of the vault, run on other stores: what `tests/integration` says of a `Vault` holds of every backend.

A backend is a function here, and a name in `BACKENDS`. It is given a pytest request and returns what stands in tests
in the place of `Vault` and `AsyncVault`. A module beside this one names the file of tests that it runs, and which of
them are about files of SQLite.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

__all__ = ["BACKENDS", "Opened", "conforms"]

TESTS = Path(__file__).parents[1]
#: Arguments of `Vault` that concern its file alone.
OF_FILES = {"sidecar", "mapped"}
_runs = itertools.count(1)


class Opened:
    """A kind of vault in the place of `Vault`: what was opened as one file is one vault.

    Args:
        kind: the class; its methods are found here too.
        place: the arguments that open the vault of a name.
    """

    def __init__(self, kind: Any, place: Callable[[str], Mapping[str, Any]]) -> None:
        vars(self).update(kind=kind, place=place, made=[], names=itertools.count(1))

    def __call__(self, path: Any, **options: Any) -> Any:
        more = {name: value for name, value in options.items() if name not in OF_FILES}
        name = f"memory {next(self.names)}" if str(path) == ":memory:" else str(path)
        one = self.kind(**self.place(name), **more)
        self.made.append(one)
        return one

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kind, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # What a test puts in the place of a method is meant for all vaults.
        setattr(self.kind, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.kind, name)

    def close(self) -> None:
        """Close what the tests left open."""
        for one in self.made:
            one.close()


def _postgres(request: pytest.FixtureRequest) -> dict[str, Any]:
    from septet import AsyncPostgresVault, PostgresVault

    dsn, run = request.getfixturevalue("postgres").dsn(), next(_runs)

    def place(name: str) -> dict[str, Any]:
        # The path of a vault that is open names it again. What is tested is what is found, not how soon.
        shown = unquote(name.rpartition("?vault=")[2]) if "?vault=" in name else ""
        return {"dsn": dsn, "vault": shown or f"{run} {name}", "timeout_s": 60.0}

    return {
        "Vault": Opened(PostgresVault, place),
        "AsyncVault": Opened(AsyncPostgresVault, place),
        "full_text_is_sound": _postings_are_sound,
    }


def _postings_are_sound(vault: Any) -> bool:
    """Whether postings and counts of a vault on PostgreSQL are what its entries would make anew."""
    with vault._store.reading() as read:
        return not read.tables.checking.faults(read)


#: By name what makes a backend's stand-ins for the names in the tests.
BACKENDS: dict[str, Callable[[pytest.FixtureRequest], dict[str, Any]]] = {"postgres": _postgres}


def conforms(into: dict[str, Any], name: str, *, without: Mapping[str, str] = {}, thinned: Iterable[str] = ()) -> None:
    """Define the tests of a file once more, to be run on every backend.

    Args:
        into: the globals of the module that runs them.
        name: the file below `tests`, without its ending.
        without: tests that say nothing of other stores, and why.
        thinned: long tests, of whose parameters every second value is taken.
    """
    module = _module(name)
    tests = {key for key in vars(module) if key.startswith("test_")}
    unknown = (set(without) | set(thinned)) - tests
    assert not unknown, f"tests/{name}.py has no {', '.join(sorted(unknown))}"

    @pytest.fixture(scope="module", autouse=True, params=sorted(BACKENDS))
    def backend(request: pytest.FixtureRequest) -> Any:
        stand_ins = BACKENDS[request.param](request)
        before = {key: vars(module)[key] for key in stand_ins if key in vars(module)}
        vars(module).update({key: stand_ins[key] for key in before})
        yield request.param
        vars(module).update(before)
        stand_ins["Vault"].close()

    into["backend"] = backend
    for key in thinned:
        vars(module)[key].pytestmark = [_thinner(mark) for mark in vars(module)[key].pytestmark]
    for key, value in vars(module).items():
        if key in without:
            continue
        if key in tests or "fixture" in type(value).__name__.lower() or hasattr(value, "_pytestfixturefunction"):
            into[key] = value
    if hasattr(module, "pytestmark"):
        into["pytestmark"] = module.pytestmark


def _thinner(mark: pytest.Mark) -> pytest.Mark:
    if mark.name != "parametrize":
        return mark
    names, values = mark.args
    return pytest.mark.parametrize(names, list(values)[::2], **mark.kwargs).mark


def _module(name: str) -> Any:
    """Return a file of tests as a module of its own, beside the one that pytest runs."""
    unique = f"conformance_{Path(name).name}"
    if unique in sys.modules:
        return sys.modules[unique]
    spec = spec_from_loader(unique, SourceFileLoader(unique, str(TESTS / f"{name}.py")))
    assert spec is not None and spec.loader is not None
    module = sys.modules[unique] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
