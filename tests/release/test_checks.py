"""Every check of a wheel holds for a right one, and fails for the wheel that it is there for."""

import platform
import shutil
import subprocess
import sys

import pytest

import small_wheels as wheels
from release import build, checks
from release.licences import FILE_NAME as THIRD_PARTY
from release.sbom import FILE_NAME as SBOM
from release.targets import TARGETS, WINDOWS
from release.wheelfile import Wheel

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or shutil.which("cc") is None,
    reason="compiles modules for x86-64 Linux",
)


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    return wheels.compiled(tmp_path_factory.mktemp("module"))


@pytest.fixture
def members(module):
    return wheels.members_of(module)


@pytest.fixture
def said(tmp_path, members):
    """What a check says of the members as they are by then."""

    def ask(check, name=wheels.NAME):
        return check(wheels.written(tmp_path, members, name), wheels.expected())

    return ask


def test_a_right_wheel_passes_every_check(tmp_path, members):
    faults = checks.faults_of(wheels.written(tmp_path, members), wheels.expected())
    assert faults == {name: [] for name in checks.CHECKS if name != "library"}


def test_a_wheel_of_one_python_is_no_stable_abi(said):
    name = wheels.NAME.replace("abi3", "cp310")
    assert "has no tag cp310-abi3-manylinux_2_17_x86_64" in " ".join(said(checks.check_tag, name))


def test_a_wheel_of_another_platform_is_refused(said):
    assert said(checks.check_tag, wheels.NAME.replace("2_17", "2_34"))


def test_a_name_that_says_more_than_the_metadata_is_refused(said):
    assert "WHEEL lists" in " ".join(said(checks.check_tag, wheels.NAME.replace(".whl", ".linux_x86_64.whl")))


def test_auditwheel_finds_a_newer_glibc_than_the_tag_says(said, members, tmp_path):
    # The version that C23's strtol has; an older machine's compiler may link the old one.
    source = wheels.MODULE_SOURCE + "\nextern int pidfd_getpid(int); int (*asked)(int) = pidfd_getpid;"
    source += '\n__asm__(".symver pidfd_getpid, pthread_create@GLIBC_2.34");'
    members[wheels.TARGET.module] = wheels.compiled(tmp_path, source, "-s", "-lc")
    assert said(checks.check_auditwheel) == ["auditwheel says manylinux_2_34_x86_64"]
    assert f"{wheels.TARGET.module} asks for GLIBC_2.34" in said(checks.check_symbols)


def test_auditwheel_refuses_a_wheel_without_a_shared_object(said, members):
    del members[wheels.TARGET.module]
    assert "auditwheel" in said(checks.check_auditwheel)[0]


def test_a_library_that_machines_need_not_have_is_refused(said, members, tmp_path):
    (tmp_path / "libneedless.so").write_bytes(wheels.compiled(tmp_path, "int needless(void) { return 1; }"))
    flags = ("-s", "-L.", "-Wl,--no-as-needed", "-lneedless")
    members[wheels.TARGET.module] = wheels.compiled(tmp_path, wheels.MODULE_SOURCE, *flags)
    assert said(checks.check_symbols) == [f"{wheels.TARGET.module} loads libneedless.so"]


def test_a_module_for_musl_asks_for_the_c_library_by_its_common_name(members, tmp_path):
    flags = ("-s", "-nodefaultlibs", "-Wl,-soname,libc.so")
    (tmp_path / "libmusl.so").write_bytes(wheels.compiled(tmp_path, "int needless(void) { return 1; }", *flags))
    flags = ("-s", "-nodefaultlibs", "-L.", "-Wl,--no-as-needed", "-lmusl")
    members[wheels.TARGET.module] = wheels.compiled(tmp_path, wheels.MODULE_SOURCE, *flags)
    expected = wheels.expected()._replace(target=TARGETS["musllinux-x86_64"])
    faults = checks.check_symbols(wheels.written(tmp_path, members), expected)
    assert faults == [f"{wheels.TARGET.module} loads libc.so"]


def test_a_folder_to_look_for_libraries_in_is_refused(said, members, tmp_path):
    members[wheels.TARGET.module] = wheels.compiled(tmp_path, wheels.MODULE_SOURCE, "-s", "-Wl,-rpath,/opt/lib")
    assert said(checks.check_symbols) == [f"{wheels.TARGET.module} looks for libraries in /opt/lib"]


def test_a_symbol_beside_the_entry_point_is_refused(said, members, tmp_path):
    members[wheels.TARGET.module] = wheels.compiled(tmp_path, wheels.MODULE_SOURCE + "\nint rust_begin_unwind;")
    assert said(checks.check_symbols) == [f"{wheels.TARGET.module} exports rust_begin_unwind"]


def test_a_module_without_its_entry_point_is_refused(said, members, tmp_path):
    members[wheels.TARGET.module] = wheels.compiled(tmp_path, "static int nothing;")
    assert said(checks.check_symbols) == [f"{wheels.TARGET.module} lacks PyInit__core"]


def test_what_a_debugger_reads_is_refused(said, members, tmp_path):
    members[wheels.TARGET.module] = wheels.compiled(tmp_path, wheels.MODULE_SOURCE, "-g")
    assert f"{wheels.TARGET.module} is not stripped: .debug" in said(checks.check_symbols)[0]


def test_a_module_for_another_machine_is_refused(said, members):
    changed = bytearray(members[wheels.TARGET.module])
    changed[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
    members[wheels.TARGET.module] = bytes(changed)
    assert f"{wheels.TARGET.module} is for EM_AARCH64" in said(checks.check_symbols)


def test_a_second_shared_object_is_refused(said, members):
    members["septet/other.so"] = members[wheels.TARGET.module]
    assert "the shared objects are" in said(checks.check_symbols)[0]


def test_a_wheel_above_the_limit_is_refused(said, members, monkeypatch):
    monkeypatch.setattr(checks, "MAX_BYTES", 1_000)
    assert "more than 1,000" in said(checks.check_size)[0]


@pytest.mark.parametrize("name", ["septet/__init__.py", f"{wheels.DIST_INFO}/METADATA", wheels.TARGET.module])
def test_a_wheel_names_no_path_of_the_build_machine(said, members, name):
    members[name] += b"\n/builder/checkout/rust/core/src/lib.rs"
    assert said(checks.check_places) == [f"{name} names /builder/checkout/"]


@pytest.mark.parametrize(
    "path", ["ho" + "me/ann/septet/lib.rs", "ro" + "ot/septet/lib.rs", "x/.cargo/registry/src/a.rs"]
)
def test_a_binary_names_nobodys_home(said, members, path):
    members[wheels.TARGET.module] += f"\0/{path}\0".encode()
    assert said(checks.check_places) == [f"{wheels.TARGET.module} names /{path}"]


def test_a_licence_that_metadata_does_not_list_is_missed(said, members):
    metadata = f"{wheels.DIST_INFO}/METADATA"
    members[metadata] = members[metadata].replace(f"License-File: {THIRD_PARTY}\n".encode(), b"")
    assert said(checks.check_licences) == [f"METADATA lists no {THIRD_PARTY}"]


def test_a_listed_licence_that_is_not_there_is_missed(said, members):
    del members[f"{wheels.DIST_INFO}/licenses/LICENSE-MIT"]
    assert said(checks.check_licences) == ["LICENSE-MIT is listed and missing"]


def test_a_crate_without_its_licence_is_missed(said, members):
    text = f"{wheels.DIST_INFO}/licenses/{THIRD_PARTY}"
    members[text] = members[text].replace(b"regex 1.13.1 |", b"regex 1.13.0 |")
    assert said(checks.check_licences) == [f"regex 1.13.1 is not named in {THIRD_PARTY}"]


def test_an_empty_licence_text_is_missed(said, members):
    text = f"{wheels.DIST_INFO}/licenses/{THIRD_PARTY}"
    members[text] = members[text].replace(b"Permission is granted", b"")
    assert f"rust-std 1.95.0 has no licence text in {THIRD_PARTY}" in said(checks.check_licences)


def test_a_wheel_without_a_bill_of_materials_is_refused(said, members):
    del members[f"{wheels.DIST_INFO}/sboms/{SBOM}"]
    assert said(checks.check_sbom) == [f"there is no {SBOM}"]


def test_a_crate_that_the_bill_leaves_out_is_missed(said, members):
    members[f"{wheels.DIST_INFO}/sboms/{SBOM}"] = wheels.bill_of(("rust-std", "1.95.0", "generic"))
    assert said(checks.check_sbom) == [f"{SBOM} does not name regex 1.13.1"]


def test_a_crate_that_the_lock_file_does_not_know_is_refused(said, members):
    parts = (("regex", "1.13.1", "cargo"), ("rust-std", "1.95.0", "generic"), ("leftpad", "1.0.0", "cargo"))
    members[f"{wheels.DIST_INFO}/sboms/{SBOM}"] = wheels.bill_of(*parts)
    assert said(checks.check_sbom) == [f"{SBOM} names leftpad 1.0.0, which Cargo.lock does not"]


def test_a_file_of_the_package_that_is_left_out_is_missed(said, members):
    del members["septet/sqlite/store/schema.sql"]
    assert said(checks.check_contents) == ["septet/sqlite/store/schema.sql is missing"]


@pytest.mark.parametrize("name", ["tests/test_house.py", "septet/notes.txt", "septet-0.1.0.data/scripts/septet"])
def test_a_file_that_is_no_source_is_refused(said, members, name):
    members[name] = b""
    assert said(checks.check_contents) == [f"{name} does not belong there"]


def test_a_file_that_differs_from_its_source_is_refused(said, members):
    members["septet/sqlite/store/schema.sql"] = b"DROP TABLE entries"
    assert said(checks.check_contents) == ["septet/sqlite/store/schema.sql differs from the source"]


def test_a_stranger_in_the_metadata_is_refused(said, members):
    members[f"{wheels.DIST_INFO}/direct_url.json"] = b"{}"
    assert said(checks.check_contents) == ["direct_url.json does not belong into dist-info"]


def test_a_file_that_was_changed_behind_the_record_is_found(tmp_path, members):
    wheel = wheels.written(tmp_path, members)
    wheel.members["septet/__init__.py"] = b"import os"
    assert "RECORD differs" in checks.check_record(wheel, wheels.expected())[0]


def test_the_same_members_make_the_same_bytes_in_any_order(tmp_path, members):
    first = wheels.written(tmp_path, members).path.read_bytes()
    second = wheels.written(tmp_path, dict(reversed(members.items()))).path.read_bytes()
    assert first == second
    assert list(Wheel(tmp_path / wheels.NAME).members)[-1] == f"{wheels.DIST_INFO}/RECORD"


def test_a_page_whose_links_lead_into_a_checkout_is_refused(said, members):
    members[f"{wheels.DIST_INFO}/METADATA"] = members[f"{wheels.DIST_INFO}/METADATA"].replace(b"/blob/v0.1.0/", b"")
    assert said(checks.check_page) == ["METADATA has another text than README.md, or other links"]


def test_the_page_of_a_project_without_an_address_is_the_readme_as_it_is(said, members):
    head = members[f"{wheels.DIST_INFO}/METADATA"].decode().partition("Project-URL")[0]
    members[f"{wheels.DIST_INFO}/METADATA"] = f"{head}\n{wheels.README}".encode()
    assert said(checks.check_page) == []


def test_a_completed_wheel_has_a_page_whose_links_lead_into_the_repository(tmp_path, members):
    metadata = f"{wheels.DIST_INFO}/METADATA"
    head = members[metadata].decode().partition("\n\n")[0]
    members[metadata] = f"{head}\n\n{wheels.README}".encode()
    done = build.completed(wheels.written(tmp_path, members), "texts", (), wheels.EPOCH)[metadata].decode()
    assert done.partition("\n\n")[2] == (
        "![Chart](https://code.example.org/septet/raw/v0.1.0/benches/a.svg) "
        "[how](https://code.example.org/septet/blob/v0.1.0/docs/start.md#ten), [where](#where)\n\n"
        "```python\n'[x](y.md)'\n```\n"
    )


def test_a_wheel_of_an_earlier_commit_is_refused(tmp_path, members):
    wheel = wheels.written(tmp_path, members)
    assert checks.check_date(wheel, wheels.expected()) == []
    assert checks.check_date(wheel, wheels.expected()._replace(epoch=wheels.EPOCH + 60)) == [
        "members are of (2023, 11, 14, 22, 13, 20), the commit of (2023, 11, 14, 22, 14, 20)"
    ]


def test_a_name_that_promises_an_older_system_too_is_refused(said, members):
    name = wheels.NAME.replace("manylinux_2_17", "manylinux_2_5_x86_64.manylinux_2_17")
    tags = b"".join(f"Tag: cp310-abi3-{of}_x86_64\n".encode() for of in ("manylinux_2_5", "manylinux_2_17"))
    members[f"{wheels.DIST_INFO}/WHEEL"] = b"Wheel-Version: 1.0\n" + tags
    assert said(checks.check_tag, name) == ["the name promises cp310-abi3-manylinux_2_5_x86_64 too"]


def dll_of(folder, *flags, source=wheels.MODULE_SOURCE):
    """A DLL of C, compiled by mingw."""
    if shutil.which("x86_64-w64-mingw32-gcc") is None:
        pytest.skip("needs x86_64-w64-mingw32-gcc")
    (folder / "module.c").write_text(source, encoding="utf-8")
    command = ["x86_64-w64-mingw32-gcc", "-shared", "-o", "module.dll", "module.c", *flags]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "module.dll").read_bytes()


def test_a_library_of_windows_shows_one_symbol_and_loads_what_windows_has(tmp_path):
    target = WINDOWS["windows-x86_64"]
    expected = wheels.expected()._replace(target=target)
    name = f"septet-0.1.0-cp310-abi3-{target.platform}.whl"

    def faults(*flags, source=wheels.MODULE_SOURCE):
        members = {**wheels.members_of(b""), target.module: dll_of(tmp_path, *flags, source=source)}
        del members[wheels.TARGET.module]
        return checks.check_library(wheels.written(tmp_path, members, name), expected)

    assert faults("-s") == []
    assert "is not stripped" in faults()[0]
    assert "exports other" in faults("-s", source="__declspec(dllexport) int other(void) { return 1; }")[0]
    calling = "__declspec(dllimport) int {0}(void); void *PyInit__core(void) {{ {0}(); return 0; }}"
    assert faults("-s", "-lws2_32", source=calling.format("WSACleanup")) == []
    assert "loads winmm.dll" in faults("-s", "-lwinmm", source=calling.format("waveOutGetNumDevs"))[0]
