"""A process that uses a vault opens no port, looks up no name and connects to nobody unless that is configured."""

import os
import subprocess
import sys
import textwrap

CODE = """
    import json, sys
    from pathlib import Path
    seen = []
    def watch(event, given):
        if event.startswith(("socket.", "urllib.", "http.client.", "ftplib.", "smtplib.")):
            # A socket pair inside the process reaches nobody.
            if event != "socket.__new__":
                seen.append((event, repr(given)))
    sys.addaudithook(watch)

    from septet import Federation, Vault
    from septet.cli.app import run

    folder = Path(sys.argv[1])
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
    print(json.dumps(seen))
"""


def test_nothing_is_sent_and_no_port_is_opened_unless_that_is_configured(tmp_path):
    # Keys that lie about in an environment configure nothing.
    keys = {f"{name}_API_KEY": "sk-of-nobody-0123456789" for name in ("OPENAI", "VOYAGE", "GEMINI", "TAVILY")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SEPTET_")}
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CODE), str(tmp_path)],
        env=kept | keys | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1] == "[]"
