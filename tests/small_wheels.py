"""Small wheels to check: right in everything, until a test changes one thing."""

import json
import subprocess
from pathlib import Path

from release import licences, page
from release.checks import Expected
from release.crates import Crate
from release.sbom import FILE_NAME, Runtime
from release.targets import TARGETS
from release.wheelfile import Wheel, write_wheel

TARGET = TARGETS["manylinux-x86_64"]
EPOCH = 1_700_000_000
CRATE = Crate("regex", "1.13.1", "MIT OR Apache-2.0", Path("regex"))
STD = Runtime("rust-std", "1.95.0", "MIT OR Apache-2.0")
FILES = {
    "septet/__init__.py": b"",
    "septet/py.typed": b"",
    "septet/sqlite/store/schema.sql": b"CREATE TABLE entries (id)",
}
SOURCE = "https://code.example.org/septet"
#: Of its links one leads into the repository, one to a heading, and one is code.
README = "![Chart](benches/a.svg) [how](docs/start.md#ten), [where](#where)\n\n```python\n'[x](y.md)'\n```\n"
DIST_INFO = "septet-0.1.0.dist-info"
NAME = f"septet-0.1.0-cp310-abi3-{TARGET.platform}.whl"
#: What a module of this machine is compiled from: it shows its entry point and asks for nothing.
MODULE_SOURCE = "void *PyInit__core(void) { return 0; }"


def compiled(folder, source=MODULE_SOURCE, *flags):
    """A shared object of C, stripped unless told otherwise."""
    (folder / "module.c").write_text(source, encoding="utf-8")
    options = flags or ("-s",)
    command = ["cc", "-shared", "-fPIC", "-nostartfiles", "-o", "module.so", "module.c", *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "module.so").read_bytes()


def bill_of(*components):
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "metadata": {},
            "components": [
                {"name": n, "version": v, "purl": f"pkg:{kind}/{n}@{v}", "licenses": [{"expression": "MIT"}]}
                for n, v, kind in components
            ],
        }
    ).encode()


def members_of(module):
    notices = [licences.Notice(str(part), "MIT", ("Permission is granted",)) for part in (CRATE, STD)]
    metadata = "Metadata-Version: 2.4\nName: septet\nVersion: 0.1.0\n"
    metadata += f"Project-URL: Source, {SOURCE}\n"
    for name in ("LICENSE-MIT", "LICENSE-APACHE", licences.FILE_NAME):
        metadata += f"License-File: {name}\n"
    tag = NAME.removesuffix(".whl").split("-", 2)[2]
    return {
        **FILES,
        TARGET.module: module,
        f"{DIST_INFO}/METADATA": f"{metadata}\n{page.absolute(README, SOURCE, '0.1.0')}".encode(),
        f"{DIST_INFO}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        f"{DIST_INFO}/licenses/LICENSE-MIT": b"MIT",
        f"{DIST_INFO}/licenses/LICENSE-APACHE": b"Apache",
        f"{DIST_INFO}/licenses/{licences.FILE_NAME}": licences.rendered(notices).encode(),
        f"{DIST_INFO}/sboms/{FILE_NAME}": bill_of(("regex", "1.13.1", "cargo"), ("rust-std", "1.95.0", "generic")),
        f"{DIST_INFO}/RECORD": b"",
    }


def written(folder, members, name=NAME):
    write_wheel(folder / name, members, EPOCH)
    return Wheel(folder / name)


def expected():
    return Expected(TARGET, (CRATE,), (STD,), (("regex", "1.13.1"),), FILES, ("/builder/checkout/",), README, EPOCH)
