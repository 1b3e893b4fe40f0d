"""What the sources must pass: bounds, licences, documentation, charts, workflows and tests."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from release.checklist.item import Outcome, Work, failed, held, not_run, outcome_of

__all__ = ["charts", "docs", "licences", "lowest", "newest", "tests", "workflows"]


def lowest(work: Work) -> Outcome:
    """The tests pass with the oldest versions that pyproject.toml allows."""
    return _made(work, "lowest")


def newest(work: Work) -> Outcome:
    """The tests pass with the newest versions there are."""
    return _made(work, "newest")


def _made(work: Work, target: str) -> Outcome:
    if not re.search(rf"^{target}:", (work.root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE):
        return failed(f"the Makefile has no target {target}")
    done = work.ran("make", target)
    skipped = next((line for line in done.stdout.splitlines() if line.startswith("SKIPPED")), None)
    if done.returncode == 0 and skipped:
        return not_run(skipped)
    return outcome_of(done, f"make {target}")


def licences(work: Work) -> Outcome:
    """Every crate has a licence that is allowed, and no advisory."""
    if not (work.root / "deny.toml").is_file():
        return failed("there is no deny.toml")
    if shutil.which("cargo-deny") is None:
        return not_run("cargo-deny is not installed; the hosted workflow runs it")
    deny = ("cargo", "deny", "check")
    outcome = work.passed(*deny, "licenses", "bans", "sources")
    if outcome.state != "ok":
        return outcome
    done = work.ran(*deny, "advisories")
    if done.returncode and "fetch advisory database" in done.stderr:
        return not_run("licences, duplicates and sources hold; advisories come by a network, as in the hosted workflow")
    return outcome_of(done, "cargo deny check advisories", "licences, duplicates, sources and advisories")


def docs(work: Work) -> Outcome:
    """The documentation builds strictly: no broken link, no warning."""
    if not (work.root / "mkdocs.yml").is_file():
        return failed("there is no mkdocs.yml")
    if work.ran(work.python, "-c", "import mkdocs").returncode:
        return not_run("mkdocs is not installed: pip install --group docs")
    with tempfile.TemporaryDirectory() as site:
        command = (work.python, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site)
        outcome = work.passed(*command, env={"NO_MKDOCS_2_WARNING": "1"})
        pages = len(list(Path(site).rglob("*.html")))
    return held(f"{pages} pages") if outcome.state == "ok" else outcome


def charts(work: Work) -> Outcome:
    """The charts are those of the figures in benches/RESULTS.md."""
    program, kept = work.root / "benches" / "charts.py", work.root / "benches" / "charts"
    if not program.is_file():
        return failed("there is no benches/charts.py")
    with tempfile.TemporaryDirectory() as drawn:
        outcome = work.passed(work.python, str(program), "--out", drawn)
        if outcome.state != "ok":
            return outcome
        new, old = ({file.name: file.read_bytes() for file in Path(f).glob("*.svg")} for f in (drawn, kept))
    stale = sorted(name for name in {*new, *old} if new.get(name) != old.get(name))
    if stale or not new:
        return failed(f"not those of RESULTS.md: {', '.join(stale) or 'none is drawn'}; run python benches/charts.py")
    return held(f"{len(new)} charts")


def workflows(work: Work) -> Outcome:
    """Nothing is wrong with the workflows of the hosted CI, by zizmor."""
    folder = work.root / ".github"
    if not (folder / "workflows" / "release.yml").is_file():
        return failed("there is no .github/workflows/release.yml")
    beside = Path(work.python).with_name("zizmor")
    if (zizmor := str(beside) if beside.is_file() else shutil.which("zizmor")) is None:
        return not_run("zizmor is not installed: pip install --group release")
    command = (zizmor, "--offline", "--quiet", "--config", str(folder / "zizmor.yml"), str(folder))
    return work.passed(*command, seen="zizmor finds nothing")


def tests(work: Work) -> Outcome:
    """Style, types, and every test of Rust and Python, as `make test-all`."""
    done = work.ran("make", "test-all")
    # What was skipped is counted there.
    counted = [line.strip("= ") for line in done.stdout.splitlines() if re.search(r"\d passed", line)]
    return outcome_of(done, "make test-all", "; ".join(counted))
