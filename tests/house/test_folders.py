"""Every folder of tests is run: by `make test`, or by `make test-rest`."""

import re

from costs import IN_PROCESS
from sources import ROOT, text_of


def listed():
    """Return the folders that pytest runs by itself, and those that the Makefile adds."""
    paths = re.search(r"testpaths = \[(.*?)\]", text_of(ROOT / "pyproject.toml"))[1]
    slow = re.search(r"^SLOW := (.*)$", text_of(ROOT / "Makefile"), re.MULTILINE)[1]
    return set(re.findall(r'"tests/(\w+)"', paths)), set(slow.split())


def test_every_folder_of_tests_is_run_by_make():
    fast, slow = listed()
    assert fast & slow == set()
    assert fast | slow == {path.parent.name for path in (ROOT / "tests").rglob("test_*.py")}


def test_fast_folders_start_no_process_but_for_the_smoke_tests():
    fast, _ = listed()
    assert fast == {*IN_PROCESS, "smoke"}
