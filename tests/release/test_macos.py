"""Wheels for a Mac: what can be looked at elsewhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release.crates import crates_of
from release.licences import missing_in, rendered
from release.macos import MACS, notices
from release.targets import ROOT

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="asks cargo what is linked")


@pytest.mark.parametrize("machine", MACS)
def test_the_licence_of_every_crate_that_a_mac_links_is_found(machine):
    crates = crates_of(MACS[machine])
    assert {"libc", "pyo3", "memmap2"} <= {crate.name for crate in crates}
    text = rendered(notices(crates))
    assert missing_in(text, map(str, crates)) == []
    assert "zig" not in text.lower()


def test_the_tag_of_a_wheel_is_that_of_the_oldest_system():
    assert [mac.platform for mac in MACS.values()] == ["macosx_10_12_x86_64", "macosx_11_0_arm64"]


@pytest.mark.skipif(sys.platform == "darwin", reason="would build a wheel")
def test_elsewhere_it_says_that_it_needs_a_mac(tmp_path):
    command = [sys.executable, "-m", "release.macos", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "No module named" in done.stderr:
        pytest.skip("the tools of the group release are not installed")
    assert done.returncode == 1 and "are built on a Mac" in done.stderr
    assert list(Path(tmp_path).iterdir()) == []
