"""The checklist of a release: whatever does not hold makes it fail, and what was not run is told as such."""

import os
import subprocess
import sys
from datetime import date, timedelta

import pytest

from release.checklist import __main__ as command
from release.checklist import last, repository, sources, stranger, wheels
from release.checklist.item import ROOT, Item, Work, failed, held, not_run

CHANGES = "# Changelog\n\n## 1.2.3 (2026-01-31)\n\n- A vault.\n\n## 1.2.2 (2026-01-01)\n\n- Before.\n"
README = "# A\n\n```python\nprint('found')\n```\n\n```text\nfound\n```\n"


def git(folder, *arguments):
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A checkout of version 1.2.3 in which everything that costs no minutes holds."""
    # The user's own settings may sign, ignore files, or call hooks.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    root = tmp_path / "checkout"
    (root / "benches" / "charts").mkdir(parents=True)
    dist = tmp_path / "dist"
    dist.mkdir()
    for name, text in {
        "Cargo.toml": '[package]\nname = "septet"\nversion = "1.2.3"\n',
        "Cargo.lock": '[[package]]\nname = "septet"\nversion = "1.2.3"\n',
        "pyproject.toml": '[project]\ndynamic = ["version"]  # Cargo.toml has it\n\n'
        '[project.urls]\nSource = "https://code.example.org/septet"\n\n[tool.ruff]\n',
        "CHANGELOG.md": CHANGES,
        "README.md": README,
        "Makefile": "lowest:\n\ttrue\n\nnewest:\n\tfalse\n",
        "benches/charts.py": "import pathlib, sys\n(pathlib.Path(sys.argv[2]) / 'a.svg').write_text('<svg/>')\n",
        "benches/charts/a.svg": "<svg/>",
        ".gitignore": "/target/\n",
    }.items():
        (root / name).write_text(text, encoding="utf-8")
    for platform in wheels.PLATFORMS:
        (dist / f"septet-1.2.3-cp310-abi3-{platform}.whl").write_bytes(b"wheel")
    (dist / "septet-1.2.3.tar.gz").write_bytes(b"sdist")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "All of it")
    return Work(root, dist, sys.executable)


def write(work, name, text):
    (work.root / name).write_text(text, encoding="utf-8")


HOLDING = {
    "tree": repository.tree,
    "version": repository.version,
    "addresses": repository.addresses,
    "tag": repository.tag,
    "changelog": repository.changelog,
    "charts": sources.charts,
    "lowest": sources.lowest,
    "dist": wheels.complete,
}


@pytest.mark.parametrize("look", HOLDING.values(), ids=HOLDING)
def test_what_is_as_it_should_be_holds(work, look):
    assert look(work).state == "ok", look(work).said


def test_a_file_that_is_not_committed_fails(work):
    write(work, "new.txt", "")
    assert repository.tree(work) == failed("1 files are changed or new: new.txt")


def test_a_version_that_the_lock_file_does_not_have_fails(work):
    write(work, "Cargo.toml", '[package]\nversion = "1.2.4"\n')
    assert repository.version(work) == failed("Cargo.toml says 1.2.4, Cargo.lock 1.2.3: run cargo build")


def test_a_version_that_pyproject_states_itself_fails(work):
    write(work, "pyproject.toml", '[project]\nversion = "1.2.3"\n')
    assert "does not take the version" in repository.version(work).said


def test_a_version_of_no_three_numbers_fails(work):
    write(work, "Cargo.toml", '[package]\nversion = "1.2.3-dev"\n')
    assert repository.version(work).state == "FAILED"


def test_the_tag_of_an_earlier_commit_fails_and_that_of_this_one_does_not(work):
    git(work.root, "tag", "v1.2.3")
    assert repository.tag(work) == held("v1.2.3 is this commit")
    write(work, "README.md", "other")
    git(work.root, "commit", "-qam", "Later")
    assert repository.tag(work) == failed("v1.2.3 is the tag of another commit: raise the version in Cargo.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CHANGES.replace("1.2.3", "1.2.30"), "has no section 1.2.3"),
        (CHANGES.replace("(2026-01-31)", "(unreleased)"), "says unreleased"),
        (CHANGES.replace("(2026-01-31)", ""), "has no day but nothing"),
        (CHANGES.replace("2026-01-31", "31 January"), "has no day but"),
        (CHANGES.replace("2026-01-31", str(date.today() + timedelta(days=3))), "which is not yet"),
        (CHANGES.replace("- A vault.\n", ""), "is empty"),
    ],
)
def test_a_changelog_that_does_not_tell_of_the_version_fails(work, text, said):
    write(work, "CHANGELOG.md", text)
    outcome = repository.changelog(work)
    assert outcome.state == "FAILED" and said in outcome.said


def test_a_readme_that_says_what_to_do_before_the_first_release_fails(work):
    write(work, "README.md", README + "\nBefore the first release: from a checkout.\n")
    assert repository.changelog(work).said.startswith("README.md says how to do without a release")


@pytest.mark.parametrize("urls", ["", "[project.urls]\n", '[tool.other]\nSource = "https://code.example.org/septet"\n'])
def test_a_project_without_an_address_fails(work, urls):
    write(work, "pyproject.toml", f'[project]\ndynamic = ["version"]\n\n{urls}')
    assert repository.addresses(work).said.startswith("pyproject.toml names no repository")


@pytest.mark.parametrize("name", ["a.svg", "b.svg"])
def test_a_chart_that_is_not_that_of_the_figures_fails(work, name):
    write(work, f"benches/charts/{name}", "<svg>old</svg>")
    assert sources.charts(work) == failed(f"not those of RESULTS.md: {name}; run python benches/charts.py")


def test_tests_with_other_versions_that_fail_or_are_not_there_fail(work):
    assert sources.newest(work).said.startswith("make newest ended with 2")
    write(work, "Makefile", "lowest:\n\t@echo SKIPPED lowest: there is no Python 3.10\n")
    assert sources.lowest(work) == not_run("SKIPPED lowest: there is no Python 3.10")
    write(work, "Makefile", "")
    assert sources.lowest(work) == failed("the Makefile has no target lowest")


@pytest.mark.parametrize(
    ("fails", "said", "state"),
    [
        ("nothing", "", "ok"),
        ("bans", "two versions", "FAILED"),
        ("advisories", "a flaw was found", "FAILED"),
        ("advisories", "failed to fetch advisory database", "not run here"),
    ],
)
def test_licences_are_checked_without_a_network_and_advisories_with_one(
    work, monkeypatch, tmp_path, fails, said, state
):
    write(work, "deny.toml", "")
    for name in ("cargo", "cargo-deny"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\ncase "$*" in *{fails}*) echo "{said}" >&2; exit 1;; esac\n', encoding="utf-8"
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert sources.licences(work).state == state


@pytest.mark.parametrize("look", [sources.licences, sources.docs, sources.workflows, sources.tests])
def test_a_checkout_that_lacks_what_is_run_fails(work, look):
    assert look(work).state == "FAILED"


@pytest.mark.parametrize("kind", [*wheels.PLATFORMS, "tar.gz"])
def test_a_file_that_dist_lacks_fails(work, kind):
    next(file for file in work.dist.iterdir() if kind in file.name).unlink()
    outcome = wheels.complete(work)
    assert outcome.state == "FAILED" and outcome.said.startswith("dist/ lacks ")


def test_a_wheel_of_another_version_fails_and_one_for_macos_does_not(work):
    (work.dist / "septet-1.2.3-cp310-abi3-macosx_11_0_arm64.whl").write_bytes(b"wheel")
    assert wheels.complete(work).state == "ok"
    (work.dist / "septet-1.2.2-cp310-abi3-manylinux_2_17_x86_64.whl").write_bytes(b"wheel")
    assert "septet-1.2.2" in wheels.complete(work).said and wheels.complete(work).state == "FAILED"


def test_a_dist_that_is_not_there_fails(work):
    assert wheels.complete(work._replace(dist=work.root / "none")).state == "FAILED"


def test_wheels_that_are_none_fail_the_checks(tmp_path):
    (tmp_path / "septet-1.2.3-cp310-abi3-manylinux_2_17_x86_64.whl").write_bytes(b"no archive")
    pytest.importorskip("ziglang")
    assert wheels.checked(Work(ROOT, tmp_path, sys.executable)).state == "FAILED"


def test_the_first_example_is_the_first_block_with_an_output():
    assert stranger.first_example("```python\nleft()\n```\n\ntext\n\n" + README) == ("print('found')\n", "found\n")
    with pytest.raises(ValueError, match="no Python block"):
        stranger.first_example("# Nothing")


def test_a_wheel_that_cannot_be_installed_fails_the_strangers_path(work):
    if stranger.wheel_here(work.dist) is None:
        pytest.skip("the fixture has no wheel for this machine")
    assert stranger.walked(work).said.startswith("install ended with")


def test_without_a_wheel_for_this_machine_the_strangers_path_fails(work):
    assert stranger.walked(work._replace(dist=work.root)).state == "FAILED"


def items(*outcomes, slow=False):
    return [Item(f"one-{i}", "A line", lambda _work, said=said: said, slow) for i, said in enumerate(outcomes)]


def test_one_failure_makes_the_walk_fail_and_all_others_are_looked_at(work, capsys):
    assert not command.walk(work, items(held("a"), failed("b"), not_run("c"), held("d")))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[:4]] == ["ok", "FAILED", "not", "ok"]


def test_what_was_not_run_is_no_failure_and_is_counted(work, capsys):
    assert command.walk(work, items(held("a"), not_run("no such machine")))
    assert capsys.readouterr().out.endswith("1 ok, 0 failed, 1 not run here\n")


def test_an_item_that_cannot_cope_fails(work):
    def broken(_work):
        raise OSError("no such disk")

    assert command.looked(Item("a", "A line", broken), work) == failed("OSError: no such disk")


def test_quick_leaves_out_what_takes_minutes(work, capsys):
    assert command.walk(work, items(failed("never looked at"), slow=True), quick=True)
    assert "left out by --quick" in capsys.readouterr().out


def test_what_held_at_this_commit_is_taken_and_at_another_it_is_not(work, capsys):
    assert command.walk(work, items(held("2,000 passed"), slow=True))
    again = items(failed("looked at again"), slow=True)
    assert command.walk(work, again, use_last=True)
    assert "2,000 passed (earlier, at this commit)" in capsys.readouterr().out
    write(work, "README.md", "other")
    assert not command.walk(work, again, use_last=True)
    git(work.root, "commit", "-qam", "Later")
    assert not command.walk(work, again, use_last=True)


def test_what_failed_later_is_no_longer_taken(work):
    last.keep(work, "tests", held("2,000 passed"))
    last.keep(work, "tests", failed("1 failed"))
    assert last.kept(work, "tests") is None


def test_what_held_of_other_wheels_is_not_taken(work):
    for name in ("installed", "tests"):
        last.keep(work, name, held("4 Pythons"))
    (work.dist / "septet-1.2.3.tar.gz").write_bytes(b"another")
    assert last.kept(work, "installed") is None and last.kept(work, "tests") is not None


def test_the_command_ends_with_1_when_an_item_fails_and_with_0_when_none_does(monkeypatch):
    monkeypatch.setattr(command, "ITEMS", tuple(items(held("a"), failed("b"))))
    assert command.main(["--only", "one-0"]) == 0
    assert command.main([]) == 1


def test_the_version_that_is_printed_is_that_of_the_crate(capsys):
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == repository.version_of(ROOT)
