"""Hooks of agents: the time of a call, from the start of its process to its end.

python benches/hooks.py [--entries N] [--calls N]

The start of a session of Claude Code, a prompt about one of N short facts, a compaction and the end: answered by the
resident helper, by the process itself, and, for comparison, by a Python that does nothing; in turns. Before a
compaction and the end the transcript grows by a turn, and the next call waits until it is synced. Prints median and
95th percentile by the clock, and processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median, quantiles

from septet import Vault

#: Seconds in which the helper must listen, and a transcript be synced.
STARTS_S = 30.0
CALL = ["hooks", "run", "claude-code"]
PROMPT = "Who reviews changes of the payment service?"
NOTHING = "Python that does nothing"
#: Fields of the input of each call, and what its output has.
EVENTS: Mapping[str, tuple[Mapping[str, str], bytes]] = {
    "start": ({"hook_event_name": "SessionStart", "source": "startup"}, b"Run the linter"),
    "prompt": ({"hook_event_name": "UserPromptSubmit", "prompt": PROMPT}, b"Ann reviews"),
    "compaction": ({"hook_event_name": "PreCompact", "trigger": "auto"}, b""),
    "end": ({"hook_event_name": "SessionEnd", "reason": "other"}, b""),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Hooks of agents: the time of a call.")
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--calls", type=int, default=31)
    arguments = parser.parse_args()
    septet = [str(Path(sys.executable).with_name("septet"))]
    commands = {
        "by the helper": [*septet, *CALL],
        "without the helper": [*septet, *CALL, "--no-helper"],
        NOTHING: [sys.executable, "-c", ""],
    }
    calls_of = {(event, name): command for event in EVENTS for name, command in commands.items() if name != NOTHING}
    calls_of["", NOTHING] = commands[NOTHING]
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {call: [] for call in calls_of}
    with home_of(arguments.entries) as environment, helper(septet, environment):
        for number in range(arguments.calls + 1):
            for (event, name), command in calls_of.items():
                measured = timed(command, environment, event, number)
                # The first call loads the vault into the helper.
                if number:
                    taken[event, name].append(measured)
    print(f"{'':37}{'median':>10}{'95 %':>10}{'processor':>11}   milliseconds")
    for (event, name), calls in taken.items():
        clock = [seconds for seconds, _ in calls]
        figures = median(clock), quantiles(clock, n=20)[-1], fmean(cpu for _, cpu in calls)
        columns = (f"{1e3 * value:{width}.0f}" for value, width in zip(figures, (10, 10, 11)))
        print(f"{event:11}{name:26}{''.join(columns)}")


@contextmanager
def home_of(entries: int) -> Iterator[dict[str, str]]:
    """Yield the environment of a user whose default vault has that many facts."""
    with tempfile.TemporaryDirectory(prefix="hooks-") as home:
        path = Path(home, ".local", "share", "septet", "vault.db")
        path.parent.mkdir(parents=True)
        with Vault(path) as vault:
            vault.add_many({"title": f"Team {n} owns the service number {n}"} for n in range(entries))
            vault.remember("Ann reviews changes of the payment service")
            vault.remember("Run the linter before a commit", topics=["always"])
            vault.optimize()
        # An installed package has its bytecode; without this name the first call leaves it.
        ours = ("SEPTET_", "XDG_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        yield {**kept, "HOME": home, "XDG_RUNTIME_DIR": home}


@contextmanager
def helper(septet: Sequence[str], environment: dict[str, str]) -> Iterator[None]:
    """Run the helper for the length of a ``with`` block."""
    process = subprocess.Popen([*septet, "hooks", "serve"], env=environment, cwd=environment["HOME"])
    try:
        end = time.monotonic() + STARTS_S
        while not any(Path(environment["HOME"], "septet").glob("*.sock")):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the helper does not listen")
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()


def timed(command: Sequence[str], environment: dict[str, str], event: str, number: int) -> tuple[float, float]:
    """Return seconds by the clock and of the processor for a call in a session of its own."""
    fields, wanted = EVENTS.get(event, ({}, b""))
    home, session = Path(environment["HOME"]), f"s{number}-{len(command)}"
    transcript = home / ".claude" / "projects" / "app" / f"{session}.jsonl"
    if event in ("compaction", "end"):
        add_turn(transcript)
    raw = json.dumps(
        {"session_id": session, "transcript_path": str(transcript), "cwd": environment["HOME"], **fields}
    ).encode()
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, input=raw, env=environment, cwd=environment["HOME"], stdout=subprocess.PIPE, check=True
    )
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if wanted not in done.stdout:
        raise SystemExit(f"{' '.join(command)} answered {done.stdout!r}")
    wait_synced(home / ".local" / "share" / "septet" / "hooks" / "pending")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def add_turn(transcript: Path) -> None:
    """Append a turn to a transcript."""
    transcript.parent.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": f"The staging database of {transcript.stem} is called hokusai {time.time()}"}
    with transcript.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "user", "message": message}) + "\n")


def wait_synced(pending: Path) -> None:
    """Wait until no transcript is noted."""
    end = time.monotonic() + STARTS_S
    while pending.is_dir() and any(pending.glob("*.json")):
        if time.monotonic() > end:
            raise SystemExit("a transcript is not synced")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
