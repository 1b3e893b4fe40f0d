"""`septet tune`: weights before and after, written only where they gain something."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.commands import Commands

from septet import Vault

pytest.importorskip("typer")

TOPICS = [f"topic{n}" for n in range(12)]


@pytest.fixture
def septet(tmp_path, monkeypatch):
    """Readers want the critical entry, whatever the words say."""
    with Vault(tmp_path / "v.db") as vault:
        for topic in TOPICS:
            vault.add(id=f"{topic}-a", title=f"{topic} and more {topic}")
            rule = f"The rule of {topic} that must hold at all times"
            vault.add(id=f"{topic}-c", title=rule, severity="critical")
    judged = [{"query": topic, "relevant": [f"{topic}-c"]} for topic in TOPICS]
    (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, judged)), "utf-8")
    return Commands(tmp_path, monkeypatch)


def test_weights_are_printed_before_and_after_and_nothing_is_written(septet):
    code, said, told = septet("tune", "judged.jsonl", "-m", "MRR")
    reason, heads, *rows = said.splitlines()
    assert code == 0 and reason.startswith("accepted: MRR 0.5000 -> 1.0000, +0.5000")
    assert heads.split() == ["searches", "signal", "before", "after"]
    weights = {row.split()[1]: tuple(map(float, row.split()[2:])) for row in rows}
    before, after = weights["semantic"]
    assert after < before and weights["severity"][1] > weights["severity"][0]
    assert told == "--write FILE.json writes them as a profile, for --profile FILE.json\n"
    assert not list(septet.home.glob("*.json"))


def test_a_written_profile_is_one_that_searches_and_eval_take(septet):
    assert septet("eval", "judged.jsonl", "-m", "MRR")[1] == "MRR        0.5000\n"
    for before in (False, True):
        code, _, told = septet("tune", "judged.jsonl", "-m", "MRR", "--write", "mine.json")
        assert code == 0 and "use it with --profile mine.json" in told
        assert ("mine.json.before" in told) is before
    assert septet("eval", "judged.jsonl", "-m", "MRR", "--profile", "mine.json")[1] == "MRR        1.0000\n"
    hits = septet("search", "topic3", "--profile", "mine.json", "--format", "ids")[1].split()
    assert hits[0] == "topic3-c" and septet("search", "topic3", "--format", "ids")[1].startswith("topic3-a")
    assert septet("eval", "judged.jsonl", "-m", "MRR", "--tune", "again.json")[0] == 0
    weights = [json.loads((septet.home / name).read_text("utf-8"))["weights"] for name in ("mine.json", "again.json")]
    assert weights[0] == weights[1]


def test_other_formats_have_the_same_weights(septet):
    whole = json.loads(septet("tune", "judged.jsonl", "-m", "MRR", "--json")[1])
    assert whole["accepted"] and whole["profile"]["weights"]
    code, said, told = septet("tune", "judged.jsonl", "-m", "MRR", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(said, newline="")))
    assert code == 0 and told.startswith("accepted: ")
    assert {row["signal"]: float(row["after"]) for row in rows} == pytest.approx(whole["after"]["text"], abs=1e-4)


def test_judgements_come_from_standard_input_and_from_feedback(septet):
    given = (septet.home / "judged.jsonl").read_text("utf-8")
    assert septet("tune", "-", "-m", "MRR", stdin=given)[1] == septet("tune", "judged.jsonl", "-m", "MRR")[1]
    with Vault("v.db") as vault:
        for topic in TOPICS:
            vault.feedback(topic, f"{topic}-c", "accepted")
    assert septet("tune", "-m", "MRR")[1].startswith("accepted: MRR")


def test_a_refused_tuning_writes_nothing_and_exits_with_1(septet):
    (septet.home / "few.jsonl").write_text('{"query": "topic1", "relevant": ["topic1-c"]}\n', "utf-8")
    code, said, told = septet("tune", "few.jsonl", "--write", "mine.json")
    assert (code, told) == (1, "") and said.startswith("refused: 1 queries with a relevant entry are too few")
    noise = [{"query": topic, "relevant": [f"{topic}-{'ac'[n % 2]}"]} for n, topic in enumerate(TOPICS)]
    (septet.home / "noise.jsonl").write_text("\n".join(map(json.dumps, noise)), "utf-8")
    code, said, _ = septet("tune", "noise.jsonl", "-m", "MRR", "--write", "mine.json")
    assert code == 1 and said.startswith("refused: not above noise: MRR") and not (septet.home / "mine.json").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("judged.jsonl", "--write", "mine.toml"), "mine.toml is not a profile name: wanted a name"),
        (("judged.jsonl", "-m", "F1"), "unknown measure 'F1'"),
        (("missing.jsonl",), "missing.jsonl cannot be read"),
        (("--qrels", "judged.jsonl"), "--qrels needs the queries"),
        ((), "none of 0 queries is judged"),
    ],
)
def test_what_cannot_be_fitted_to_is_refused(septet, given, told):
    code, said, heard = septet("tune", *given)
    assert (code, said) == (2, "") and told in heard
