"""The bill of materials in a wheel: maturin's, made the same on every machine and complete."""

from __future__ import annotations

import json
import re
import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from release.crates import Crate

FILE_NAME = "septet.cyclonedx.json"
#: The folder of a crate of ours, in maturin's references and addresses.
PLACE = re.compile(r"path\+file://[^\"#]*#")
ADDRESS = re.compile(r"\?download_url=file://[^\"#]*")
#: The space that serial numbers are drawn from, so that one content has one number.
SERIALS = uuid.uuid5(uuid.NAMESPACE_OID, "septet")


class Runtime(NamedTuple):
    """What the toolchain links beside the crates."""

    name: str
    version: str
    licence: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def settled(sbom: bytes, runtimes: Iterable[Runtime], epoch: int) -> bytes:
    """The bill without the folder, the hour and the chance of its making, and with the parts of the toolchain."""
    bill = json.loads(ADDRESS.sub("", PLACE.sub("path:", sbom.decode())))
    bill["metadata"]["timestamp"] = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    bill["components"] += [
        {
            "type": "library",
            "bom-ref": f"toolchain:{runtime.name}@{runtime.version}",
            "name": runtime.name,
            "version": runtime.version,
            "scope": "required",
            "licenses": [{"expression": runtime.licence}],
            "purl": f"pkg:generic/{runtime.name}@{runtime.version}",
        }
        for runtime in runtimes
    ]
    bill.pop("serialNumber", None)
    content = json.dumps(bill, indent=1, ensure_ascii=False)
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(SERIALS, content)}"
    return (json.dumps(bill, indent=1, ensure_ascii=False) + "\n").encode()


def faults_of(
    sbom: bytes, crates: Iterable[Crate], runtimes: Iterable[Runtime], locked: Iterable[tuple[str, str]]
) -> list[str]:
    """What is wrong with a bill: components that it leaves out, and crates in it that no lock file knows."""
    bill: dict[str, Any] = json.loads(sbom)
    if bill.get("bomFormat") != "CycloneDX":
        return [f"{FILE_NAME} is no CycloneDX document"]
    named = {(c["name"], c["version"]): c for c in bill.get("components", [])}
    parts = [(part.name, part.version) for part in crates] + [(part.name, part.version) for part in runtimes]
    faults = [f"{FILE_NAME} does not name {name} {version}" for name, version in parts if (name, version) not in named]
    faults += [
        f"{FILE_NAME} gives no licence of {name} {version}"
        for (name, version), component in named.items()
        if not component.get("licenses")
    ]
    known = set(locked)
    faults += [
        f"{FILE_NAME} names {name} {version}, which Cargo.lock does not"
        for (name, version), component in named.items()
        if component.get("purl", "").startswith("pkg:cargo/") and (name, version) not in known
    ]
    if b"file://" in sbom:
        faults.append(f"{FILE_NAME} names a folder of the build machine")
    return faults
