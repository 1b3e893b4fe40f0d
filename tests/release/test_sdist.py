"""An sdist holds what a build needs, and nothing that was built."""

import io
import tarfile

import pytest

from release import sdist
from release.reproduce import differences
from release.sdist import faults_of, files_in


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A small project, of which an sdist is right that holds all its files."""
    root = tmp_path / "project"
    for name in ("python/septet/__init__.py", "python/septet/py.typed", "rust/core/src/lib.rs"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("", encoding="utf-8")
    monkeypatch.setattr(sdist, "places", lambda root: ("/builder/checkout/",))
    return root


@pytest.fixture
def files():
    needed = {name: name.encode() for name in sdist.NEEDED}
    return needed | {"python/septet/__init__.py": b"", "python/septet/py.typed": b"", "rust/core/src/lib.rs": b""}


def packed(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"septet-0.1.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_a_right_sdist_has_no_faults(tmp_path, sources, files):
    assert faults_of(packed(tmp_path / "s.tar.gz", files), sources) == []


@pytest.mark.parametrize("name", ["Cargo.lock", "LICENSE-MIT", "python/septet/py.typed", "rust/core/src/lib.rs"])
def test_what_a_build_needs_is_missed(tmp_path, sources, files, name):
    del files[name]
    assert faults_of(packed(tmp_path / "s.tar.gz", files), sources) == [f"{name} is missing"]


@pytest.mark.parametrize(
    "name", [".ci/run", "target/release/x", "python/septet/_core.abi3.so", "python/__pycache__/a.py", "a.db"]
)
def test_what_was_built_does_not_belong_there(tmp_path, sources, files, name):
    files[name] = b""
    assert faults_of(packed(tmp_path / "s.tar.gz", files), sources) == [f"{name} does not belong there"]


def test_an_sdist_of_an_earlier_commit_is_told_by_its_files(tmp_path, sources, files):
    files["rust/core/src/lib.rs"] = b"// as it was before"
    assert faults_of(packed(tmp_path / "s.tar.gz", files), sources) == ["rust/core/src/lib.rs differs from the source"]


def test_an_sdist_names_no_path_of_the_build_machine(tmp_path, sources, files):
    files["PKG-INFO"] = b"built in /builder/checkout/septet"
    faults = faults_of(packed(tmp_path / "s.tar.gz", files), sources)
    assert faults == ["PKG-INFO names /builder/checkout/"]


def test_a_comparison_names_the_files_that_differ(tmp_path, files):
    first = packed(tmp_path / "first.tar.gz", files)
    second = packed(tmp_path / "second.tar.gz", files | {"PKG-INFO": b"other", "new": b""})
    assert differences(first, second) == ["PKG-INFO", "new"]
    assert differences(first, first) == []


def test_a_comparison_sees_what_only_the_archive_says(tmp_path, files):
    first = packed(tmp_path / "first.tar.gz", files)
    second = packed(tmp_path / "second.tar.gz", dict(reversed(files.items())))
    assert files_in(first) == files_in(second)
    assert differences(first, second) == ["the archive, with the same files in it"]
