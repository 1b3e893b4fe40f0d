"""The workflows of the hosted CI: what they may do is little, and what they call is there."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github"
if not FOLDER.is_dir():
    pytest.skip("there is no .github: an sdist brings none", allow_module_level=True)
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("workflows/*.yml")}
JOBS = {f"{name}/{job}": body for name, whole in WORKFLOWS.items() for job, body in whole["jobs"].items()}
STEPS = [(name, step) for name, job in JOBS.items() for step in job.get("steps", [])]
#: What a job may do; all others only read.
MAY = {"release/publish": {"id-token": "write", "attestations": "write"}}


def runs_of(job):
    """What the steps of a job run."""
    return "\n".join(step.get("run", "") for step in job.get("steps", []))


RUNS = "\n".join(step.get("run", "") for _, step in STEPS)


def test_there_is_one_for_changes_and_one_for_releases():
    assert set(WORKFLOWS) == {"ci", "release"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_do_nothing_by_itself_and_does_not_run_twice_at_once(name):
    assert WORKFLOWS[name]["permissions"] == {}
    assert "group" in WORKFLOWS[name]["concurrency"]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_may_read_and_only_the_last_may_publish(name):
    assert JOBS[name]["permissions"] == MAY.get(name, {"contents": "read"})
    # A job that calls a workflow has the limits of its jobs.
    assert "uses" in JOBS[name] or JOBS[name]["timeout-minutes"] <= 120


def test_nothing_is_published_before_everything_else_is_done_and_a_maintainer_agrees():
    publish = WORKFLOWS["release"]["jobs"]["publish"]
    assert {*publish["needs"], "publish"} == set(WORKFLOWS["release"]["jobs"])
    assert publish["environment"] == "pypi" and "refs/tags/v" in publish["if"]


def test_a_checkout_leaves_no_credentials_behind():
    checkouts = [step for _, step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts and all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_every_action_has_a_version():
    for name, step in STEPS:
        assert "uses" not in step or re.search(r"@(v\d|release/v\d|[0-9a-f]{40}$)", step["uses"]), (name, step)


def test_no_step_puts_what_others_wrote_into_a_shell():
    assert "${{" not in RUNS


def test_every_target_and_file_that_a_step_runs_is_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)", RUNS, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for file in re.findall(r"\btests/\S+|\.ci/run", RUNS):
        assert (ROOT / file).exists(), file


def test_wheels_are_made_for_each_machine_that_the_tools_know():
    from release.targets import TARGETS

    made = WORKFLOWS["release"]["jobs"]["linux"]["strategy"]["matrix"]["target"]
    assert sorted(made) == sorted(TARGETS)


def test_releases_are_built_by_the_compiler_that_the_tools_name():
    from release.toolchain import RUSTC

    assert {whole["env"]["RUSTUP_TOOLCHAIN"] for whole in WORKFLOWS.values()} == {RUSTC}
    building = [job for name, job in JOBS.items() if "make " in runs_of(job) or "-m release" in runs_of(job)]
    building.remove(JOBS["ci/msrv"])  # brings its own
    assert building
    for job in building:
        assert "rustup toolchain install" in runs_of(job) or "release.checklist" in runs_of(job), job["name"]


def test_a_question_asks_for_what_answers_need():
    forms = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("ISSUE_TEMPLATE/*.yml")}
    assert "septet doctor" in forms["bug"] and "septet explain" in forms["ranking"]
    assert "benches/RESULTS.md" in forms["performance"]
