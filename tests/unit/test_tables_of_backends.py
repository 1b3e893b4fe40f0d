"""Functions of tables take arguments by the names that are written down for all backends; types are mypy's matter."""

import inspect
from importlib import import_module

import pytest

from septet.store import protocol, table_protocols, vector_protocols


def asked_of(table):
    """The functions that are asked of a table, by name."""
    kind = protocol.Tables.__annotations__[table].__forward_arg__.rpartition(".")[2]
    protocols = vars(table_protocols) | vars(vector_protocols)
    return {name: f for name, f in vars(protocols[kind]).items() if inspect.isfunction(f) and name[0] != "_"}


def arguments_of(function):
    """Name, kind and default of each argument but ``self``; what a transaction is called is each backend's own."""
    found = [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]
    return [one for one in found if one[0] not in ("self", "read", "write")]


@pytest.mark.parametrize("package", ["septet.sqlite.tables", "septet.postgres.tables"])
@pytest.mark.parametrize("table", protocol.Tables._fields)
def test_a_table_has_the_functions_and_arguments_that_are_asked_of_it(package, table):
    module = import_module(f"{package}.{table}")
    asked = asked_of(table)
    assert asked
    assert {name: arguments_of(getattr(module, name)) for name in asked} == {
        name: arguments_of(function) for name, function in asked.items()
    }
