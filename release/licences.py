"""The licence texts of everything that is linked into a wheel, as one file of it.

Most crates bring the same texts: each different one stands there once, under the names of those who bring it.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from release.crates import Crate

#: What licences are called where they lie at the root of a crate.
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|unlicen[cs]e|notice)", re.IGNORECASE)
#: Where the file stands in the folder of metadata.
FILE_NAME = "THIRD-PARTY.txt"
RULE = "=" * 78

INTRODUCTION = """\
The compiled part of Septet holds code of others. Each component is named with its version, its licence as it names it
itself, and the numbers of the texts that it brings. The texts follow, each different one once.

"""


class NoLicenceText(RuntimeError):
    """A component whose licence cannot be given with the wheel."""


class Notice(NamedTuple):
    """A component, the expression of its licence, and the texts that it brings."""

    name: str
    licence: str
    texts: tuple[str, ...]


def of_crate(crate: Crate) -> Notice:
    """The notice of a crate, from the files beside its manifest."""
    files = [p for p in sorted(crate.folder.iterdir()) if p.is_file() and LICENCE_FILE.match(p.name)]
    if crate.licence_file and (named := crate.folder / crate.licence_file) not in files:
        files.append(named)
    texts = tuple(text for p in files if (text := p.read_text(encoding="utf-8", errors="replace").strip()))
    if not texts:
        raise NoLicenceText(f"{crate} ({crate.licence or 'no licence named'}) brings no licence text")
    return Notice(str(crate), crate.licence or "see its text", texts)


class _Copyright(HTMLParser):
    """Reads the toolchain's page of the licences of the standard library: the prose, and per crate its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.prose: list[str] = []
        self.crates: list[tuple[str, str, list[str]]] = []
        self._inside: list[str] = []
        self._text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("pre", "h3", "p"):
            self._inside.append(tag)
            self._text = ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if not self._inside or tag != self._inside[-1]:
            return
        self._inside.pop()
        text = self._text.strip()
        if tag == "h3":
            self.crates.append((re.sub(r"^\W+", "", text), "", []))
        elif tag == "pre" and self.crates:
            self.crates[-1][2].append(text)
        elif tag == "p" and self.crates and text.startswith("License:"):
            self.crates[-1] = (self.crates[-1][0], text.removeprefix("License:").strip(), self.crates[-1][2])
        elif tag == "p" and not self.crates:
            self.prose.append(" ".join(text.split()))


def of_std(sysroot: Path, release: str) -> list[Notice]:
    """The notices of the standard library, from the documents that are installed with the toolchain."""
    documents = sysroot / "share" / "doc" / "rust"
    page = documents / "COPYRIGHT-library.html"
    if not page.is_file():
        raise NoLicenceText(f"the toolchain brings no licences of its standard library: {page.name} is missing")
    reader = _Copyright()
    reader.feed(page.read_text(encoding="utf-8"))
    prose = "\n".join(reader.prose)
    texts = [
        p.read_text(encoding="utf-8").strip()
        for p in sorted((documents / "licenses").glob("*.txt"))
        if re.search(rf"\b{re.escape(p.stem)}\b", prose)
    ]
    if not texts:
        raise NoLicenceText("the toolchain brings none of the licences that its standard library names")
    notices = [Notice(f"rust-std {release}", "MIT OR Apache-2.0", (prose, *texts))]
    # Those that come without a text of their own are of other systems, and the page names their licence.
    notices += [Notice(f"{name} of rust-std", licence, tuple(found)) for name, licence, found in reader.crates if found]
    return notices


def of_zig(folder: Path, version: str) -> list[Notice]:
    """The notices of what zig links into a library: its compiler runtime, and LLVM's unwinder."""
    parts = (
        ("zig-compiler-rt", "MIT", folder / "LICENSE"),
        ("llvm-libunwind", "Apache-2.0 WITH LLVM-exception", folder / "lib" / "libunwind" / "LICENSE.TXT"),
    )
    for name, _, file in parts:
        if not file.is_file():
            raise NoLicenceText(f"ziglang brings no licence of {name}: {file.relative_to(folder)} is missing")
    # The unwinder has no version of its own there.
    return [Notice(f"{name} {version}", licence, (file.read_text("utf-8").strip(),)) for name, licence, file in parts]


def rendered(notices: Sequence[Notice]) -> str:
    """All notices as one text: a table of components, then every different text under its number."""
    numbers: dict[str, int] = {}
    texts: list[str] = []
    bringing: list[list[str]] = []
    rows = []
    for notice in notices:
        own = []
        for text in notice.texts:
            # White space is where copies of one licence differ.
            key = " ".join(text.split())
            if key not in numbers:
                numbers[key] = len(texts)
                texts.append(text)
                bringing.append([])
            bringing[numbers[key]].append(notice.name)
            own.append(numbers[key] + 1)
        rows.append(f"{notice.name} | {notice.licence} | texts {', '.join(map(str, dict.fromkeys(own)))}")
    parts = [INTRODUCTION, *(f"{row}\n" for row in rows)]
    for number, (text, names) in enumerate(zip(texts, bringing), 1):
        parts.append(f"\n{RULE}\nText {number}, of {', '.join(dict.fromkeys(names))}\n{RULE}\n\n{text}\n")
    return "".join(parts)


ROW = re.compile(r"^(?P<name>[^|\n]+) \| [^|\n]+ \| texts (?P<numbers>[\d, ]+)$", re.MULTILINE)
TEXT = re.compile(
    rf"^{RULE}\nText (?P<number>\d+), of [^\n]+\n{RULE}\n\n(?P<text>.*?)(?=\n{RULE}\nText \d+, of |\Z)",
    re.MULTILINE | re.DOTALL,
)


def missing_in(text: str, components: Iterable[str]) -> list[str]:
    """Those of the components that a rendered text does not give a licence of, with the reason."""
    bodies = {m["number"]: m["text"].strip() for m in TEXT.finditer(text)}
    named = {m["name"]: [n.strip() for n in m["numbers"].split(",")] for m in ROW.finditer(text)}
    faults = []
    for component in components:
        if component not in named:
            faults.append(f"{component} is not named in {FILE_NAME}")
        elif not all(bodies.get(number) for number in named[component]):
            faults.append(f"{component} has no licence text in {FILE_NAME}")
    return faults
