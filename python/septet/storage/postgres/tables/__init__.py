"""One module per table of PostgreSQL, with the functions and signatures of its twin in `septet.storage.tables`.

SQL names the vault in every statement, and the buckets where it knows them. Values are parameters, cast where
PostgreSQL cannot tell their type (`%s::text`), which Citus needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["PostgresTables"]


class PostgresTables:
    """The modules by name, loaded when they are first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        module = import_module(f"{__name__}.{name}")
        setattr(self, name, module)
        return module
