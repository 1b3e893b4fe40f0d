"""Processes that embed one vault: nothing is paid for twice, and a process that is killed loses nothing it stored."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from consoles import was_killed
from doubles import Letters
from septet import Vault

TEXTS = 5_000
KILLS = 5

EMBED = """
import json, os, sys, threading
sys.path.insert(0, sys.argv[1])
from doubles import Letters
from septet import EmbeddingOptions, Vault

class Logged(Letters):
    "Writes down what it is sent before it answers; the first answer waits for the others to have been asked too."
    def embed(self, texts, kind="document", *, timeout_s=None):
        with open(log, "a", encoding="utf-8") as out:
            out.write(json.dumps([os.getpid(), *texts]) + "\\n")
        while len({json.loads(line)[0] for line in open(log, encoding="utf-8")}) < together:
            threading.Event().wait(0.005)
        # A provider takes a while, too: a kill shall come before the last batch, also on a busy machine.
        threading.Event().wait(0.02)
        return super().embed(texts, kind)

path, log, together = sys.argv[2], sys.argv[3], int(sys.argv[4])
with Vault(path, embedder=Logged(), embedding_options=EmbeddingOptions(automatic=False)) as vault:
    report = vault.embed(progress=lambda done, total: print(done, flush=True))
print(json.dumps(report.to_dict()), flush=True)
"""


@pytest.fixture
def path(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": f"text number {i}"} for i in range(TEXTS))
    return tmp_path / "v.db"


def started(path, log, together=1):
    command = [sys.executable, "-c", EMBED, Path(__file__).parents[1], path, log, together]
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored(path):
    """The titles of entries that have a vector, and how many vectors there are."""
    with closing(sqlite3.connect(path)) as sql:
        rows = sql.execute("SELECT e.title FROM entries e JOIN vectors v ON v.key = e.text_hash").fetchall()
        return {r[0] for r in rows}, sql.execute("SELECT count(*) FROM vectors").fetchone()[0]


def sent(log):
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [text for line in lines for text in json.loads(line)[1:]]


def test_five_kills_in_the_middle_cost_nothing_that_was_stored(path, tmp_path):
    log = tmp_path / "sent.log"
    for kill in range(KILLS):
        process = started(path, log)
        # At another view of the work each time.
        for _ in range(3 + 2 * kill):
            assert process.stdout.readline().strip().isdigit()
        process.kill()
        process.communicate()
        assert was_killed(process.returncode)
        before, already = stored(path)[0], len(sent(log))
        assert 0 < len(before) < TEXTS
        follow_up = started(path, log)
        assert follow_up.stdout.readline()
        follow_up.kill()
        follow_up.communicate()
        assert not before & set(sent(log)[already:])
    before, already = stored(path)[0], len(sent(log))
    process = started(path, log)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["missing"] == 0
    assert not before & set(sent(log)[already:])
    titles, vectors = stored(path)
    assert len(titles) == vectors == TEXTS
    # What was on its way at a kill is lost, and nothing else: at most one batch each.
    assert len(sent(log)) <= TEXTS + 2 * KILLS * 100
    with Vault(path, embedder=Letters()) as vault:
        assert vault.embed().requests == 0
        assert vault.search("text number 77", legs="vector", limit=1).ids == ["e77"]


def test_two_processes_share_the_work_and_pay_once_for_each_text(path, tmp_path):
    log = tmp_path / "sent.log"
    running = [started(path, log, together=2) for _ in range(2)]
    reports = []
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        reports.append(json.loads(out.splitlines()[-1]))
    assert all(report["embedded"] > 0 for report in reports)
    assert sum(report["embedded"] for report in reports) == TEXTS
    # Each may begin or end while the other is at work.
    assert all(0 < report["embedded"] + report["elsewhere"] <= TEXTS and report["elsewhere"] for report in reports)
    assert len(sent(log)) == len(set(sent(log))) == TEXTS
    assert stored(path)[1] == TEXTS
    with Vault(path) as vault:
        assert [(s.entries, s.missing, s.active) for s in vault.embedding_status().spaces] == [(TEXTS, 0, True)]
