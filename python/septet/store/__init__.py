"""Backends: the protocol of a store and its tables, their rows and rules."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["LateTables"]


class LateTables:
    """The modules of a package by name, imported on first use: most programs use a few."""

    def __init__(self, package: str) -> None:
        self._package = package

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            module = import_module(f"{self._package}.{name}")
            setattr(self, name, module)
            return module
