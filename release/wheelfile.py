"""Wheels as files: what is in one, and writing one so that the same members give the same bytes."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import time
import zipfile
from email.parser import BytesParser
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import Message

#: Rights of an ordinary file, as zip keeps them; those of a shared object let it be run too.
FILE_RIGHTS, LIBRARY_RIGHTS = 0o100644 << 16, 0o100755 << 16


class Wheel:
    """A wheel that was built, its members read into memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
            #: When the members were made, as zip keeps it: year to second, in steps of two seconds.
            self.dates = {info.date_time for info in archive.infolist()}

    @cached_property
    def dist_info(self) -> str:
        """The name of the folder of metadata, without a slash."""
        folders = {name.split("/")[0] for name in self.members if name.split("/")[0].endswith(".dist-info")}
        if len(folders) != 1:
            raise ValueError(f"{self.path.name} has {len(folders)} dist-info folders")
        return folders.pop()

    @property
    def extensions(self) -> list[str]:
        """The members that are shared objects."""
        return sorted(name for name in self.members if ".so" in name.rsplit("/", 1)[-1] or name.endswith(".pyd"))

    @cached_property
    def metadata(self) -> Message:
        """METADATA, by its headers."""
        return BytesParser().parsebytes(self.members[f"{self.dist_info}/METADATA"])

    @cached_property
    def tags(self) -> set[str]:
        """The tags that the file WHEEL lists."""
        return set(BytesParser().parsebytes(self.members[f"{self.dist_info}/WHEEL"]).get_all("Tag", []))

    @property
    def named_tags(self) -> set[str]:
        """The tags that the name of the file stands for."""
        *_, pythons, abis, platforms = self.path.name.removesuffix(".whl").split("-")
        return {
            f"{python}-{abi}-{platform}"
            for python in pythons.split(".")
            for abi in abis.split(".")
            for platform in platforms.split(".")
        }


def record_of(members: Mapping[str, bytes], record: str) -> bytes:
    """The file RECORD for these members: every name with its SHA-256 and size, and itself without."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow((name, f"sha256={digest}", len(content)))
    writer.writerow((record, "", ""))
    return lines.getvalue().encode()


def write_wheel(path: Path, members: Mapping[str, bytes], epoch: int) -> None:
    """Write members as a wheel: sorted, all of one date, dist-info at the end as installers like it, RECORD last."""
    record = next(name for name in members if name.endswith(".dist-info/RECORD"))
    names = sorted((name for name in members if name != record), key=lambda name: (".dist-info/" in name, name))
    ordered = {name: members[name] for name in names}
    ordered[record] = record_of(ordered, record)
    date = time.gmtime(epoch)[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in ordered.items():
            info = zipfile.ZipInfo(name, date)
            info.create_system = 3
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = LIBRARY_RIGHTS if ".so" in name.rsplit("/", 1)[-1] else FILE_RIGHTS
            archive.writestr(info, content)
