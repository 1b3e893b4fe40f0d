"""Commands whose standard streams are closed or whose working directory is gone, and readers that go away."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from septet import Vault

pytest.importorskip("typer")
pytest.importorskip("rich")


@pytest.fixture
def home(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="tea", title="Green tea", description="Steep it at 80 degrees")
    return tmp_path


def shell(home, script, **more):
    """Run a script of bash in which $septet is the command; return its exit code and what it printed."""
    command = f"septet='{shlex.quote(sys.executable)} -m septet'; {script}"
    env = {**os.environ, "HOME": str(home), "SEPTET_VAULT": str(home / "v.db"), "SEPTET_EMBEDDING": "", **more}
    options = {"cwd": home, "env": env, "capture_output": True, "text": True, "timeout": 120, "check": False}
    done = subprocess.run(["bash", "-c", command], **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        ("search tea", ">&-"),
        ("search tea", "<&- >&- 2>&-"),
        ("search teapot", "2>&-"),
        ("search --batch -", "<&-"),
        ("add Oolong -d -", "<&-"),
        ("add Oolong", "<&- >&- 2>&-"),
        ("delete tea", "<&-"),
        ("export -", "<&- >&-"),
        ("nonsense", "2>&-"),
    ],
)
def test_a_closed_stream_is_as_if_it_were_dev_null(home, command, closed):
    as_null = closed.replace("<&-", "< /dev/null").replace(">&-", "> /dev/null")
    (home / "w.db").write_bytes((home / "v.db").read_bytes())
    null = shell(home, f"$septet {command} {as_null}", SEPTET_VAULT=str(home / "w.db"))
    found = shell(home, f"$septet {command} {closed}")
    assert found[0] == null[0]
    assert "Traceback" not in found[2]
    assert len(found[1]) == len(null[1]) and len(found[2]) == len(null[2])
    # What was printed went nowhere, and so not into the vault.
    with Vault(home / "v.db") as vault, Vault(home / "w.db") as twin:
        assert vault.stats().entries == twin.stats().entries
        assert [one.title for one in vault.entries()] == [one.title for one in twin.entries()]


def test_no_file_that_a_command_opens_gets_the_number_of_a_closed_stream(home):
    null = "os.stat('/dev/null').st_rdev"
    script = (
        "import os; from septet.cli import _open_streams; _open_streams(); file = os.open('v.db', os.O_RDONLY); "
        f"print(file, [os.fstat(n).st_rdev == {null} for n in range(3)], file=open('told', 'w'))"
    )
    shell(home, f"{shlex.quote(sys.executable)} -c {shlex.quote(script)} <&- >&- 2>&-")
    number, _, said = (home / "told").read_text().partition(" ")
    assert int(number) > 2 and said == "[True, True, True]\n"


@pytest.mark.parametrize("command", ["stats", "search tea", "add 'Black tea'", "export -", "optimize"])
def test_where_the_working_directory_is_gone_whole_paths_work(home, command):
    code, _, said = shell(home, f"mkdir gone; cd gone; rmdir ../gone; $septet {command} --vault {home}/v.db")
    assert code == 0, said


@pytest.mark.parametrize("command", ["add 'Black tea' --vault a.db", "sync notes", "export o.jsonl", "backup o.db"])
def test_where_the_working_directory_is_gone_a_relative_path_is_refused_with_the_reason(home, command):
    code, out, said = shell(home, f"mkdir gone; cd gone; rmdir ../gone; $septet {command}")
    assert (code, out) == (3, "")
    assert "the working directory is gone" in said and "the output" not in said


def test_only_output_that_cannot_be_written_is_said_to_be(home):
    if not Path("/dev/full").exists():
        pytest.skip("no full disk to write to")
    for command in ("search tea", "get tea --json", "search tea --format csv", "stats"):
        code, _, said = shell(home, f"$septet {command} > /dev/full")
        assert (code, said) == (3, "septet: the output could not be written: No space left on device\n")


def test_the_demo_ends_with_the_reader_of_its_output_as_other_commands_do(home):
    for command in ("search tea", "demo --path d.db"):
        # The reader is gone long before anything is printed.
        code, _, said = shell(home, f"$septet {command} | true; exit ${{PIPESTATUS[0]}}")
        assert (code, said) == (128 + signal.SIGPIPE, "")
