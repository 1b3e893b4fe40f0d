"""Which crates a wheel is made of, as cargo resolves them for its target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from release.targets import ROOT, Target
from release.toolchain import run


class Crate(NamedTuple):
    """A crate of the tree, and where its sources lie."""

    name: str
    version: str
    licence: str
    folder: Path
    licence_file: str | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def linked_in(metadata: dict[str, Any]) -> list[Crate]:
    """The crates below the root over ordinary dependencies, from cargo's metadata: not those of tests or builds.

    Macros are among them: what they expand to is in the library. Crates of this workspace are not.
    """
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    root = metadata["resolve"]["root"]
    found, waiting = {root}, [root]
    while waiting:
        for needed in nodes[waiting.pop()]["deps"]:
            ordinary = any(kind["kind"] is None for kind in needed["dep_kinds"])
            if ordinary and needed["pkg"] not in found:
                found.add(needed["pkg"])
                waiting.append(needed["pkg"])
    crates = [
        Crate(p["name"], p["version"], p["license"] or "", Path(p["manifest_path"]).parent, p["license_file"])
        for p in (packages[identity] for identity in found)
        if p["source"]  # a path has none
    ]
    return sorted(crates)


def crates_of(target: Target, root: Path = ROOT) -> list[Crate]:
    """The crates that a wheel for the target links, whose sources are fetched where they are missing."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--manifest-path", "rust/binding/Cargo.toml", "--filter-platform", target.triple]
    return linked_in(json.loads(run(command, cwd=root)))
