"""The command that a client of MCP starts: this program, or what installs it again where it is not there to stay."""

import sys
from pathlib import Path

import pytest

from septet.cli import demo
from septet.service.program import command


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """An environment below a folder that is marked as a cache."""
    (tmp_path / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "archive-v0" / "x"))
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_an_environment_of_uv_is_made_again(cached, monkeypatch):
    monkeypatch.setenv("UV", "/opt/uv")
    assert command("mcp") == ["/opt/uv", "tool", "run", "--from", "septet[mcp]", "septet"]
    assert demo.command() == "uv tool run --from 'septet[cli]' septet"


def test_an_environment_of_pipx_is_made_again(cached):
    pipx = cached / "pipx"
    pipx.touch(0o755)
    assert command("mcp") == [str(pipx), "run", "--spec", "septet[mcp]", "septet"]


def test_any_other_environment_is_started_as_it_is(cached, monkeypatch, tmp_path_factory):
    alone = command("mcp")
    assert Path(alone[0]).is_absolute() and alone[0].startswith(str(Path(sys.executable).parent))
    monkeypatch.setattr(sys, "prefix", str(tmp_path_factory.mktemp("kept")))
    monkeypatch.setenv("UV", "/opt/uv")
    assert command("mcp") == alone


def test_without_the_script_no_module_of_the_working_directory_is_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    alone = ["-P"] if sys.version_info >= (3, 11) else []
    assert command("cli") == [str(tmp_path / "python"), *alone, "-m", "septet"]
