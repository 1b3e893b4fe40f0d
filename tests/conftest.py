"""The ground of every test: a plain environment, a home of its own, and the profile of properties."""

from __future__ import annotations

import gc
import os
import re
import signal
import tempfile
from pathlib import Path

import examples
from connections import Connections
from costs import Costs

#: Variables that change what programs print or where they connect, and those that the tests themselves read.
FOREIGN = re.compile(
    r"(SEPTET|XDG|GIT|LC|PG|OPENAI|VOYAGE|GEMINI|GOOGLE|JINA|COHERE|OLLAMA)_?[A-Z0-9_]+$|\w+_proxy$|"
    r"(COLUMNS|LINES|NO_COLOR|(FORCE|CLI)_?COLOR(_FORCE)?|TERM|COLORTERM|LANGUAGE|EDITOR|VISUAL|PAGER|LESS|MANPAGER|"
    r"PYTHON(WARNINGS|UTF8|COERCECLOCALE|IOENCODING))$",
    re.IGNORECASE,
)
OWN = re.compile(r"SEPTET_(CITUS|DATA|STRESS_S|STRESS_SEED|SCREENSHOTS)$")

for _name in filter(FOREIGN.match, list(os.environ)):
    if not OWN.match(_name):
        del os.environ[_name]
# Children have other working directories.
if "PYTHONPATH" in os.environ:
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))
# Configuration of the user, of Septet and of git, is in the home; the toolchain of Rust stays where it is.
for _name, _folder in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")):
    os.environ.setdefault(_name, str(Path.home() / _folder))
_home = tempfile.TemporaryDirectory(prefix="septet-home-")
os.environ["HOME"] = os.environ["USERPROFILE"] = _home.name
# On Windows settings and data are in folders of their own.
os.environ |= {"APPDATA": str(Path(_home.name, "roaming")), "LOCALAPPDATA": str(Path(_home.name, "local"))}
# A shell ignores it for programs in its background, and they and their children would never be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
examples.register()


def pytest_configure(config):
    """Register the plugins here, as hooks of this file would not see fixtures of a session."""
    config.pluginmanager.register(Costs(config), "costs")
    config.pluginmanager.register(Connections(), "connections")


def pytest_collection():
    """Keep the collector of garbage from looking at thousands of tests again and again while they are found."""
    gc.disable()


def pytest_collection_finish():
    """Let it look at what tests make, and at nothing that was there before."""
    examples.warm()
    gc.collect()
    gc.freeze()
    gc.enable()
