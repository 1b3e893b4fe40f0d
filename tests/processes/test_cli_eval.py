"""``septet eval`` as its users meet it: real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from consoles import home_at
from septet import Vault

pytest.importorskip("typer")
pytest.importorskip("rich")

Run = Callable[..., "subprocess.CompletedProcess[str]"]
JUDGED = [
    {"id": "q1", "query": "ducks swim", "relevant": ["a"]},
    {"id": "q2", "query": "geese", "relevant": {"b": 2, "c": 1}},
    {"id": "q3", "query": "ravens croak", "relevant": ["x"]},
]


@pytest.fixture
def septet(tmp_path: Path) -> Run:
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="Ducks swim", severity="critical")
        vault.add(id="b", title="Geese fly")
        vault.add(id="c", title="Geese swim", description="and fly far and wide over land")
    (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, JUDGED)), encoding="utf-8")
    env = {**os.environ, **home_at(tmp_path), "SEPTET_VAULT": str(tmp_path / "v.db"), "COLUMNS": "200"}

    def run(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "septet", "eval", *args]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120, check=False
        )

    return run


def refused(done: subprocess.CompletedProcess[str], code: int, *said: str) -> None:
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr


def test_a_file_of_judged_queries_gives_a_line_for_each_measure(septet):
    done = septet("judged.jsonl", "--measures", "MRR,P@1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "MRR        0.6667\nP@1        0.6667\n"
    assert "septet over 3 queries" in done.stderr
    assert "1 relevant ids are not in the vault, such as 'x'" in done.stderr


def test_queries_come_from_standard_input_and_judgements_from_columns(septet, tmp_path):
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 b 2\nq2 0 c 1\nq3 0 x 1\n", encoding="utf-8")
    plain = "\n".join(json.dumps({"_id": q["id"], "text": q["query"]}) for q in JUDGED)
    done = septet("-", "--qrels", "qrels", "-m", "MRR,P@1", stdin=plain)
    assert done.stdout == septet("judged.jsonl", "-m", "MRR,P@1").stdout != ""


def test_json_has_every_query_and_the_comparison_with_another_profile(septet):
    done = septet("judged.jsonl", "--profile", "seven-signals", "--against", "six-signals", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["profile"], data["against"]["profile"]) == ("seven-signals", "six-signals")
    assert list(data["per_query"]) == ["q1", "q2", "q3"]
    assert data["comparison"]["differences"]["nDCG@10"]["ties"] >= 1


def test_a_comparison_is_a_table_and_the_worst_queries_are_listed(septet):
    done = septet("judged.jsonl", "-m", "MRR", "--against", "six-signals", "--worst", "1")
    assert "septet with six-signals over 3 queries" in done.stdout
    assert done.stdout.splitlines()[-1] == "0.0000  q3  ravens croak"


def test_options_of_a_search_are_those_of_the_command(septet):
    assert septet("judged.jsonl", "-m", "MRR", "--where", '{"severity": "critical"}').stdout == "MRR        0.3333\n"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_judgements_of_which_the_vault_holds_none_exit_with_1(septet, more):
    asked = '{"query": "ducks", "relevant": {"x": 1.0, "a": 0}}'
    done = septet("-", "-m", "MRR", *more, stdin=asked)
    assert (done.returncode, "x" in done.stdout + done.stderr) == (1, True)
    assert septet("-", "-m", "MRR", *more, stdin=asked.replace('"a": 0', '"a": 1')).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["missing.jsonl"], 2, "missing.jsonl cannot be read: "),
        (["judged.jsonl", "-m", "F1"], 2, "unknown measure 'F1'"),
        (["judged.jsonl", "--qrels", "judged.jsonl"], 2, "omit one of them"),
        (["judged.jsonl", "--against", "none"], 2, "unknown profile 'none'"),
        (["judged.jsonl", "--vault", "missing.db"], 3, "there is no vault at"),
        (["v.db"], 2, "v.db, line 1"),
        ([], 2, "none of 0 queries is judged"),
        (["--qrels", "judged.jsonl"], 2, "--qrels needs the queries"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_measured_is_refused_in_one_line(septet, arguments, code, said):
    refused(septet(*arguments), code, said)


def test_a_bad_line_of_standard_input_is_named_with_its_number(septet):
    refused(septet("-", stdin='{"query": "a", "relevant": ["a"]}\n{"relevant": []}\n'), 2, "standard input, line 2")
    refused(septet("-"), 2, "none of 0 queries is judged")


def test_weights_are_tuned_to_a_profile_file_or_refused_with_an_exit_code(septet, tmp_path):
    refused_ = septet("judged.jsonl", "--tune", "mine.json")
    assert refused_.returncode == 1
    assert "3 queries with a relevant entry are too few" in refused_.stdout
    with Vault(tmp_path / "v.db") as vault:
        for topic in range(12):
            for at in range(5):
                vault.add(id=f"{topic}-{at}", title=f"topic{topic} and more topic{topic}")
            rule = f"The rule of topic{topic} that must hold at all times"
            vault.add(id=f"{topic}-5", title=rule, severity="critical")
            vault.feedback(f"topic{topic}", f"{topic}-5", "accepted")
    (tmp_path / "mine.json").write_text('{"extends": "six-signals"}')
    done = septet("--tune", "mine.json", "-m", "MRR")
    assert done.returncode == 0, done.stderr
    assert "accepted: MRR" in done.stdout
    assert "mine.json.before" in done.stderr
    assert (tmp_path / "mine.json.before").read_text() == '{"extends": "six-signals"}'
    assert septet("-m", "MRR", "--profile", "mine.json").stdout == "MRR        1.0000\n"
