"""Which files of an agent's workspace count, in the recorded order of discovery, over the recorded tree."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.files.roots import CURATED, is_memory_path, root_at
from septet.files.sources import RootFile, Scan, file_at, scan

RECORDED = other_recording("openclaw-file-discovery")
VERSIONS = RECORDED["versions"]
WORKSPACE = "ws"
HARD_LINK = re.compile(r"(?P<path>.*) \(hard link to (?P<to>.*)\)")
#: What a version counts in the root itself.
KNOWN = {"2026.2.12": {"MEMORY.md", "memory.md"}, "2026.9.6": {"MEMORY.md", "USER.md"}}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded tree, with a text of its own in each file."""
    base = tmp_path_factory.mktemp("tree")
    hard = []
    for line in RECORDED["tree"]["files"]:
        if linked := HARD_LINK.fullmatch(line):
            hard.append(linked)
            continue
        path = base / line
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line, encoding="utf-8")
    for linked in hard:
        path = base / linked["path"]
        os.link(path.parent / linked["to"], path)
    for link, target in RECORDED["tree"]["symlinks"].items():
        (base / link).symlink_to(base / target)
    return base


def scanned(tree: Path, extra: list[str]) -> Scan:
    return scan(root_at(tree / WORKSPACE, layout="memory", paths=extra))


def named_otherwise(case: dict[str, list[str]]) -> set[str]:
    """Return the curated files that ``paths`` find too, which every version lists then."""
    everywhere = set.intersection(*(set(case[version]) for version in VERSIONS))
    return everywhere & set(CURATED)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: ",".join(c["extraPaths"]) or "none")
@differs("curated-files-of-both-versions")
def test_the_recorded_files_are_found(tree, case, version):
    found = sorted(file.path for file in scanned(tree, case["extraPaths"]).files)
    there = {name for name in CURATED if (tree / WORKSPACE / name).exists()}
    ours_alone = there - KNOWN[version] - named_otherwise(case)
    assert found == sorted({*case[version], *ours_alone})


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: ",".join(c["extraPaths"]) or "none")
@differs("what-is-left-out-is-told")
def test_every_link_and_every_path_that_brings_nothing_is_told(tree, case):
    scan = scanned(tree, case["extraPaths"])
    told = {(one.path, one.reason) for one in scan.skipped}
    links = {os.path.relpath(link, WORKSPACE) for link in RECORDED["tree"]["symlinks"]}
    within = {link for link in links if not link.startswith("..")}
    assert {(link, "symlink") for link in within} <= told
    for extra in case["extraPaths"]:
        path = tree / WORKSPACE / extra
        if path.is_symlink():
            assert (extra, "symlink") in told
        elif not path.exists():
            assert (extra, "missing") in told
        elif path.is_file() and path.suffix != ".md":
            assert (extra, "ending") in told
        else:
            assert any(file.real.startswith(str(path.resolve())) for file in scan.files)
    assert not {path for path, _ in told} & {file.path for file in scan.files}


def test_curated_files_come_first_then_the_folder_then_what_is_named(tree):
    paths = [file.path for file in scanned(tree, ["docs", "../ext"]).files]
    groups = [
        CURATED.index(p) if p in CURATED else 3 if p.startswith("memory/") else 4 + p.startswith("..") for p in paths
    ]
    assert groups == sorted(groups)
    assert set(groups) == {0, 2, 3, 4, 5}


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda c: ",".join(c["extraPaths"]) or "none")
def test_one_file_is_looked_up_as_all_are_listed(tree, case):
    root = root_at(tree / WORKSPACE, layout="memory", paths=case["extraPaths"])
    listed = {file.path: file for file in scan(root).files}
    everything = [Path(folder, name) for folder, _, names in os.walk(tree) for name in names]
    for path in everything:
        shown = os.path.relpath(path, tree / WORKSPACE)
        expected: RootFile | None = listed.get(shown)
        assert file_at(root, shown) == expected
        assert file_at(root, str(path)) == expected


def strict(path: str) -> bool:
    """Say whether a path stays below the root: neither absolute nor leading out, and the same on every system."""
    return not path.startswith(("/", "..")) and "\\" not in path


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", RECORDED["isMemoryPath"], ids=lambda c: repr(c["path"]))
@differs("curated-files-of-both-versions", "memory-paths-are-below-the-root")
def test_memory_paths_are_the_recorded_ones(case, version):
    path = case["path"]
    recorded = case[version] and strict(path)
    if path in CURATED:
        recorded = True
    elif "/" not in path:
        # What later versions read back by its name alone is never listed.
        recorded = False
    assert is_memory_path(path) == recorded
