"""Lines with styles: how wide they are, where they break, and when they are in colours."""

import io
import re
from types import SimpleNamespace

import pytest

from septet.cli.screen import WIDTH, Screen, StyledLine, cells, console, pace, progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def printed(line, width=40, *, is_terminal=True, colors=False):
    stream = Terminal()
    Screen(stream, width=width, colors=colors, is_terminal=is_terminal).print(line)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("text", "wanted"), [("", 0), ("plain", 5), ("漢字", 4), ("e\u0301", 1), ("ü", 1), ("a\u200db", 2), ("🦀", 2)]
)
def test_a_text_takes_as_many_cells_as_a_terminal_gives_it(text, wanted):
    assert cells(text) == wanted


def test_a_line_that_is_too_long_breaks_at_blanks_and_keeps_its_indent():
    said = printed(StyledLine("   seven signals and one file, each score explained", "dim"), 20)
    assert said.splitlines() == ["   seven signals and", "   one file, each", "   score explained"]


def test_a_word_is_not_broken_where_its_style_changes():
    line = StyledLine("find ").append("cook", "underline").append("ies here")
    assert [part.plain for part in line.wrapped(8)] == ["find", "cookies", "here"]


def test_an_id_that_is_longer_than_the_terminal_stays_whole():
    assert printed(StyledLine("see ").append("a" * 60), 20).splitlines() == ["see", "a" * 60]


def test_wide_letters_count_twice():
    assert [part.plain for part in StyledLine("漢字 漢字 漢字").wrapped(10)] == ["漢字 漢字", "漢字"]


@pytest.mark.parametrize("width", range(1, 30))
def test_no_letter_is_lost_at_any_width(width):
    text = "  one two  three\tfour ü漢字 " + "x" * 25
    line = StyledLine(text[:9], "bold").append(text[9:])
    parts = [part.plain for part in line.wrapped(width)]
    assert "".join(parts).replace(" ", "").replace("\t", "") == text.replace(" ", "").replace("\t", "")
    assert all(cells(part) <= max(width, 27) for part in parts)


def test_a_pipe_gets_whole_lines():
    text = "word " * 60 + "end"
    assert printed(text, is_terminal=False) == f"{text}\n"


def test_lines_of_a_text_stay_lines():
    assert printed("a\n\nb") == "a\n\nb\n"


def test_a_style_is_shown_and_what_steers_a_terminal_is_not():
    assert printed(StyledLine("bad\x1b[2J", "bold cyan"), colors=True) == "\x1b[1;36mbad\ufffd[2J\x1b[0m\n"
    assert printed(StyledLine("bad\x1b[2J", "bold cyan")) == "bad\ufffd[2J\n"


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"FORCE_COLOR": "0"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_a_terminal_has_colours_unless_the_environment_says_otherwise(monkeypatch, environment, wanted):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert console(Terminal()).colors is wanted
    assert not console(Terminal(), color=False).colors


def test_a_pipe_has_colours_only_where_they_are_forced(monkeypatch):
    assert not console(io.StringIO()).colors
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert console(io.StringIO()).colors


def test_the_width_is_that_of_the_environment_or_a_usual_one(monkeypatch):
    assert console(io.StringIO()).width == console(Terminal()).width == WIDTH
    monkeypatch.setenv("COLUMNS", "30")
    assert (console(io.StringIO()).width, console(Terminal()).width) == (WIDTH, 30)


@pytest.mark.parametrize(
    ("per_s", "left_s", "wanted"),
    [
        (None, None, ""),
        (0.0, None, ""),
        (3.14, None, "3.1/s"),
        (1234.5, 59.2, "1,234/s, 0:01:00 left"),
        (10, 0.0, "10/s, 0:00:00 left"),
    ],
)
def test_the_pace_is_items_a_second_and_the_time_left(per_s, left_s, wanted):
    assert pace(per_s, left_s) == wanted


@pytest.mark.parametrize("columns", [40, 79, 80, 200])
def test_progress_tells_items_a_second_and_the_time_left_on_one_line(monkeypatch, columns):
    stream, clock = Terminal(), [0.0]
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("septet.cli.screen.time", SimpleNamespace(monotonic=lambda: clock[0]))
    with progress("embedding") as step:
        for done in range(0, 1_001, 100):
            clock[0] += 1
            step(done, 2_000)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").split("\n")
    assert max(map(len, drawn)) <= columns
    assert columns < 60 or re.search(r"1000/2000 .*\d/s, \d:\d\d:\d\d left", "\n".join(drawn))
