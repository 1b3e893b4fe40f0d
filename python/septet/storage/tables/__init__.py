"""The SQL of the package: one module for each table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["LOCAL", "LocalTables"]


class LocalTables:
    """The modules of `septet.storage.tables`, loaded when they are first asked for: most programs use a few."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            module = import_module(f"{__name__}.{name}")
            setattr(self, name, module)
            return module


LOCAL: Any = LocalTables()
