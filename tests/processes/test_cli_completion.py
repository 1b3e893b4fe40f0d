"""What bash completes: commands, options, ids of the vault and profiles, asked of a bash that has read the script."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from septet import Vault

pytest.importorskip("typer")

#: Reads the script, and lets its function complete a line as bash does at the tab key.
ASK = """
. ./completion.bash
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_septet_completion septet
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    command = folder / "septet"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m septet "$@"\n')
    command.chmod(0o755)
    made = subprocess.run([command, "completion", "bash"], capture_output=True, check=True, cwd=folder)
    (folder / "completion.bash").write_bytes(made.stdout)
    with Vault(folder / "v.db") as vault:
        for id in ("jwt-expiry", "jwt-audience", "hashing", "ünï"):
            vault.add(id=id, title=f"About {id}")
    with Vault(folder / "other.db") as vault:
        vault.add(id="jwt-elsewhere", title="Other")
    return folder


def asked(home, *words, **more):
    path = f"{home}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(home), "SEPTET_VAULT": str(home / "v.db"), **more}
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", *words],
        capture_output=True,
        text=True,
        env=environment,
        cwd=home,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("septet", "opt"), ["optimize"]),
        (("septet", "search", "words", "--prof"), ["--profile"]),
        (("septet", "search", "words", "--profile", "seven"), ["seven-signals"]),
        (("septet", "get", "jwt-"), ["jwt-audience", "jwt-expiry"]),
        (("septet", "get", "jwt-expiry", "h"), ["hashing"]),
        (("septet", "explain", "words", "ü"), ["ünï"]),
        (("septet", "get", "--vault", "other.db", "jwt"), ["jwt-elsewhere"]),
        (("septet", "get", "--vault", "missing.db", "jwt"), []),
        (("septet", "get", "nothing-begins-so"), []),
    ],
    ids=" ".join,
)
def test_bash_completes(home, words, wanted):
    assert sorted(asked(home, *words)) == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed_and_can_be_read_by_it(home, shell):
    done = subprocess.run([home / "septet", "completion", shell], capture_output=True, text=True, check=True)
    assert "_SEPTET_COMPLETE=complete_" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


def test_another_shell_is_an_error_that_names_those_that_can_be(home):
    done = subprocess.run([home / "septet", "completion", "tcsh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bash, zsh, fish" in done.stderr
