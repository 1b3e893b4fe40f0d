"""What Debian's archive has for other machines: a root with a Python for arm64, and sources."""

from __future__ import annotations

import shutil
from pathlib import Path

from release.foreign.shell import FailedError, run

#: The release whose Python runs the wheels of aarch64.
ROOT_SUITE, ROOT_PYTHON = "bookworm", "3.11"
ROOT_PACKAGES = ("python3.11", "libstdc++6")
#: The release whose source of Python is built with musl.
SOURCE_SUITE, SOURCE_PYTHON = "trixie", "3.13"
#: What Debian calls the machines.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def arm64_root(folder: Path) -> Path:
    """A folder with Debian's Python for arm64 and its libraries: unpacked, as nothing in it has to be set up."""
    root = folder / "root"
    if root.is_dir():
        return root
    folder.mkdir(parents=True, exist_ok=True)
    archive, part = folder / "root.tar", folder / "root.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    chosen = ["--variant=extract", "--architectures=arm64", f"--include={','.join(ROOT_PACKAGES)}"]
    run(["mmdebstrap", "--quiet", *chosen, ROOT_SUITE, archive])
    run(["tar", "-xf", archive, "-C", part, "--no-same-owner", "--exclude=./dev/*"])
    archive.unlink()
    part.rename(root)
    return root


class Sources:
    """The release that Python's source and musl are taken from, with apt's lists of it in a folder of their own."""

    def __init__(self, folder: Path, machine: str) -> None:
        self._folder, self._machine = folder, machine
        lists = folder / "apt" / "sources.list"
        # Nothing of this machine's apt changes.
        settings = {
            "Dir::Etc::SourceList": lists,
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": folder / "apt" / "lists",
            "Dir::Cache": folder / "apt",
            "APT::Architecture": ARCHITECTURES[machine],
            "APT::Sandbox::User": "root",
        }
        self._apt = [
            "apt-get",
            "-qq",
            *(word for name, value in settings.items() for word in ("-o", f"{name}={value}")),
        ]
        for part in ("lists/partial", "archives/partial"):
            (folder / "apt" / part).mkdir(parents=True, exist_ok=True)
        lists.write_text("".join(f"{kind} {_mirror()} {SOURCE_SUITE} main\n" for kind in ("deb", "deb-src")))
        run([*self._apt, "update"])

    def python(self) -> Path:
        """The archive of Python's source as its makers released it, which Debian's source package holds."""
        return self._got("python3*.orig.tar.xz", "--download-only", "source", f"python{SOURCE_PYTHON}")

    def musl(self) -> Path:
        """musl's loader, which is its C library too, unpacked."""
        package = self._got("musl_*.deb", "download", "musl")
        run(["dpkg", "-x", package, self._folder / "root"])
        return self._folder / "root" / "usr" / "lib" / f"ld-musl-{self._machine}.so.1"

    def _got(self, files: str, *command: str) -> Path:
        run([*self._apt, *command], cwd=self._folder)
        found = sorted(self._folder.glob(files))
        if not found:
            raise FailedError(f"apt-get {' '.join(command)} left no {files}")
        return found[-1]


def _mirror() -> str:
    """Where this machine takes Debian from, with the key that signs it."""
    targets = run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian", "Identifier: Packages"]
    ).split()
    if not targets:
        raise FailedError("apt has no list of Debian's packages: apt-get update")
    return f"[signed-by={KEYRING}] {targets[0]}"
