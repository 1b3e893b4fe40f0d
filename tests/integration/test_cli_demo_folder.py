"""`septet demo DIR`: what somebody sees who asks a folder of notes for the first time."""

from __future__ import annotations

import json
import re
import shlex

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from commands import Commands
from septet import Vault

PAGES = {
    "tea.md": "# Tea\n\nSome words.\n\n## How to steep green tea\n\nAt 80 degrees, for two minutes at most.\n",
    "bread.md": "# Bread\n\n## Letting the dough rest\n\nOvernight, in a cold place.\n",
    "deep/cheese.md": "# Cheese\n\n## Which cellar is cold enough\n\nOne of ten degrees.\n",
    "plain.txt": "The garden gate was painted green last summer. It squeaks.\n",
}


@pytest.fixture
def septet(tmp_path, monkeypatch):
    return Commands(tmp_path, monkeypatch)


@pytest.fixture
def notes(septet):
    for path, text in PAGES.items():
        file = septet.home / "notes" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return septet.home / "notes"


def test_it_asks_what_the_folder_itself_speaks_of_and_cites_the_lines(septet, notes):
    code, out, err = septet("demo", "notes")
    assert (code, err) == (0, "") and "4 files" in out and "4 chunks" in out
    for question, citation in (
        ("How to steep green tea", "tea.md#L1-L8"),
        ("Letting the dough rest", "bread.md#L1-L6"),
        ("Which cellar is cold enough", "deep/cheese.md#L1-L6"),
        ("The garden gate was painted green last summer", "plain.txt#L1-L2"),
    ):
        answer = out.split(f"\n{question}   ")[1]
        assert re.match(r"[\d.]+ ms\n +semantic", answer) and answer.splitlines()[3].split()[0] == citation
    assert out.count("semantic         0.") == 1  # of the best answer to the first question, weight x signal


def test_a_heading_that_is_printed_already_is_not_what_the_chunk_says(septet, notes):
    (notes / "long.md").write_text("# Water\n\n## Boiling a kettle\n\n" + "It takes a while.\n" * 400)
    (notes / "long.md").write_text((notes / "long.md").read_text() + "Until it sings.\n")
    _, out, _ = septet("demo", "notes", "--ask", "kettle sings")
    [said] = [line for line in out.splitlines() if "long.md#L" in line]
    assert "Water > Boiling a kettle\n" in out and "Water" not in said and "it sings" in said


def test_it_leaves_nothing_behind_unless_a_file_is_named(septet, notes):
    before = sorted(str(path) for path in septet.home.rglob("*"))
    assert septet("demo", "notes")[0] == 0
    assert sorted(str(path) for path in septet.home.rglob("*")) == before
    code, out, _ = septet("demo", "notes", "--path", "kept/n.db")
    assert code == 0 and "The vault is ~/kept/n.db" in out
    with Vault(septet.home / "kept" / "n.db") as vault:
        assert [root.name for root in vault.sync_status().roots] == ["notes"] and vault.stats().entries == 4
    assert {path: (notes / path).read_text() for path in PAGES} == PAGES


def test_the_commands_that_it_shows_work(septet, notes):
    _, out, _ = septet("demo", "notes", "--ask", "the dough's rest")
    for line in out.splitlines()[-2:]:
        command = shlex.split(line.replace("~", str(septet.home)))
        arguments = command[command.index("sync" if "sync" in command else "search") :]
        code, said, _ = septet(*arguments)
        assert code == 0
    assert "bread.md#L1-L6" in said


def test_questions_and_a_profile_may_be_given(septet, notes):
    asked = ("--ask", "cold place", "--ask", "cellar")
    code, out, _ = septet("demo", "notes", *asked, "--profile", "markdown-memory")
    assert code == 0 and out.count(" ms\n") == 2 and "text " in out and "semantic" not in out
    assert "nothing found" in septet("demo", "notes", "--ask", "zebra")[1]


@pytest.mark.parametrize("number", [0, 1, 2, 3, 5, 9])
def test_any_number_of_files_gives_at_most_four_questions_and_no_question_twice(septet, number):
    (septet.home / "few").mkdir()
    for one in range(number):
        (septet.home / "few" / f"{one}.md").write_text(f"# The same title\n\n## About number {one} here\n\nWords.\n")
    code, out, err = septet("demo", "few")
    assert code == (0 if number else 1) and ("contains no Markdown" in err) == (not number)
    asked = re.findall(r"^(\S.*)   [\d.]+ ms$", out, re.MULTILINE)
    assert min(number, 4) <= len(asked) == len(set(asked)) <= 4


def test_a_transcript_is_asked_what_its_user_asked(septet):
    (septet.home / "log").mkdir()
    said = [("user", "Where did I put the spare key?"), ("assistant", "Under the blue pot.")]
    lines = [{"type": "message", "message": {"role": role, "content": text}} for role, text in said]
    (septet.home / "log" / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    _, out, _ = septet("demo", "log")
    assert "\nWhere did I put the spare key?   " in out and "s.jsonl#L1-L2" in out and "blue pot" in out


def test_a_folder_that_suggests_no_question_is_said_to(septet):
    (septet.home / "a.md").write_text("# X\n\nhi\n")
    code, out, err = septet("demo", "a.md")
    assert code == 0 and err == "a.md suggests no question: ask one with --ask\n"
    assert "1 file (0.0 MB) of a.md" in out and "1 chunk and 0 links" in out
    assert "A score" not in out and out.endswith(" search QUESTION\n")
    assert "A score" in septet("demo", "a.md", "--ask", "hi")[1]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("# 茶\n\n## 绿茶的泡法\n\n八十度的水，两分钟。\n", "绿茶的泡法"),
        ("昨天我们在河边的茶馆见面了。天气很好。\n", "昨天我们在河边的茶馆见面了"),
        ("# Trà\n\n## Cách pha trà xanh\n\nNước tám mươi độ, hai phút.\n", "Cách pha trà xanh"),
        ("# Чай\n\nЗелёный чай заваривают две минуты.\n", "Зелёный чай заваривают две минуты"),
    ],
)
def test_texts_of_other_scripts_are_asked_in_their_words(septet, text, question):
    (septet.home / "notes").mkdir()
    (septet.home / "notes" / "a.md").write_text(text, encoding="utf-8")
    code, out, _ = septet("demo", "notes")
    assert code == 0 and f"\n{question}   " in out and "a.md#L1" in out.split(f"\n{question}   ")[1]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "....\n" * 50, "x" * 5_000, "\x1b[2J evil sentence here to ask about.\n", "a b\n"]
)
def test_odd_texts_are_asked_nothing_odd(septet, text):
    (septet.home / "odd").mkdir()
    (septet.home / "odd" / "a.md").write_text(text)
    code, out, err = septet("demo", "odd")
    assert code in (0, 1) and "\x1b" not in out + err


@pytest.mark.parametrize(("args", "said"), [(["nowhere"], "does not exist"), (["--ask", "x"], "options of a folder")])
def test_a_wrong_argument_is_refused(septet, args, said):
    code, out, err = septet("demo", *args)
    assert (code, out) == (2, "") and said in err
