"""What the checkout must say of a version: committed, numbered alike, not yet tagged, and told to users."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from pathlib import Path

from release.checklist.item import Outcome, Work, failed, held

__all__ = ["addresses", "changelog", "section_of", "tag", "tree", "version", "version_of"]

_VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)
_LOCKED = re.compile(r'^name = "septet"\nversion = "([^"]+)"$', re.MULTILINE)
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def version_of(root: Path) -> str:
    """Return the version, which Cargo.toml alone states; by an expression, as Python 3.10 reads no TOML.

    Raises:
        ValueError: it states none.
    """
    found = _VERSION.search((root / "Cargo.toml").read_text(encoding="utf-8"))
    if found is None:
        raise ValueError("Cargo.toml states no version")
    return found[1]


def tree(work: Work) -> Outcome:
    """Nothing is changed or left beside what is committed."""
    changed = work.git("status", "--porcelain").splitlines()
    if changed:
        return failed(f"{len(changed)} files are changed or new: {', '.join(line[3:] for line in changed[:3])}")
    return held(f"commit {work.git('rev-parse', '--short', 'HEAD')}")


def version(work: Work) -> Outcome:
    """Cargo.toml states a version of three numbers, Cargo.lock the same, and pyproject.toml takes it from there."""
    stated = version_of(work.root)
    if not _RELEASE.fullmatch(stated):
        return failed(f"{stated} is no version of three numbers")
    locked = _LOCKED.search((work.root / "Cargo.lock").read_text(encoding="utf-8"))
    if locked is None or locked[1] != stated:
        return failed(f"Cargo.toml says {stated}, Cargo.lock {locked[1] if locked else 'nothing'}: run cargo build")
    if not re.search(r'^dynamic = \["version"\]', (work.root / "pyproject.toml").read_text("utf-8"), re.MULTILINE):
        return failed("pyproject.toml does not take the version from Cargo.toml")
    return held(stated)


def addresses(work: Work) -> Outcome:
    """pyproject.toml names the repository, where the links of the page on the index lead."""
    table = re.search(
        r"^\[project\.urls\]\n((?:[^\[].*\n)*)", (work.root / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    source = re.search(r'^Source = "(https://[^"]+)"$', table[1] if table else "", re.MULTILINE)
    if source is None:
        return failed('pyproject.toml names no repository: write `Source = "https://..."` below `[project.urls]`')
    return held(source[1])


def tag(work: Work) -> Outcome:
    """The version has no tag, or the commit at hand is the tagged one."""
    name = f"v{version_of(work.root)}"
    if not work.git("tag", "--list", name):
        return held(f"{name} is free")
    if work.git("rev-list", "-n1", name) == work.git("rev-parse", "HEAD"):
        return held(f"{name} is this commit")
    return failed(f"{name} is the tag of another commit: raise the version in Cargo.toml")


def section_of(text: str, wanted: str) -> tuple[str, str] | None:
    """Return what stands behind a version in its heading, and the text below it."""
    found = re.search(rf"^## {re.escape(wanted)}\b(.*)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return None if found is None else (found[1].strip(), found[2].strip())


def changelog(work: Work) -> Outcome:
    """CHANGELOG.md has a section of the version, with its day, and nothing that waits for one."""
    text, wanted = (work.root / "CHANGELOG.md").read_text(encoding="utf-8"), version_of(work.root)
    section = section_of(text, wanted)
    if section is None:
        return failed(f"CHANGELOG.md has no section {wanted}")
    if "unreleased" in text.lower():
        return failed("CHANGELOG.md says unreleased: give the section its day, as in `## 1.2.3 (2030-01-31)`")
    if "before the first release" in (work.root / "README.md").read_text(encoding="utf-8").lower():
        return failed("README.md says how to do without a release: take `Before the first release` out")
    try:
        day = date.fromisoformat(section[0].strip("()"))
    except ValueError:
        return failed(f"the section {wanted} has no day but {section[0] or 'nothing'}: `## {wanted} (YYYY-MM-DD)`")
    if day > datetime.now(timezone.utc).date():
        return failed(f"the section {wanted} is of {day}, which is not yet")
    if not section[1]:
        return failed(f"the section {wanted} is empty")
    return held(f"{wanted} of {day}, {len(section[1].splitlines())} lines")
