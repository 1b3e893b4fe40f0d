"""Reads the fenced blocks of the documentation, and runs its commands as a reader's shell would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["LANGUAGES", "NOT_RUN", "PAGES", "ROOT", "SKILL", "Block", "Command", "Shell", "blocks_of", "commands_of"]
__all__ += ["compared", "not_run", "same", "septet_lines"]

ROOT = Path(__file__).parent.parent
#: For agents that write code with Septet.
SKILL = ROOT / "python" / "septet" / ".agents" / "skills" / "septet"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(SKILL.rglob("*.md"))]
#: What blocks may be in: another language would be a block that nothing checks.
LANGUAGES = ("python", "text", "console", "sh", "toml", "yaml", "json", "sql")
#: Commands that no test of the pages runs, and why: a pattern for the page, one for the command. Those of `septet` are
#: read by its own parser all the same, so a command or an option that does not exist is found.
NOT_RUN = (
    ("", r"pip install|make |pip .*maturin", "builds or installs: jobs of their own do so"),
    ("", r"septet (serve|watch)\b|septet mcp (?!.*--install)", "runs until it is ended; its own tests start it"),
    ("", r"uvx |pipx |docker ", "fetches what it runs: a wheel or an image that is not published yet"),
    ("", r"curl |printf .*\|\s+curl ", "asks the server of the line above"),
    ("", r"septet demo( --\w+.*)?$", "reads the documentation of whichever Python runs it"),
    ("", r"septet demo docs ", "what it answers changes with every edit of these pages"),
    ("", r"septet postgres init ", "makes roles of a server; tests of PostgreSQL do so"),
    ("docs/cli.md", r"septet .* --vault notes\.db\b|septet (demo notes/|restore backup)", "names ids of the reader's"),
    ("docs/inspector.md", r"septet (search .* --profile|import )", "needs the file that the page saved"),
)
#: What a page may show otherwise than a run prints it: a pattern, and what stands for both.
VARYING = (
    (r"\b(facts|passage)-[0-9a-f]{16}\b", r"\1-KEY"),  # the boundary of a text for a model, which is random
    (r"\[Errno \d+\]", "[Errno N]"),  # the number of "connection refused" depends on the system
    (r"\b\d+(\.\d+)? ms\b", "N ms"),
    (r"\b\d+(\.\d+)? MB\b", "N MB"),
    (r"\b\d+ tokens\b", "N tokens"),  # heads of passages and fences change, what they are about does not
)
#: The same for what commands print, whose clock is that of the system.
OF_COMMANDS = (
    *VARYING,
    (r"\b20\d\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?", "DATE"),
    (r"\b\d+(\.\d+)? s\b|\b\d+ seconds? ago", "N s"),
    (r"\b(Python|SQLite|PostgreSQL|pgvector|Septet) \d[\w.+]*", r"\1 N"),
    (r"\b(Linux|Darwin) \w+ \([\w-]+\)", "MACHINE"),  # the level of its instructions, as avx2, in parentheses
    (r"0\.9999\b|1\.0000\b", "1.0000"),  # the age of an entry that was stored a moment ago
)
#: A line that stands for lines which a page leaves out.
LEFT_OUT = "…"


class Block(NamedTuple):
    """A fenced block, with the line of the page that it begins at."""

    language: str
    line: int
    text: str


class Command(NamedTuple):
    """A line for a shell, and what it prints; None where the page does not show it."""

    line: int
    text: str
    printed: str | None


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], text.count("\n", 0, m.start()) + 1, m[2]) for m in fence.finditer(text)]


def commands_of(block: Block, after: Block | None = None) -> list[Command]:
    """Return the commands of a block ``console`` or ``sh``.

    Args:
        block: the block.
        after: the block that follows; one of ``text`` shows what the last command of a block ``sh`` prints.
    """
    if block.language == "console":
        return list(_of_console(block))
    found = []
    text = block.text.replace("\\\n", " " * 2)
    for at, line in enumerate(text.splitlines(), block.line + 1):
        if line.strip() and not line.lstrip().startswith("#"):
            found.append(Command(at, line.strip(), None))
    if found and after is not None and after.language == "text":
        found[-1] = found[-1]._replace(printed=after.text)
    return found


def _of_console(block: Block) -> Iterator[Command]:
    text, at = "", 0
    printed: list[str] = []
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            if text:
                yield Command(at, text, "\n".join(printed))
            text, at, printed = line[2:], number, []
        elif (line == ">" or line.startswith("> ")) and not printed:
            text += "\n" + line[2:]
        else:
            printed.append(line)
    if text:
        yield Command(at, text, "\n".join(printed))


def not_run(page: Path, command: str) -> str | None:
    """Return why no test runs a command of a page; None if one does."""
    name = str(page.relative_to(ROOT))
    command = re.sub(r"\s+#.*", "", command)
    for of_page, pattern, reason in NOT_RUN:
        if of_page in ("", name) and re.match(pattern, command):
            return reason
    return None


def septet_lines(command: str) -> list[list[str]]:
    """Return the arguments of each call of ``septet`` in a line, without what the shell itself takes."""
    command = re.sub(r"\b(?:uvx --from|pipx run --spec) '?septet\[\w+\]'? (?=septet )", "", command)
    tokens = shlex.shlex(command, posix=True, punctuation_chars=True)
    tokens.whitespace_split = True
    calls: list[list[str]] = []
    begins, inside = True, False
    for token in tokens:
        if set(token) <= set("|&;<>()"):
            # What follows a redirection is a file: the call is over, and none begins.
            begins, inside = not set(token) & set("<>"), False
        elif inside:
            calls[-1].append(token)
        elif begins and token == "septet":
            calls.append([])
            inside = True
        elif "=" not in token:
            begins = False
    return calls


def compared(text: str, varying: tuple[tuple[str, str], ...] = VARYING) -> str:
    """Return a text as pages are compared: white space as one blank, and what may vary as a word."""
    for pattern, stands in varying:
        text = re.sub(pattern, stands, text)
    return " ".join(text.split())


def same(said: str, shown: str) -> bool:
    """Say whether a command printed what a page shows; a line of ``…`` stands for any lines."""
    pattern = re.escape(compared(re.sub(rf"^{LEFT_OUT}$", "\0", shown, flags=re.MULTILINE), OF_COMMANDS))
    gap = re.escape("\0")
    pattern = re.sub(rf"^{gap}(\\ |$)", lambda m: "(?:.* )?" if m[1] else ".*", pattern)
    pattern = re.sub(rf"\\ {gap}", "(?: .*)?", pattern)
    return re.fullmatch(pattern, compared(said, OF_COMMANDS)) is not None


class Shell:
    """Runs commands in the folder of a page, with a home of its own and this Python's ``septet``.

    Args:
        folder: where commands run; pages call it ``/data``.
        home: an empty folder.
        stands: what the text of a page stands for here, as an address.
    """

    def __init__(self, folder: Path, home: Path, stands: Mapping[str, str]) -> None:
        self._folder, self._stands = folder, stands
        programs = home / "bin"
        programs.mkdir(parents=True)
        script = programs / "septet"
        # As pip writes it: some commands say how they were called.
        script.write_text(f"#!{sys.executable}\nfrom septet.cli import main\n\nmain()\n")
        script.chmod(0o755)
        foreign = re.compile(
            r"SEPTET_|XDG_|OPENAI_|VOYAGE_|GEMINI_|COLUMNS$|PYTHONUNBUFFERED$|\w+_proxy$", re.IGNORECASE
        )
        self._environment = {name: value for name, value in os.environ.items() if not foreign.match(name)}
        path = f"{programs}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self._environment |= {"HOME": str(home), "PATH": path, "NO_COLOR": "1", "TZ": "UTC"}
        # A folder that others can enter: the hooks of a page start no helper, which would outlive the test.
        (home / "run" / "septet").mkdir(parents=True, mode=0o755)
        self._environment["XDG_RUNTIME_DIR"] = str(home / "run")
        septets = (programs / "septet", Path(sys.executable).parent / "septet")
        self._shown = {f": other users can enter {home / 'run' / 'septet'}": "; the next call starts it"}
        self._shown |= {str(program): "/usr/local/bin/septet" for program in septets}
        self._shown |= {str(folder): "/data", str(folder).replace("_", r"\_"): "/data", str(home): "~"}

    def __call__(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit code and what it printed on standard output and standard error."""
        if exported := re.fullmatch(r"export (\w+)=(\S+)", command):
            self._environment[exported[1]] = exported[2]
            return 0, ""
        for text, meant in self._stands.items():
            command = command.replace(text, meant)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        said = done.stdout.decode("utf-8")
        for meant, text in self._shown.items():
            said = said.replace(meant, text)
        for text, meant in self._stands.items():
            said = said.replace(meant, text)
        return done.returncode, said
