"""Public names of packages, loaded on first access: programs that do not use them do not pay for their imports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def loaded_late(
    package: str, homes: Mapping[str, str], *others: str
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Args:
        homes: names separated by blanks, by the module below the package that defines them.
        others: names that the package provides itself.
    """
    module_of = {name: module for module, names in homes.items() for name in names.split()}
    names = sorted([*module_of, *others])
    values = vars(sys.modules[package])

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        values[name] = value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        return value

    return names, load, lambda: sorted({*values, *names})
