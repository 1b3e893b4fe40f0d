"""The licences of others are collected whole, each text once, and what has none is an error."""

import pytest

from release.crates import Crate, linked_in
from release.licences import NoLicenceText, Notice, missing_in, of_crate, of_std, of_zig, rendered

PAGE = """<html><body><h1>Copyright notices</h1>
<p>The library is licensed under Apache-2.0 OR MIT, parts under NCSA.</p>
<h3>\N{PACKAGE} hashbrown-0.16.1</h3><p><b>License:</b> MIT OR Apache-2.0</p>
<p><b>Notices:</b><details><summary><code>LICENSE-MIT</code></summary><pre>
Copyright (c) Amanieu &amp; others</pre></details></p>
<h3>\N{PACKAGE} windows-link-0.2.1</h3><p><b>License:</b> MIT</p>
</body></html>"""


def crate_in(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_", "-")).write_text(text, encoding="utf-8")
    return Crate("example", "1.2.3", "MIT OR Apache-2.0", folder)


@pytest.fixture
def toolchain(tmp_path):
    documents = tmp_path / "share" / "doc" / "rust"
    (documents / "licenses").mkdir(parents=True)
    (documents / "COPYRIGHT-library.html").write_text(PAGE, encoding="utf-8")
    for name in ("MIT", "Apache-2.0", "NCSA", "OFL-1.1"):
        (documents / "licenses" / f"{name}.txt").write_text(f"Text of {name}", encoding="utf-8")
    return tmp_path


def test_a_crate_brings_every_licence_beside_its_manifest(tmp_path):
    crate = crate_in(tmp_path, LICENSE_MIT="Permission", COPYING="See both", UNLICENSE="Free", README="No licence")
    assert of_crate(crate) == Notice("example 1.2.3", "MIT OR Apache-2.0", ("See both", "Permission", "Free"))


def test_a_crate_may_name_another_file(tmp_path):
    (tmp_path / "terms.txt").write_text("Terms", encoding="utf-8")
    crate = crate_in(tmp_path)._replace(licence="", licence_file="terms.txt")
    assert of_crate(crate).texts == ("Terms",)


@pytest.mark.parametrize("files", [{}, {"README": "MIT"}, {"LICENSE": " \n"}])
def test_a_crate_without_a_text_is_an_error(tmp_path, files):
    with pytest.raises(NoLicenceText, match=r"example 1\.2\.3"):
        of_crate(crate_in(tmp_path, **files))


def test_the_standard_library_brings_its_own_and_those_of_its_crates(toolchain):
    std, hashbrown = of_std(toolchain, "1.95.0")
    assert std.name == "rust-std 1.95.0"
    assert std.texts[1:] == ("Text of Apache-2.0", "Text of MIT", "Text of NCSA")
    assert hashbrown == Notice("hashbrown-0.16.1 of rust-std", "MIT OR Apache-2.0", ("Copyright (c) Amanieu & others",))


@pytest.mark.parametrize("name", ["COPYRIGHT-library.html", "licenses/*.txt"])
def test_a_toolchain_without_its_licences_is_an_error(toolchain, name):
    for path in (toolchain / "share" / "doc" / "rust").glob(name):
        path.unlink()
    with pytest.raises(NoLicenceText, match="standard library"):
        of_std(toolchain, "1.95.0")


def test_zig_without_the_licence_of_its_unwinder_is_an_error(tmp_path):
    (tmp_path / "LICENSE").write_text("MIT", encoding="utf-8")
    with pytest.raises(NoLicenceText, match="llvm-libunwind"):
        of_zig(tmp_path, "0.17.1")


def test_a_text_that_several_bring_stands_there_once():
    notices = [Notice("a 1", "MIT", ("Same\n  text",)), Notice("b 2", "MIT", ("Same text", "Other text"))]
    text = rendered(notices)
    assert text.count("Same") == 1
    assert "Text 1, of a 1, b 2" in text
    assert "b 2 | MIT | texts 1, 2" in text
    assert missing_in(text, ["a 1", "b 2"]) == []


def test_a_component_that_is_not_named_is_missed():
    assert "c 3 is not named" in missing_in(rendered([Notice("a 1", "MIT", ("Text",))]), ["c 3"])[0]


def metadata_of(*needs):
    """What cargo says of a root that needs the crates, each with the kind of the need."""
    packages = [
        {"id": n, "name": n, "version": "1", "license": "MIT", "manifest_path": f"{n}/Cargo.toml"}
        | {"license_file": None, "source": None if n in ("root", "core") else "registry"}
        for n in ("root", *(name for name, _ in needs))
    ]
    deps = [{"pkg": name, "dep_kinds": [{"kind": kind}]} for name, kind in needs]
    nodes = [{"id": "root", "deps": deps}, *({"id": name, "deps": []} for name, _ in needs)]
    return {"packages": packages, "resolve": {"root": "root", "nodes": nodes}}


def test_crates_of_tests_and_of_builds_are_not_linked():
    metadata = metadata_of(("regex", None), ("criterion", "dev"), ("cc", "build"))
    assert [crate.name for crate in linked_in(metadata)] == ["regex"]


def test_crates_of_the_workspace_are_no_others():
    assert [crate.name for crate in linked_in(metadata_of(("core", None), ("regex", None)))] == ["regex"]
