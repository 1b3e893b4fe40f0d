"""An unknown option or command names the one that is meant, or none."""

from __future__ import annotations

import re

import pytest
from tests.commands import Commands

pytest.importorskip("typer")


@pytest.fixture
def septet(tmp_path, monkeypatch):
    return Commands(tmp_path, monkeypatch)


def suggested(septet, *given):
    code, said, told = septet(*given)
    assert (code, said) == (2, "")
    return re.findall(r"--[a-z-]+(?= or |\?)|'[a-z-]+'(?= or |\?)", told.partition("Did you mean")[2])


@pytest.mark.parametrize(
    ("command", "typed", "meant"),
    [
        ("list", "--sort", ["--order-by"]),
        ("list", "--sort-by", ["--order-by"]),
        ("list", "--order", ["--order-by"]),
        ("list", "--order_by", ["--order-by"]),
        ("list", "--vualt", ["--vault"]),
        ("list", "--db", ["--vault"]),
        ("list", "--label", ["--tag"]),
        ("list", "--newer-than", ["--since"]),
        ("list", "--tga", ["--tag"]),
        ("search", "--tag", ["--boost-tags"]),
        ("search", "--top-k", ["--limit"]),
        ("search", "--TOP", ["--limit"]),
        ("search", "--model", ["--embedding"]),
        ("search", "--min", ["--min-confidence", "--min-score"]),
        ("search", "--fuzzy", ["--typos"]),
        ("export", "--fromat", ["--format"]),
        ("backup", "--overwrite", ["--force"]),
        ("delete", "--dryrun", ["--dry-run"]),
        ("eval", "--metrics", ["--measures"]),
        ("tune", "--output", ["--write"]),
    ],
)
def test_an_option_by_another_name_or_misspelt_names_that_of_the_command(septet, command, typed, meant):
    assert suggested(septet, command, typed, "x") == meant


@pytest.mark.parametrize(
    ("command", "typed"),
    [("search", "--sort"), ("list", "--verbose"), ("list", "--expand"), ("search", "--expand"), ("stats", "--tag"),
     ("list", "--xyzzy"), ("list", "-z"), ("count", "--order-by"), ("get", "--limit")],
)  # fmt: skip
def test_what_a_command_has_nothing_like_is_not_guessed(septet, command, typed):
    assert suggested(septet, command, typed, "x") == []


def test_an_option_on_the_wrong_side_of_the_command_is_told_so(septet):
    assert "No such option: --vault. Put it after the command." in septet("--vault", "v.db", "list")[2]
    assert "No such option: --no-pager. Put it before the command." in septet("list", "--no-pager")[2]
    assert suggested(septet, "--vresion") == ["--version"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("ls", "list"), ("find", "search"), ("serch", "search"), ("rm", "delete"), ("show", "get"), ("dump", "export"),
     ("check", "doctor"), ("sync-status", None), ("frobnicate", None), ("forget_root", "forget-root"),
     ("optimise", "optimize"), ("ListS", "list")],
)  # fmt: skip
def test_a_command_by_another_name_or_misspelt_names_the_one_that_is_there(septet, typed, meant):
    assert suggested(septet, typed) == ([] if meant is None else [f"'{meant}'"])
