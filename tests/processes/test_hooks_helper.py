"""The resident helper of hooks: it answers like a hook by itself, and costs no answer when it is away, old or stuck."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import septet
from consoles import WINDOWS
from hook_processes import HookProcesses
from hooked import SECRET, transcript
from septet import Vault

pytestmark = pytest.mark.skipif(WINDOWS, reason="Windows has no helper: each hook answers by itself")

QUESTION = "Who reviews changes of the payment service?"
RAW = b'{"hook_event_name": "UserPromptSubmit", "session_id": "%d", "prompt": "Who reviews the payment service?"}'
FOREIGN = (b"", b"GET / HTTP/1.1\r\n\r\n", b"septet-hooks-1\n\xff\xff\xff\xff", b"septet-hooks-1\n\0\0\0\1x")


@pytest.fixture
def hooks(tmp_path):
    hooks = HookProcesses(tmp_path)
    hooks.knows("Ann reviews changes of the payment service")
    yield hooks
    hooks.close()


def test_the_helper_answers_as_a_hook_by_itself_does(hooks):
    alone = hooks.prompt(QUESTION, "--no-helper", session="a")
    helper = hooks.helper()
    assert hooks.status()["helper"] == helper.pid
    answered = hooks.prompt(QUESTION, session="b")
    assert alone.splitlines()[2] == answered.splitlines()[2] == "| Ann reviews changes of the payment service"
    assert hooks.prompt(QUESTION, session="b") is None
    assert hooks.prompt("yes, go on", session="b") is None
    assert hooks.failures() == ""


def test_an_answer_that_is_not_waited_for_is_printed_by_the_next_answer(hooks):
    hooks.helper()
    words = b"\0".join([bytes(hooks.home), b"", b"claude-code"])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(hooks.socket()))
        connection.sendall(b"septet-hooks-1\n" + len(words).to_bytes(4, "big") + words + RAW % 7)
    assert hooks.prompt(QUESTION, session="other")
    assert hooks.prompt(QUESTION, session="7")


def test_a_hook_starts_the_helper_for_the_next_calls(hooks):
    assert hooks.status()["helper"] is None
    assert hooks.prompt(QUESTION)
    hooks.until(hooks.socket)
    pid = hooks.status()["helper"]
    assert pid is not None
    assert hooks.prompt(QUESTION, session="b")
    assert hooks.status()["helper"] == pid


def test_no_module_of_the_session_s_folder_is_loaded(hooks):
    project = hooks.home / "project"
    project.mkdir()
    for name in ("json", "numpy", "septet", "sqlite3"):
        (project / f"{name}.py").write_text(f"open({str(hooks.home / 'loaded')!r}, 'w').close()\n")
    script = Path(sys.executable).with_name("septet")
    if not script.is_file():
        pytest.skip("the command is not installed")
    asks = [str(script), "hooks", "run", "claude-code"]
    for options in ([], ["--no-helper"]):
        environment = hooks.environment | {"PYTHONPATH": str(Path(septet.__file__).parents[1])}
        raw = RAW % len(options)
        done = subprocess.run([*asks, *options], input=raw, capture_output=True, env=environment, cwd=project)
        assert b"Ann" in done.stdout
    hooks.until(hooks.socket)
    path = transcript(project / "sessions" / "abc.jsonl")
    hooks.run({"hook_event_name": "SessionEnd", "transcript_path": str(path)})
    hooks.until(lambda: list((hooks.state / "pending").iterdir()) == [])
    assert not (hooks.home / "loaded").exists()


def test_a_hook_without_a_helper_starts_none(hooks):
    assert hooks.prompt(QUESTION, "--no-helper")
    time.sleep(0.5)
    assert hooks.status()["helper"] is None and hooks.socket() is None


def test_the_helper_ends_by_itself_and_removes_its_socket(hooks):
    helper = hooks.helper(idle_s=0.3)
    assert helper.wait(timeout=30) == 0
    assert hooks.socket() is None
    assert hooks.prompt(QUESTION, "--no-helper")


#: A helper of other code, and one whose code is replaced while it runs.
OLDER = """
import sys
from septet.hooks import helper, reaching
reaching.identity = lambda: "of an older version"
sys.exit(not helper.serve())
"""
UPGRADED = """
from septet.hooks import helper, reaching
helper.LOOK_S = 0.05
serve = helper.Helper.serve
def upgraded(running):
    reaching.identity = lambda: "of a newer version"
    serve(running)
helper.Helper.serve = upgraded
assert helper.serve()
"""


def test_a_helper_that_is_ended_removes_its_socket(hooks):
    helper = hooks.helper()
    helper.terminate()
    assert helper.wait(timeout=30) == 0
    assert hooks.socket() is None


def test_a_helper_removes_what_killed_ones_of_other_versions_left(hooks):
    older = hooks.helper(code=OLDER)
    older.kill()
    older.wait()
    left = hooks.socket()
    assert left is not None
    helper = hooks.helper_beside(left)
    assert {path.name for path in left.parent.iterdir()} == {hooks.socket().name, f"{hooks.socket().name}.lock"}
    assert hooks.status()["helper"] == helper.pid


def test_a_helper_leaves_a_running_one_of_another_version_alone(hooks):
    older = hooks.helper(code=OLDER)
    other = hooks.socket()
    hooks.helper_beside(other)
    assert other.exists() and older.poll() is None


def test_a_helper_of_another_version_is_not_asked(hooks):
    older = hooks.helper(code=OLDER)
    assert older.poll() is None
    old = hooks.socket()
    assert hooks.status()["helper"] is None
    assert hooks.prompt(QUESTION)
    hooks.until(lambda: len(list(old.parent.glob("*.sock"))) == 2)
    assert hooks.status()["helper"] not in (None, older.pid)


def test_a_helper_whose_code_is_replaced_ends(hooks):
    upgraded = hooks.helper(code=UPGRADED)
    assert upgraded.wait(timeout=30) == 0
    assert hooks.socket() is None


def test_a_second_helper_leaves_the_first_alone(hooks):
    first = hooks.helper()
    second = hooks.start("serve")
    _, err = second.communicate(timeout=60)
    assert (second.returncode, err) == (0, b"another helper runs\n")
    assert hooks.status()["helper"] == first.pid


def test_the_socket_of_a_killed_helper_is_replaced(hooks):
    helper = hooks.helper()
    helper.kill()
    helper.wait()
    before = hooks.socket().stat().st_ctime_ns
    assert hooks.prompt(QUESTION, "--no-helper", session="a")
    assert hooks.prompt(QUESTION, session="b"), "the hook answers itself, and starts another helper"
    hooks.until(lambda: hooks.socket() is not None and hooks.socket().stat().st_ctime_ns != before)
    assert hooks.status()["helper"] not in (None, helper.pid)


def listening(hooks):
    """Return a socket that listens where the helper would."""
    helper = hooks.helper()
    path = hooks.socket()
    helper.kill()
    helper.wait()
    path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


@pytest.mark.parametrize("answer", [b"", b"another protocol", None], ids=["nothing", "another", "silence"])
def test_a_helper_that_does_not_answer_as_agreed_costs_no_answer(hooks, answer):
    with listening(hooks) as listener:
        process = hooks.start("run", "claude-code")
        raw = (
            b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Who reviews the payment service?"}'
        )
        process.stdin.write(raw)
        process.stdin.close()
        connection, _ = listener.accept()
        if answer is not None:
            connection.sendall(answer)
            connection.close()
        assert b"Ann reviews" in process.stdout.read()
        assert process.wait(timeout=30) == 0
        for stream in (process.stdout, process.stderr):
            stream.close()
        connection.close()


@pytest.mark.parametrize("raw", FOREIGN)
def test_a_foreign_request_leaves_the_helper_running(hooks, raw):
    helper = hooks.helper()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(hooks.socket()))
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    assert hooks.status()["helper"] == helper.pid
    assert hooks.prompt(QUESTION)


def test_a_folder_that_others_can_enter_is_not_used(hooks):
    hooks.helper()
    (hooks.sockets / "septet").chmod(0o755)
    assert hooks.status()["helper"] is None
    out, _ = hooks.start("status").communicate(timeout=60)
    assert b"helper       does not run: other users can enter" in out
    assert hooks.prompt(QUESTION, "--no-helper")
    refused = hooks.start("serve")
    _, err = refused.communicate(timeout=60)
    assert refused.returncode == 2 and b"other users" in err
    (hooks.sockets / "septet").chmod(0o700)


def test_an_answer_that_takes_too_long_is_given_up(hooks):
    code = (
        "import sys; from septet.hooks import running, telling, state; import time\n"
        "running.DEADLINE_S = 0.2\n"
        "telling.output_of = lambda *arguments: time.sleep(60)\n"
        "running.run(['claude-code', '--no-helper'])\n"
    )
    command, environment = [sys.executable, "-c", code], hooks.environment
    begun = time.monotonic()
    done = subprocess.run(command, input=RAW % 0, capture_output=True, env=environment, cwd=hooks.home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert time.monotonic() - begun < 30
    assert "UserPromptSubmit: no answer within 0.2 s" in hooks.failures()


def test_a_call_that_was_too_slow_starts_the_helper_for_the_next(hooks):
    code = (
        "import sys; from septet.hooks import running, telling; import time\n"
        "running.DEADLINE_S, running._LAST_S = 0.2, 30\n"
        "telling.output_of = lambda *arguments: time.sleep(60)\n"
        "running.start_apart = lambda *words: open('apart', 'w').write(' '.join(words))\n"
        "running.run(['claude-code'])\n"
    )
    command, environment = [sys.executable, "-c", code], hooks.environment
    done = subprocess.run(command, input=RAW % 0, capture_output=True, env=environment, cwd=hooks.home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (hooks.home / "apart").read_text() == "hooks serve"


def test_the_socket_is_the_user_s_alone(hooks):
    hooks.helper()
    assert (hooks.sockets / "septet").stat().st_mode & 0o777 == 0o700
    assert hooks.socket().stat().st_mode & 0o777 == 0o600


def test_the_helper_sees_what_is_written_replaced_broken_and_made_anew(hooks):
    hooks.helper()
    assert hooks.prompt(QUESTION, session="a")
    hooks.knows("The staging database is called hokusai")
    assert "hokusai" in hooks.prompt("What is the staging database called?", session="a")
    for path in hooks.vault.parent.glob("vault.db*"):
        path.unlink() if path.is_file() else None
    assert hooks.prompt(QUESTION, session="b") is None
    hooks.knows("Bea reviews changes of the payment service")
    assert "Bea" in hooks.prompt(QUESTION, session="c")
    hooks.vault.write_bytes(b"no vault at all" * 999)
    assert hooks.prompt(QUESTION, session="d") is None
    assert "NotAVault" in hooks.failures()


def test_a_wrong_call_is_logged_by_the_helper_too(hooks):
    hooks.helper()
    assert hooks.run(b"garbage") is None
    assert hooks.prompt(QUESTION, "--bogus") is None
    assert hooks.failures().count("QueryError") == 2


def test_the_vault_of_the_caller_s_environment_and_folder_counts(hooks):
    hooks.helper()
    with Vault(hooks.home / "other.db") as vault:
        vault.remember("Bea reviews changes of the payment service")
    assert "Bea" in hooks.prompt(QUESTION, "--vault", "other.db")
    hooks.environment["SEPTET_VAULT"] = "other.db"
    assert "Bea" in hooks.prompt(QUESTION, session="b")


def test_the_helper_syncs_transcripts(hooks):
    hooks.helper()
    path = transcript(hooks.home / ".claude" / "projects" / "app" / "abc.jsonl")
    assert hooks.run({"hook_event_name": "SessionEnd", "transcript_path": str(path)}) is None
    hooks.until(lambda: list((hooks.state / "pending").iterdir()) == [])
    with Vault(hooks.vault) as vault:
        text = " ".join(chunk.description for chunk in vault.entries({"kind": "chunk"}))
        assert "hokusai" in text and SECRET not in text
    assert "hokusai" in hooks.prompt("What is the staging database called?")


def test_a_second_helper_syncs_what_the_first_was_not_told(hooks):
    first = hooks.helper()
    path = transcript(hooks.home / ".claude" / "projects" / "app" / "abc.jsonl")
    note = "import sys; from septet.hooks.keeping import add_pending; add_pending('claude-code', *sys.argv[1:])"
    subprocess.run([sys.executable, "-c", note, str(path), str(hooks.vault)], env=hooks.environment, check=True)
    hooks.start("serve").communicate(timeout=60)
    assert list((hooks.state / "pending").iterdir()) == []
    with Vault(hooks.vault) as vault:
        assert vault.count({"kind": "chunk"}) > 0
    assert hooks.status()["helper"] == first.pid


def test_many_hooks_at_once_are_answered(hooks):
    hooks.helper()
    processes = [hooks.start("run", "claude-code") for _ in range(8)]
    for number, process in enumerate(processes):
        process.stdin.write(RAW % number)
        process.stdin.close()
    for process in processes:
        assert b"Ann reviews" in process.stdout.read()
        assert process.wait(timeout=60) == 0
        for stream in (process.stdout, process.stderr):
            stream.close()
    assert hooks.failures() == ""


def test_a_prompt_of_ten_megabytes_is_answered(hooks):
    hooks.helper()
    assert hooks.prompt(f"{'lorem ipsum ' * 900_000} Who reviews the payment service?", "--min-confidence", "0")
    assert hooks.failures() == ""


def test_a_stopped_helper_that_is_continued_still_answers(hooks):
    helper = hooks.helper()
    helper.send_signal(signal.SIGSTOP)
    assert hooks.prompt(QUESTION, "--no-helper", session="a")
    assert hooks.prompt(QUESTION, session="b"), "the hook waits a second, and answers itself"
    helper.send_signal(signal.SIGCONT)
    assert hooks.status()["helper"] == helper.pid


#: Each costs a process between half a millisecond and fifty.
UNUSED = "json pathlib logging subprocess threading typer click numpy sqlite3 septet._core septet.vault".split()


#: Modules that a hook by itself does without, beside those of a search (`test_cold_start.py`).
ALONE = """
    pathlib urllib.parse ipaddress hashlib secrets shlex socket subprocess typer septet.service septet.embedding
    septet.query.filters
""".split()


@pytest.mark.parametrize("options", [[], ["--no-helper"]], ids=["helper", "alone"])
def test_a_hook_loads_no_more_than_its_answer_needs(hooks, options):
    hooks.helper()
    code = (
        "import os, sys; end = os._exit\n"
        "def ended(code):\n"
        "    print(' '.join(sorted(sys.modules)), file=sys.stderr, flush=True); end(code)\n"
        "os._exit = ended\n"
        "sys.argv = ['septet', 'hooks', 'run', 'claude-code', *sys.argv[1:]]\n"
        "from septet.cli import main; main()\n"
    )
    command = [sys.executable, "-c", code, *options]
    done = subprocess.run(
        command, input=RAW % 0, capture_output=True, env=hooks.environment, cwd=hooks.home, check=True
    )
    assert b"Ann" in done.stdout
    loaded = set(done.stderr.decode().split())
    assert "septet.hooks.reaching" in loaded
    assert loaded & set(ALONE if options else UNUSED) == set()
