"""A plugin of pytest that leaves out the tests of `left_out.toml`: those of what Windows, or wine, does not have."""

from __future__ import annotations

import fnmatch
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

LIST = Path(__file__).with_name("left_out.toml")
#: The file that tests which were left out are counted in, a line each.
COUNTED = "SEPTET_LEFT_OUT"
#: Its path, read before the tests take variables of Septet out of the environment.
PLACE = os.environ.get(COUNTED)


class LeftOut(NamedTuple):
    """Why tests are left out, and the patterns of their files or ids."""

    why: str
    tests: tuple[str, ...]


@cache
def left_out() -> tuple[LeftOut, ...]:
    """The list, in its order."""
    content = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return tuple(LeftOut(entry["why"], tuple(entry["tests"])) for entry in content["left"])


def reason(test: str) -> str | None:
    """Why a file or test is left out; None if it runs. `[` in an id is no pattern."""
    plain = test.replace("[", "\0")
    for entry in left_out():
        if any(fnmatch.fnmatchcase(plain, pattern.replace("[", "\0")) for pattern in entry.tests):
            return entry.why
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what the list has."""
    chosen = [(item, reason(item.nodeid)) for item in items]
    items[:] = [item for item, why in chosen if why is None]
    left = [(item.nodeid, why) for item, why in chosen if why is not None]
    if left:
        config.hook.pytest_deselected(items=[item for item, why in chosen if why is not None])
        note(f"{why}\t{name}" for name, why in left)


def note(lines: Iterable[str]) -> None:
    """Add lines to the file of what was left out."""
    if PLACE:
        with Path(PLACE).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
