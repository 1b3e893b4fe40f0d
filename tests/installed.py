"""What must work where nothing is installed but the wheel: `python installed.py README.md`, in an empty folder.

Reads no file of the package's sources but the page whose first example it runs, and needs only the standard library.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import files as files_of
from importlib.resources import files
from pathlib import Path

import septet


@contextlib.contextmanager
def empty_folder():
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def the_page_of_the_server_is_there():
    page = files("septet") / "server" / "page"
    for name in ("index.html", "app.js", "page.css", "views/search.js"):
        assert (page / name).is_file(), f"{page} lacks {name}"
    return "page"


def types_and_licences_are_there():
    installed = {str(path) for path in files_of("septet") or ()}
    assert "septet/py.typed" in installed, "no py.typed"
    assert "septet/.agents/skills/septet/SKILL.md" in installed, "no skill"
    assert "septet/.agents/skills/septet/references/search.md" in installed, "no references of the skill"
    assert any(name.endswith(".dist-info/licenses/LICENSE-MIT") for name in installed), "no licence"
    return "files"


def a_vault_finds_what_it_was_given():
    with septet.Vault("agent.db") as vault:
        vault.add(
            id="auth-jwt-001",
            title="JWT validation",
            description="Check exp, aud and the signature",
            type="rule",
            domain="security",
            severity="critical",
            tags=["auth", "jwt"],
            vector=[1.0, 0.0],
        )
        hits = vault.search("how does JWT validation work", query_vector=[0.6, 0.8])
    assert hits.ids == ["auth-jwt-001"], hits
    assert not any(note.code for note in hits.notes), hits.notes
    return f"search {hits[0].score:.3f}"


def a_missing_extra_is_named():
    try:
        septet.LocalEmbedder("some-model")
    except septet.EmbeddingConfigError as missing:
        assert "pip install 'septet[local]'" in str(missing), missing
        return "extras named"
    raise AssertionError("a local model ran without its extra")


def the_command_starts():
    done = subprocess.run([sys.executable, "-m", "septet", "--version"], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    # Without the extra it says how to get it; either way it is one of two known answers.
    assert septet.__version__ in said or "septet[cli]" in said, said
    return "command"


def the_first_example_prints_what_the_page_shows(page):
    text = Path(page).read_text(encoding="utf-8")
    block = r"((?:(?!```).*\n)*)```\n"
    shown = re.search(rf"^```python\n{block}\n```text\n{block}", text, re.MULTILINE)
    assert shown, f"{page} shows no example with its output"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(shown[1], str(page), "exec"), {"__name__": "example"})
    assert printed.getvalue().split() == shown[2].split(), printed.getvalue()
    return "README"


def main(page):
    page = Path(page).resolve()
    with empty_folder():
        held = [
            the_page_of_the_server_is_there(),
            types_and_licences_are_there(),
            a_vault_finds_what_it_was_given(),
            a_missing_extra_is_named(),
            the_command_starts(),
        ]
    with empty_folder():
        held.append(the_first_example_prints_what_the_page_shows(page))
    print(f"septet {septet.__version__}: {', '.join(held)}")


if __name__ == "__main__":
    main(sys.argv[1])
