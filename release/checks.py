"""What must hold of every wheel. Each check is given a wheel and what is expected of it, and says what is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from release import licences, page, sbom
from release.binary import Binary, read_binary
from release.pe import read_library
from release.wheelfile import record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from release.crates import Crate
    from release.targets import Target
    from release.wheelfile import Wheel

#: What people download, in bytes. Of 4.15 million, 2.7 are compiled, kernels for three to five levels of instructions
#: among them, and 1.3 are Python.
MAX_BYTES = 4_500_000
TAG = "cp310-abi3"
#: The only symbol that a Python module is asked for.
ENTRY_POINT = "PyInit__core"
#: Folders that a compiler writes into a binary and that are nobody's business. Found without knowing the machine.
PERSONAL = re.compile(
    rb"/(?:home/[\w.-]+|Users/[\w.-]+|root)/[\w./-]+|[\w./-]*\.cargo/registry[\w./-]*|\.rustup/[\w./-]+"
)


class Expected(NamedTuple):
    """What is known about a wheel before it is opened."""

    target: Target
    #: The components that it must name and whose licences it must give.
    crates: tuple[Crate, ...]
    runtimes: tuple[sbom.Runtime, ...]
    #: Names and versions in Cargo.lock.
    locked: tuple[tuple[str, str], ...]
    #: Every file of the package but the compiled one, by its name in the wheel.
    files: dict[str, bytes]
    #: Folders of the machine that it was built on.
    places: tuple[str, ...]
    readme: str
    #: The second that its members are dated with.
    epoch: int


def _binaries(wheel: Wheel) -> Iterable[tuple[str, Binary]]:
    return ((name, read_binary(wheel.members[name])) for name in wheel.extensions)


def check_tag(wheel: Wheel, expected: Expected) -> list[str]:
    """The name of the file and its metadata say: CPython from 3.10, stable ABI, and this platform."""
    faults = []
    allowed = {f"{TAG}-{expected.target.platform}"}
    if not allowed <= wheel.named_tags:
        faults.append(f"the name has no tag {TAG}-{expected.target.platform}")
    if expected.target.glibc == (2, 17):
        allowed.add(f"{TAG}-manylinux2014_{expected.target.machine}")  # the older name of the same
    if others := sorted(wheel.named_tags - allowed):
        faults.append(f"the name promises {', '.join(others)} too")
    if wheel.tags != wheel.named_tags:
        faults.append(f"WHEEL lists {sorted(wheel.tags)}, the name stands for {sorted(wheel.named_tags)}")
    return faults


def check_auditwheel(wheel: Wheel, expected: Expected) -> list[str]:
    """The tool that decides what may be uploaded finds the same platform."""
    # Without the libraries of this machine, which is mostly another than the wheel's.
    command = [sys.executable, "-m", "auditwheel", "show", "--ldpaths", os.devnull, str(wheel.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"auditwheel: {(done.stderr or done.stdout).strip()[-300:]}"]
    found = re.search(r'platform tag:\s+"([^"]+)"', done.stdout)
    if found is None:
        return ["auditwheel names no platform"]
    # It says the oldest platform that fits, which may be older than the one asked for.
    return [] if _fits(found[1], expected.target) else [f"auditwheel says {found[1]}"]


def _fits(platform: str, target: Target) -> bool:
    said = re.fullmatch(r"(\w+?)_(\d+)_(\d+)_(.+)", platform)
    wanted = re.fullmatch(r"(\w+?)_(\d+)_(\d+)_(.+)", target.platform)
    if said is None or wanted is None:
        return platform == target.platform
    same = (said[1], said[4]) == (wanted[1], wanted[4])
    return same and (int(said[2]), int(said[3])) <= (int(wanted[2]), int(wanted[3]))


def check_symbols(wheel: Wheel, expected: Expected) -> list[str]:
    """Built for this machine, loads what the policy allows, asks for no newer glibc, and shows one symbol."""
    faults = [] if wheel.extensions == [expected.target.module] else [_other_modules(wheel, expected)]
    for name, binary in _binaries(wheel):
        if binary.machine != expected.target.elf_machine:
            faults.append(f"{name} is for {binary.machine}")
        if foreign := sorted(set(binary.needed) - expected.target.libraries):
            faults.append(f"{name} loads {', '.join(foreign)}")
        if binary.newest_glibc is not None and binary.newest_glibc > (expected.target.glibc or (0, 0)):
            faults.append(f"{name} asks for GLIBC_{binary.newest_glibc[0]}.{binary.newest_glibc[1]}")
        if binary.exported != (ENTRY_POINT,):
            shown = [symbol for symbol in binary.exported if symbol != ENTRY_POINT]
            faults.append(f"{name} exports {', '.join(shown[:5])}" if shown else f"{name} lacks {ENTRY_POINT}")
        if binary.debugging:
            faults.append(f"{name} is not stripped: {', '.join(binary.debugging[:3])}")
        if binary.run_paths:
            faults.append(f"{name} looks for libraries in {', '.join(binary.run_paths)}")
    return faults


def _other_modules(wheel: Wheel, expected: Expected) -> str:
    return f"the shared objects are {wheel.extensions}, not {expected.target.module}"


def check_library(wheel: Wheel, expected: Expected) -> list[str]:
    """Built for this machine, loads what Windows or Python has, and shows one symbol."""
    faults = [] if wheel.extensions == [expected.target.module] else [_other_modules(wheel, expected)]
    for name in wheel.extensions:
        library = read_library(wheel.members[name])
        if library.machine != expected.target.elf_machine:
            faults.append(f"{name} is for {library.machine}")
        loaded = {needed.lower() for needed in library.needed if not needed.lower().startswith("api-ms-win-")}
        if foreign := sorted(loaded - expected.target.libraries):
            faults.append(f"{name} loads {', '.join(foreign)}")
        if library.exported != (ENTRY_POINT,):
            faults.append(f"{name} exports {', '.join(library.exported[:5]) or 'nothing'}")
        if library.debugging:
            faults.append(f"{name} is not stripped: {', '.join(library.debugging[:3])}")
    return faults


def check_size(wheel: Wheel, expected: Expected) -> list[str]:
    """Small enough to be fetched without a thought."""
    size = wheel.path.stat().st_size
    return [f"{size:,} bytes, more than {MAX_BYTES:,}"] if size > MAX_BYTES else []


def check_places(wheel: Wheel, expected: Expected) -> list[str]:
    """No file names a folder of the machine that it was built on; a binary names nobody's home."""
    faults = []
    for name, content in wheel.members.items():
        faults += [f"{name} names {place}" for place in expected.places if place.encode() in content]
        if name in wheel.extensions:
            found = sorted({match.decode() for match in PERSONAL.findall(content)})
            if found:
                faults.append(f"{name} names {found[0]}" + (f" and {len(found) - 1} more" if found[1:] else ""))
    return faults


def check_licences(wheel: Wheel, expected: Expected) -> list[str]:
    """The licence files that the metadata lists are there, and give a text for every component."""
    listed = wheel.metadata.get_all("License-File", [])
    folder = f"{wheel.dist_info}/licenses"
    faults = [f"METADATA lists no {name}" for name in ("LICENSE-MIT", "LICENSE-APACHE") if name not in listed]
    if licences.FILE_NAME not in listed:
        faults.append(f"METADATA lists no {licences.FILE_NAME}")
    faults += [f"{name} is listed and missing" for name in listed if not wheel.members.get(f"{folder}/{name}")]
    text = wheel.members.get(f"{folder}/{licences.FILE_NAME}", b"").decode()
    return faults + licences.missing_in(text, [*map(str, expected.crates), *map(str, expected.runtimes)])


def check_sbom(wheel: Wheel, expected: Expected) -> list[str]:
    """The bill of materials is there and names every crate and no other."""
    content = wheel.members.get(f"{wheel.dist_info}/sboms/{sbom.FILE_NAME}")
    if content is None:
        return [f"there is no {sbom.FILE_NAME}"]
    return sbom.faults_of(content, expected.crates, expected.runtimes, expected.locked)


def check_contents(wheel: Wheel, expected: Expected) -> list[str]:
    """Every file of the package is there as it is in the sources, and nothing else."""
    inside = {n: content for n, content in wheel.members.items() if not n.startswith(f"{wheel.dist_info}/")}
    faults = [f"{name} is missing" for name in sorted({*expected.files, expected.target.module} - set(inside))]
    faults += [
        f"{name} does not belong there" for name in sorted(set(inside) - {*expected.files, expected.target.module})
    ]
    faults += [
        f"{name} differs from the source"
        for name, content in sorted(expected.files.items())
        if inside.get(name, content) != content
    ]
    allowed = re.compile(r"METADATA|WHEEL|RECORD|entry_points\.txt|licenses/[\w.-]+|sboms/[\w.-]+")
    dist_info = (n.removeprefix(f"{wheel.dist_info}/") for n in wheel.members if n not in inside)
    return faults + [f"{name} does not belong into dist-info" for name in dist_info if not allowed.fullmatch(name)]


def check_page(wheel: Wheel, expected: Expected) -> list[str]:
    """The page that an index shows is the README, whose links lead into the repository if the metadata names it."""
    body = wheel.members[f"{wheel.dist_info}/METADATA"].decode().partition("\n\n")[2]
    source = page.source_of(wheel.metadata)
    wanted = page.absolute(expected.readme, source, wheel.metadata["Version"]) if source else expected.readme
    return [] if body.strip() == wanted.strip() else ["METADATA has another text than README.md, or other links"]


def check_date(wheel: Wheel, expected: Expected) -> list[str]:
    """Every member is dated with the commit: a wheel of an earlier one is none of this version."""
    year, month, day, hour, minute, second = time.gmtime(expected.epoch)[:6]
    wanted = (year, month, day, hour, minute, second // 2 * 2)  # zip counts by twos
    return [f"members are of {other}, the commit of {wanted}" for other in sorted(wheel.dates - {wanted})]


def check_record(wheel: Wheel, expected: Expected) -> list[str]:
    """RECORD, by which installers verify and uninstall, has every file with its digest."""
    record = f"{wheel.dist_info}/RECORD"
    if record not in wheel.members:
        return ["there is no RECORD"]
    members = {name: content for name, content in wheel.members.items() if name != record}
    right = set(record_of(members, record).decode().splitlines())
    wrong = sorted(set(wheel.members[record].decode().splitlines()) ^ right)
    return [f"RECORD differs from what is there: {wrong[0]}"] if wrong else []


CHECKS: dict[str, Callable[[Wheel, Expected], list[str]]] = {
    "tag": check_tag,
    "auditwheel": check_auditwheel,
    "symbols": check_symbols,
    "library": check_library,
    "size": check_size,
    "places": check_places,
    "licences": check_licences,
    "sbom": check_sbom,
    "contents": check_contents,
    "page": check_page,
    "date": check_date,
    "record": check_record,
}


#: The checks that look into files of one system, by a word of its triples; those of macOS have none.
OF_SYSTEM = {"auditwheel": "linux", "symbols": "linux", "library": "windows"}


def faults_of(wheel: Wheel, expected: Expected) -> dict[str, list[str]]:
    """What every check says about a wheel; empty lists where it holds."""
    triple = expected.target.triple
    return {name: check(wheel, expected) for name, check in CHECKS.items() if OF_SYSTEM.get(name, "") in triple}
