"""The command line as its users meet it: real processes, real pipes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from consoles import home_at

ANSI = "\x1b["


class Shell:
    """Runs ``septet`` with a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        dropped = ("SEPTET_VAULT", "NO_COLOR", "FORCE_COLOR", "XDG_DATA_HOME", "XDG_CACHE_HOME")
        self.env = {k: v for k, v in os.environ.items() if k not in dropped}
        self.env |= {**home_at(home), "COLUMNS": "200"}

    def __call__(self, *args: str | bytes, stdin: str | bytes = "", **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "septet", *args]
        raw = stdin if isinstance(stdin, bytes) else stdin.encode()
        done = subprocess.run(
            command, input=raw, capture_output=True, env={**self.env, **env}, cwd=self.home, timeout=120, check=False
        )
        return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def septet(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shell = Shell(tmp_path_factory.mktemp("imported"))
    lines = [
        {"id": "jwt", "title": "JWT validation", "description": "Check exp and aud", "domain": "security"},
        {"id": "hash", "title": "Password hashing", "description": "Use a slow hash", "tags": ["auth"]},
        {"record": "link", "source": "jwt", "target": "hash"},
    ]
    done = shell("import", "-", "--vault", "v.db", stdin="\n".join(map(json.dumps, lines)))
    assert done.returncode == 0, done.stderr
    return shell.home / "v.db"


@pytest.fixture
def filled(septet: Shell, imported: Path) -> Shell:
    septet.env["SEPTET_VAULT"] = str(shutil.copy(imported, septet.home))
    return septet


def refused(done: subprocess.CompletedProcess[str], code: int, *said: str) -> None:
    """The command failed with a code and one clear line, and printed no data."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    for part in said:
        assert part in done.stderr


# -- the demo --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shell, subprocess.CompletedProcess[str]]:
    shell = Shell(tmp_path_factory.mktemp("home"))
    return shell, shell("demo")


def test_the_demo_indexes_ten_thousand_entries_and_says_where_they_are(demo):
    shell, done = demo
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"([\d,]+) entries", done.stdout)[1].replace(",", "")) > 10_000
    assert f"~/.cache/septet/stdlib-3.{sys.version_info.minor}.db" in done.stdout
    assert sorted(path.suffix for path in (shell.home / ".cache" / "septet").iterdir()) == [".db", ".septet"]


def test_the_demo_is_one_calm_screen_of_plain_text_when_piped(demo):
    _, done = demo
    lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert ANSI not in done.stdout
    assert len(lines) <= 70
    assert max(map(len, lines[:-1])) <= 100  # the last is a command to copy, as long as its paths are


def test_the_demo_answers_six_questions_with_five_hits_each_that_a_stranger_can_judge(demo):
    _, done = demo
    assert len(re.findall(r"^ \d\.\d{3} ", done.stdout, re.MULTILINE)) == 30
    assert len(re.findall(r"\d ms$", done.stdout, re.MULTILINE)) == 6
    for answer in ("subprocess.Popen.wait", "shutil.disk_usage", "str.strip", "secrets.token_urlsafe"):
        assert f" {answer} " in done.stdout


def test_the_command_that_the_demo_shows_works(demo):
    shell, done = demo
    shown = done.stdout.splitlines()[-1].strip()
    ran = subprocess.run(["sh", "-c", shown], capture_output=True, encoding="utf-8", env=shell.env, check=False)
    assert ran.returncode == 0, ran.stderr
    assert " argparse" in ran.stdout.splitlines()[1]


def test_the_demo_can_be_run_again_and_replaces_its_vault(demo):
    shell, first = demo
    again = shell("demo")
    assert again.returncode == 0, again.stderr
    assert sorted(path.suffix for path in (shell.home / ".cache" / "septet").iterdir()) == [".db", ".septet"]
    timeless = [re.sub(r"[\d.]+ (ms|s)\b", "", done.stdout) for done in (first, again)]
    assert timeless[0] == timeless[1]


def test_the_demo_does_not_replace_a_vault_it_did_not_make(filled):
    before = (filled.home / "v.db").read_bytes()
    refused(filled("demo", "--path", "v.db"), 2, "of another program")
    assert (filled.home / "v.db").read_bytes() == before


# -- writing ---------------------------------------------------------------------------------------------------------


def test_add_prints_the_id_and_keeps_every_field(septet):
    made = septet(
        "add", "A title", "-d", "text", "--context", "where", "--type", "rule", "--domain", "web", "--severity",
        "critical", "-t", "one", "-t", "two", "--id", "a", "--attr", "team=core", "--attr", "n=3",
    )  # fmt: skip
    assert (made.returncode, made.stdout) == (0, "a\n")
    (entry,) = json.loads(septet("get", "a", "--json").stdout)
    assert entry["tags"] == ["one", "two"]
    assert entry["attrs"] == {"team": "core", "n": 3}
    expected = {"description": "text", "context": "where", "type": "rule", "domain": "web", "severity": "critical"}
    assert expected.items() <= entry.items()
    assert (septet.home / ".local" / "share" / "septet" / "vault.db").exists()


def test_add_reads_the_description_from_standard_input(septet):
    assert septet("add", "T", "--id", "a", "-d", "-", stdin="from outside\nmore\n").returncode == 0
    assert json.loads(septet("get", "a", "--json").stdout)[0]["description"] == "from outside\nmore"


def test_add_splits_a_long_text_if_it_is_told_to(septet):
    text = "\n\n".join(f"About {name}. " + "A word more. " * 30 for name in ("ships", "violins", "ice"))
    for flags, found in (([], "doc"), (["--split"], "doc#2")):
        assert septet("add", "T", "--id", "doc", "-d", "-", *flags, stdin=text).stdout == "doc\n"
        hits = json.loads(septet("search", "violins", "--json").stdout)["hits"]
        assert hits[0]["entry"]["id"] == found


def test_a_title_and_a_query_may_start_with_a_dash(septet):
    assert septet("add", "--id", "dash", "--", "-rf is a flag").returncode == 0
    assert "dash" in septet("search", "--", "-rf").stdout


def test_import_reads_a_file_and_says_what_it_stored(septet):
    (septet.home / "in.jsonl").write_text('{"title": "One"}\n\n{"title": "Two"}\n')
    done = septet("import", "in.jsonl", "--vault", "new/folder.db")
    assert (done.returncode, done.stdout) == (0, "")
    assert "stored 2 entries" in done.stderr


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        ('{"title": ""}', "title is empty"),
        ("{bad", "line 1: it is not JSON"),
        (b'{"title": "\xff"}', "UTF-8"),
        ('{"title": "x", "severity": "huge"}', "severity"),
    ],
)
def test_lines_that_cannot_be_stored_are_refused(septet, stdin, said):
    refused(septet("import", "-", stdin=stdin), 2, said)


def test_a_file_that_is_no_utf8_or_not_there_is_refused(septet):
    (septet.home / "in.jsonl").write_bytes(b'{"title": "\xff"}\n')
    refused(septet("import", "in.jsonl"), 2, "UTF-8")
    refused(septet("import", "none.jsonl"), 2, "no such file")


def test_a_backup_is_made_of_a_vault_and_restored_in_its_place(filled):
    done = filled("backup", "v.db", "copy.db")
    assert (done.returncode, done.stdout) == (0, "") and "copied" in done.stderr and "copy.db" in done.stderr
    count = json.loads(filled("stats", "--json").stdout)["entries"]
    assert filled("add", "One more").returncode == 0
    assert f"restored {count} entries" in filled("restore", "copy.db", "v.db", "--force").stderr
    assert json.loads(filled("stats", "--json").stdout)["entries"] == count
    refused(filled("backup", "v.db", "v.db"), 3, "is the vault itself")
    refused(filled("backup", "none.db", "copy.db"), 3, "none.db does not exist")
    assert not (filled.home / "none.db").exists()


def test_feedback_is_counted(filled):
    assert filled("feedback", "how to check tokens", "jwt", "accepted").returncode == 0
    assert json.loads(filled("stats", "--json").stdout)["feedback"] == {"accepted": 1}


# -- reading ---------------------------------------------------------------------------------------------------------


def test_search_prints_a_bar_for_each_signal_and_the_id(filled):
    done = filled("search", "validation of jwt")
    assert (done.returncode, done.stderr) == (0, "")
    assert "█" in done.stdout
    assert "jwt  Check exp and aud" in done.stdout
    assert "graph" in done.stdout


def test_search_gives_its_results_as_json(filled):
    found = json.loads(filled("search", "jwt", "--json").stdout)
    assert found["hits"][0]["entry"]["id"] == "jwt"
    light = json.loads(filled("search", "jwt", "--json", "--mode", "scan").stdout)
    assert "snippet" in light["hits"][0]


def test_search_takes_limits_filters_and_profiles(filled):
    def ids(*args: str) -> list[str]:
        return [
            hit["entry"]["id"] for hit in json.loads(filled("search", "jwt password", "--json", *args).stdout)["hits"]
        ]

    assert set(ids()) == {"jwt", "hash"}
    assert len(ids("-n", "1")) == 1
    assert ids("--domain", "security") == ["jwt"]
    assert ids("--where", '{"tags": {"$in": ["auth"]}}') == ["hash"]
    assert set(
        ids("--profile", "seven-signals", "--min-score", "0.01", "--max-tokens", "500", "--boost-tags", "auth")
    ) == {
        "jwt",
        "hash",
    }


def test_search_takes_words_that_results_must_hold_or_not(filled):
    def ids(query: str, *args: str) -> list[str]:
        return [hit["entry"]["id"] for hit in json.loads(filled("search", query, "--json", *args).stdout)["hits"]]

    assert ids("jwt password", "--must", "jwt") == ["jwt"]
    assert ids("jwt password", "--must-not", "jwt") == ["hash"]
    assert ids("jwt password -jwt", "--syntax", "web") == ["hash"]
    assert ids("passw", "--prefix", "--no-typos") == ["hash"]


def test_search_explains_each_hit_when_asked(filled):
    shown = filled("search", "jwt", "--explain").stdout
    assert re.search(r"semantic +0\.\d{4} x [\d.]+ += 0\.\d{4}", shown)


def test_nothing_found_is_exit_code_1(filled):
    refused(filled("search", "zebra"), 1, "nothing found")
    empty = filled("search", "zebra", "--json")
    assert (empty.returncode, json.loads(empty.stdout)["hits"]) == (1, [])


def test_a_query_without_a_word_says_so(filled):
    done = filled("search", "?!")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no_terms" in done.stderr


def test_get_prints_what_there_is_and_names_what_is_missing(filled):
    done = filled("get", "hash", "nope", "jwt")
    assert done.returncode == 1
    assert done.stdout.index("Password hashing") < done.stdout.index("JWT validation")
    assert "'nope'" in done.stderr


def test_explain_says_why_and_why_not(filled):
    assert "ranks 1 of" in filled("explain", "jwt", "jwt").stdout
    assert json.loads(filled("explain", "jwt", "hash", "--domain", "security", "--json").stdout)["found"] is False
    refused(filled("explain", "jwt", "nope"), 1, "no entry 'nope'")


def test_stats_counts(filled):
    assert json.loads(filled("stats", "--json").stdout)["entries"] == 2
    assert "links" in filled("stats").stdout


# -- what can go wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["search", "x", "--limit", "0"], "limit"),
        (["search", "x", "--where", "{"], "--where is not JSON"),
        (["search", "x", "--where", "[]"], "JSON object"),
        (["search", "x", "--where", '{"nope": 1}'], "nope"),
        (["search", "x", "--profile", "nope"], "unknown profile"),
        (["search", "x", "--profile", "none.toml"], "none.toml"),
        (["search", "x", "--syntax", "nope"], "wanted 'plain' or 'web'"),
        (["add", " "], "title is empty"),
        (["add", "x", "--severity", "huge"], "severity"),
        (["add", "x", "--attr", "novalue"], "KEY=VALUE"),
        (["feedback", "q", "jwt", "liked"], "action"),
        (["add", b"\xff"], "UTF-8"),
    ],
)
def test_what_cannot_be_understood_is_exit_code_2(filled, args, said):
    refused(filled(*args), 2, said)


@pytest.mark.parametrize("args", [[], ["search"], ["search", "x", "--bogus"], ["bogus"], ["search", "x", "-n", "many"]])
def test_wrong_arguments_are_exit_code_2(filled, args):
    done = filled(*args)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", [["search", "x"], ["get", "x"], ["stats"], ["explain", "x", "y"]])
def test_reading_a_vault_that_is_not_there_says_what_to_do(septet, args):
    refused(septet(*args), 3, "there is no vault", "septet add", "septet demo", "--vault")
    assert not list(septet.home.iterdir())


def test_a_file_that_is_no_vault_is_exit_code_3(septet):
    (septet.home / "letter.txt").write_text("Dear Sir or Madam\n" * 100)
    refused(septet("search", "x", "--vault", "letter.txt"), 3, "letter.txt")
    refused(septet("add", "x", "--vault", "letter.txt"), 3, "letter.txt")


def test_text_in_an_entry_cannot_steer_the_terminal(septet):
    (septet.home / "in.jsonl").write_text(
        json.dumps({"id": "a", "title": "evil \x1b[2J title", "description": "\x1b]0;x"})
    )
    assert septet("import", "in.jsonl").returncode == 0
    for done in (septet("search", "evil"), septet("get", "a"), septet("explain", "evil", "a")):
        assert done.returncode == 0
        assert "\x1b" not in done.stdout


def test_a_reader_that_goes_away_makes_no_noise(filled):
    command = f"{sys.executable} -m septet search 'jwt password' --json"
    script = f"set -o pipefail; for i in 1 2 3; do {command} | head -c 1 > /dev/null; done"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=filled.env, check=False)
    assert done.stderr == ""


def test_color_is_for_terminals_that_want_it(filled):
    import pty

    def on_terminal(**env: str) -> str:
        leader, follower = pty.openpty()
        command = [sys.executable, "-m", "septet", "search", "jwt"]
        with subprocess.Popen(command, stdout=follower, stderr=follower, env={**filled.env, "TERM": "xterm", **env}):
            os.close(follower)
            shown = b""
            try:
                while part := os.read(leader, 65536):
                    shown += part
            except OSError:
                pass  # the other end was closed: Linux says so with EIO
        os.close(leader)
        return shown.decode()

    assert ANSI in on_terminal()
    assert ANSI not in on_terminal(NO_COLOR="1")


def test_bars_are_plain_characters_where_the_output_is_not_unicode(filled):
    done = filled("search", "jwt", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "###" in done.stdout


def test_version_and_help_are_data(septet):
    assert re.fullmatch(r"septet \d+\.\d+\.\d+\n", septet("--version").stdout)
    shown = septet("--help").stdout
    assert "Exit codes" in shown
    assert "nothing found" in shown


def test_without_the_extra_it_says_what_to_install(septet):
    code = "import sys; sys.modules['typer'] = None; from septet.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=septet.env, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the command line needs the extra: pip install 'septet[cli]'\n"


@pytest.mark.parametrize(("args", "stdin"), [(["import", "-"], "{bad\n"), (["add", " "], "")])
def test_a_first_write_that_fails_leaves_no_vault_behind(septet, args, stdin):
    assert septet(*args, "--vault", "new.db", stdin=stdin).returncode == 2
    assert not list(septet.home.glob("new.db*"))
