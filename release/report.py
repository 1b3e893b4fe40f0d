"""Tables of what was made and what held of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from release.binary import read_binary
from release.pe import read_library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from release.wheelfile import Wheel


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under a head, as wide as they need to be."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    drawn = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([drawn[0], "  ".join("-" * width for width in widths), *drawn[1:]])


def symbols(wheel: Wheel) -> str:
    """The newest glibc that a wheel asks for, and how many libraries it loads."""
    content = wheel.members[wheel.extensions[0]]
    if content.startswith(b"MZ"):
        library = read_library(content)
        return f"loads {len(library.needed)}, exports {len(library.exported)}"
    binary = read_binary(content)
    newest = binary.newest_glibc
    asked = f"GLIBC_{newest[0]}.{newest[1]}" if newest else "no GLIBC"
    return f"{asked}, loads {len(binary.needed)}, exports {len(binary.exported)}"


def row_of(wheel: Wheel, faults: dict[str, list[str]]) -> tuple[str, ...]:
    """A wheel's row: its name, size, what its binary asks for, and which checks it passed."""
    failed = [name for name, found in faults.items() if found]
    passed = len(faults) - len(failed)
    said = f"all {passed} hold" if not failed else f"{passed} hold, not {', '.join(failed)}"
    return wheel.path.name, f"{wheel.path.stat().st_size:,}", symbols(wheel), said
