"""What others wrote cannot steer the terminal that shows it, whichever command shows it, and however."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from embedding_server import EmbeddingServer, faults
from septet import Vault

pytest.importorskip("typer")
pytest.importorskip("rich")

#: Of each kind of sequence or mark one that does something: clear, rename the window, fill the clipboard, answer the
#: terminal's own questions, go back and overwrite, one-byte forms, directions of writing.
STEERING = (
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]52;c;cm0gLXJmIH4=\x07",
    "\x1b[6n",
    "\x1bP+q544e\x1b\\",
    "ok\rbad",
    "\b\b\b",
    "\x7f",
    "\x9b2J",
    "\x9d0;x\x9c",
    "\u202etxt.exe",
    "\u2066x\u2069",
)
EVIL = "evil " + " ".join(STEERING) + " [bold red]loud[/] [link=https://evil.example]click[/link]"
#: What a file's name, an argument or a variable may hold: no NUL, and no slash.
NAME = EVIL.replace("/", "|")
#: Ids and tags cannot have control characters.
ID = "a \u202etxt.exe\u2066x\u2069 [bold red]loud[/]"
BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
#: What a console itself writes to a terminal: colours, and how a line ends there.
OWN = re.compile(r"\x1b\[[0-9;]*m|\r(?=\n)")


class Shell:
    def __init__(self, home):
        self.home = home
        foreign = re.compile(r"SEPTET_|XDG_|OPENAI_|VOYAGE_|GEMINI_|GOOGLE_|OLLAMA_|\w+_proxy$", re.IGNORECASE)
        self.env = {k: v for k, v in os.environ.items() if not foreign.match(k)}
        self.env |= {"HOME": str(home), "COLUMNS": "200", "SEPTET_VAULT": str(home / "v.db")}

    def __call__(self, *args, stdin="", **env):
        done = subprocess.run(
            [sys.executable, "-m", "septet", *args],
            input=stdin.encode(),
            capture_output=True,
            env={**self.env, **env},
            cwd=self.home,
            timeout=120,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err, err
        assert not BAD.search(out), (args, out)
        assert not BAD.search(err), (args, err)
        return out, err


@pytest.fixture
def septet(tmp_path):
    return Shell(tmp_path)


@pytest.fixture
def filled(septet):
    """A vault whose every text is hostile; it was filled by a program, not by the command line."""
    with Vault(septet.home / "v.db") as vault:
        vault.add(
            id=ID,
            type=EVIL[:60],
            domain=EVIL[:60],
            tags=[ID],
            title=f"First {EVIL}\n forged line",
            description=f"words {EVIL}\n\nsecond paragraph {EVIL}",
            context=EVIL,
            attrs={f"key {EVIL}": EVIL},
            span={"path": NAME, "first_line": 1, "last_line": 2},
        )
        vault.add(id="b", title=f"Second {EVIL}", description=EVIL)
        vault.add(id="c", title="Third", description="plain words", vector={f"model {EVIL}": [1.0, 0.0]})
        vault.link("b", ID, note=EVIL)
        vault.feedback(f"words {EVIL}", "b", "accepted")
    return septet


COMMANDS = [
    ("search", "evil words"),
    ("search", "evil words", "--mode", "scan"),
    ("search", "evil words", "--explain"),
    ("search", EVIL, "-t", NAME, "--domain", NAME),
    ("search", EVIL, "--where", json.dumps({"domain": EVIL})),
    ("search", EVIL, "--where", f"no JSON {NAME}"),
    ("search", EVIL, "--profile", NAME),
    ("search", EVIL, "--profile", f"{NAME}.toml"),
    ("search", EVIL, f"--{NAME}"),
    ("search", EVIL, "--limit", NAME),
    ("search", EVIL, "--embedding", NAME),
    ("get", "b", ID, f"missing {EVIL}"),
    ("explain", "evil words", ID),
    ("explain", "evil words", f"missing {EVIL}"),
    ("stats",),
    ("doctor", "--offline"),
    ("models",),
    ("models", "--embedding", f"{NAME}.yaml"),
    ("feedback", EVIL, "b", "accepted"),
    ("feedback", EVIL, f"missing {EVIL}", NAME),
    ("add", EVIL, "-d", EVIL, "--id", f"new {EVIL}"),
    ("add", EVIL, "--attr", NAME, "-t", NAME, "--severity", NAME),
    ("import", NAME),
    ("sync", NAME),
    ("sync", ".", "--name", EVIL, "--exclude", NAME),
    ("forget-root", NAME),
    (NAME,),
]


#: Runs many commands in one process, which begins once; a mark stands behind what each of them printed.
RUN_ALL = """
import json, os, sys
from septet.cli.app import run
for command in json.loads(sys.stdin.read()):
    sys.argv = ["septet", *command]
    os.environ["SEPTET_EMBEDDING"] = command[-1] if command[0] == "models" else ""
    run()
    for stream in (sys.stdout, sys.stderr):
        print("(end of the command)", file=stream, flush=True)
"""


@pytest.mark.parametrize("as_json", [False, True])
def test_no_command_passes_on_what_steers_a_terminal(filled, as_json):
    commands = [[*command, "--json"] if as_json else [*command] for command in COMMANDS]
    env = {**filled.env, "SEPTET_MODEL": NAME}
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input=json.dumps(commands).encode(),
        capture_output=True,
        env=env,
        cwd=filled.home,
        timeout=120,
        check=True,
    )
    shown = zip(*(text.decode().split("(end of the command)\n") for text in (done.stdout, done.stderr)))
    for command, (out, err) in zip([*commands, []], shown):
        assert (out or err or not command) and "Traceback" not in err, (command, err)
        assert not BAD.search(out) and not BAD.search(err), (command, out, err)


def test_json_keeps_every_character_as_an_escape(filled):
    out, _ = filled("get", "b", ID, "--json")
    second, first = json.loads(out)
    assert first["id"] == ID and first["description"] == f"words {EVIL}\n\nsecond paragraph {EVIL}"
    assert second["title"] == f"Second {EVIL}"
    assert "\\u001b" in out and "\\u202e" in out and "\\u009b" in out


def test_markup_of_the_console_is_shown_as_it_is_written(filled):
    out, _ = filled("get", "b")
    assert "[bold red]loud[/] [link=https://evil.example]click[/link]" in out


def test_a_text_of_one_line_cannot_pose_as_another_one(filled):
    for command in (("get", ID), ("search", "first evil")):
        out, _ = filled(*command)
        assert not [line for line in out.splitlines() if line.strip().startswith("forged")]


@pytest.mark.parametrize("name", ["vault", "letter", "folder", "import", "profile"])
def test_names_of_files_cannot_steer_a_terminal(septet, name):
    path = septet.home / NAME[:80]
    if name == "folder":
        path.mkdir()
    elif name == "import":
        path.write_text(json.dumps({"title": EVIL, "severity": EVIL}))
        assert "forged" not in septet("import", str(path))[1]
        return
    elif name == "profile":
        path = path.with_name(NAME[:80] + ".toml")
        path.write_text(f"'{NAME}' = 5")
        septet("add", "words")
        _, err = septet("search", "words", "--profile", str(path))
        assert "evil" in err
        return
    elif name == "letter":
        path.write_text(EVIL * 100)
    for command in (("add", "x"), ("doctor", "--offline")):
        out, err = septet(*command, SEPTET_VAULT=str(path))
        assert out or err


def test_what_a_provider_says_cannot_steer_a_terminal(septet):
    with EmbeddingServer() as server:
        block = {"provider": "openai", "apiKey": "good-key", "baseUrl": server.url}
        (septet.home / "e.json").write_text(json.dumps(block))
        septet("add", "words")
        for command in (
            ("embed",),
            ("embed", "--json"),
            ("doctor",),
            ("search", "words"),
            ("search", "words", "--json"),
        ):
            server.script(*[faults.status(401, EVIL, **{"x-should-retry": "false"})] * 20)
            out, err = septet(*command, SEPTET_EMBEDDING=str(septet.home / "e.json"))
            assert "loud" in out + err or command[0] == "search"


def test_an_error_that_nobody_expected_cannot_steer_a_terminal(septet):
    script = f"import septet.cli.app as app\nclass E(BaseException): pass\ndef fail(**_): raise E({EVIL!r})\n"
    script += "app.app = fail\napp.run()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=septet.env)
    assert "loud" in done.stderr and not BAD.search(done.stderr)


@pytest.mark.parametrize("command", [("search", "evil words", "--explain"), ("get", "b")])
def test_a_terminal_gets_colours_and_nothing_else(filled, command):
    import pty

    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "septet", *command],
        stdout=slave,
        stderr=slave,
        env={**filled.env, "TERM": "xterm-256color"},
        cwd=filled.home,
    )
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65_536):
            shown += part
    except OSError:
        # Linux says so when the last one who writes has gone.
        pass
    finally:
        os.close(master)
        assert process.wait(60) == 0
    assert b"\x1b[1m" in shown
    assert not BAD.search(OWN.sub("", shown.decode()))


@pytest.mark.parametrize("text", ['{"a":' * 20_000])
def test_json_among_the_arguments_may_be_deep(septet, text):
    septet("add", "words", "--attr", f"key={text}")
    out, err = septet("search", "words", "--where", text)
    assert not out and "--where is" in err


def test_a_path_that_is_too_long_is_an_error_about_the_path(septet):
    _, err = septet("search", "x", "--vault", "v" * 5_000)
    assert "could not be written" not in err and "too long" in err


def test_results_stand_before_what_is_said_of_them_where_both_go_to_one_pipe(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="stored", title="A word")
        vault.remember("A word of a talk")
    environment = {name: value for name, value in Shell(tmp_path).env.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "septet", "search", "word", "--format", "ids"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, **pipe, env=environment, cwd=tmp_path, timeout=60, check=True, text=True)
    assert re.findall("^stored$|^note memories_left_out", done.stdout, re.MULTILINE) == [
        "stored",
        "note memories_left_out",
    ]
