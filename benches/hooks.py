"""Hooks of agents: the time of a call, from the start of its process to its end.

python benches/hooks.py [--entries N] [--calls N]

A prompt of Claude Code about one of N short facts: answered by the resident helper, by the process itself, and, for
comparison, by a Python that does nothing; in turns. Prints median and 95th percentile by the clock, and processor time.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median, quantiles

from septet import Vault

#: Seconds in which the helper must listen.
STARTS_S = 30.0
CALL = ["hooks", "run", "claude-code"]
PROMPT = "Who reviews changes of the payment service?"


def main() -> None:
    parser = argparse.ArgumentParser(description="Hooks of agents: the time of a call.")
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--calls", type=int, default=31)
    arguments = parser.parse_args()
    septet = [str(Path(sys.executable).with_name("septet"))]
    commands = {
        "by the helper": [*septet, *CALL],
        "without the helper": [*septet, *CALL, "--no-helper"],
        "Python that does nothing": [sys.executable, "-c", ""],
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with home_of(arguments.entries) as environment, helper(septet, environment):
        for number in range(arguments.calls + 1):
            for name, command in commands.items():
                measured = timed(command, environment, number)
                # The first call loads the vault into the helper.
                if number:
                    taken[name].append(measured)
    print(f"{'':26}{'median':>10}{'95 %':>10}{'processor':>11}   milliseconds")
    for name, calls in taken.items():
        clock = [seconds for seconds, _ in calls]
        figures = median(clock), quantiles(clock, n=20)[-1], fmean(cpu for _, cpu in calls)
        print(f"{name:26}" + "".join(f"{1e3 * value:{width}.0f}" for value, width in zip(figures, (10, 10, 11))))


@contextmanager
def home_of(entries: int) -> Iterator[dict[str, str]]:
    """Yield the environment of a user whose default vault has that many facts."""
    with tempfile.TemporaryDirectory(prefix="hooks-") as home:
        path = Path(home, ".local", "share", "septet", "vault.db")
        path.parent.mkdir(parents=True)
        with Vault(path) as vault:
            vault.add_many({"title": f"Team {n} owns the service number {n}"} for n in range(entries))
            vault.remember("Ann reviews changes of the payment service")
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


def timed(command: Sequence[str], environment: dict[str, str], number: int) -> tuple[float, float]:
    """Return seconds by the clock and of the processor for a call in a session of its own."""
    fields = {"session_id": f"s{number}-{len(command)}", "hook_event_name": "UserPromptSubmit", "prompt": PROMPT}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    raw = json.dumps({**fields, "cwd": environment["HOME"]}).encode()
    done = subprocess.run(
        command, input=raw, env=environment, cwd=environment["HOME"], stdout=subprocess.PIPE, check=True
    )
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if "-c" not in command and b"Ann reviews" not in done.stdout:
        raise SystemExit(f"{' '.join(command)} answered {done.stdout!r}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
