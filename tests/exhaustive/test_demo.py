"""`septet demo`: what it asks of this Python's documentation is answered first by what a reader expects."""

import io

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from septet.cli import demo, screen

EXPECTED = {
    "close matches of a misspelled word": "difflib.get_close_matches",
    "a random token that is safe in URLs": "secrets.token_urlsafe",
    "leading and trailing whitespace removed": "str.strip",
    "how much free disk space is left": "shutil.disk_usage",
    "count elements and find the most common": "collections.Counter.most_common",
    "wait for a process to end": "subprocess.Popen.wait",
}


def test_the_first_answer_to_each_question_is_the_expected_one(tmp_path):
    printed = io.StringIO()
    demo.run(screen.console(printed, color=False), tmp_path / "stdlib.db")
    parts = printed.getvalue().split("\n\n")
    answers = {part.partition("   ")[0]: part.splitlines()[2].split() for part in parts if " ms\n" in part}
    assert list(answers) == [text for text, _ in demo.QUESTIONS] == list(EXPECTED)
    first = {text: next(word for word in answer if word[0].isalpha()) for text, answer in answers.items()}
    assert first == EXPECTED
