"""A process that uses a vault opens no port, looks up no name and connects to nobody unless that is configured."""

import json
import os
import subprocess
import sys
import textwrap

WATCH = """
    import json, sys
    from pathlib import Path
    seen = []
    def watch(event, given):
        # A socket that was made and leads nowhere reaches nobody, nor does asking for the name of this machine, as
        # `platform` does on Windows.
        quiet = ("socket.__new__", "socket.gethostname")
        if event.startswith(("socket.", "urllib.", "http.client.")) and event not in quiet:
            seen.append((event, repr(given)))
    sys.addaudithook(watch)
    folder = Path(sys.argv[1])
"""
USE = """
    from septet import Federation, Vault
    from septet.cli.app import run

    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text("# Cookies\\n\\nSession cookies end after 30 minutes. https://example.org/x\\n")
    with Vault(folder / "v.db") as vault:
        vault.sync(folder / "notes")
        vault.add(id="keys", title="Signing keys", description="see http://example.org", vector=[1.0, 0.0])
        vault.remember("Bob owns billing")
        assert vault.search("cookies").ids and vault.recall("billing").ids
        vault.explain("cookies", "keys")
        vault.similar("keys")
        Federation({"a": vault}).search("cookies").to_prompt()
        with vault.retriever() as retriever:
            assert retriever.retrieve("what is the latest news on session cookies today?").hits
        vault.export(folder / "out.jsonl")
        vault.backup(folder / "b.db")
        vault.optimize()
        vault.redact()
    for command in (["search", "cookies"], ["doctor"], ["stats"]):
        sys.argv = ["septet", *command, "--vault", str(folder / "v.db")]
        try:
            run()
        except SystemExit as end:
            assert not end.code, (command, end.code)
"""
LOCAL = """
    from septet import EmbeddingConfigError, LocalEmbedder

    for name in ("nobody/no-such-model", "https://example.org/model"):
        try:
            LocalEmbedder(name).embed(["text"])
        except EmbeddingConfigError:
            continue
        raise AssertionError(name)
"""


def contacts(code, folder):
    """What a process that runs this code did with the network."""
    # Keys that lie about in an environment configure nothing.
    keys = {f"{name}_API_KEY": "sk-of-nobody-0123456789" for name in ("OPENAI", "VOYAGE", "GEMINI", "TAVILY")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEPTET_", "HF_"))}
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(f"{WATCH}{code}    print(json.dumps(seen))\n"), str(folder)],
        env=kept | keys | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout.splitlines()[-1])


def test_nothing_is_sent_and_no_port_is_opened_unless_that_is_configured(tmp_path):
    assert contacts(USE, tmp_path) == []


def test_a_local_model_that_is_not_there_is_not_downloaded(tmp_path):
    assert contacts(LOCAL, tmp_path) == []


def test_a_connection_would_be_seen(tmp_path):
    code = """
    import socket
    socket.socket().connect_ex(("127.0.0.1", 9))
    """
    assert [event for event, _ in contacts(code.rstrip(" "), tmp_path)] == ["socket.connect"]
