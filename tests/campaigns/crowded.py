"""A process that forks while eight threads search and write, and others load what locks something during forks.

Called with a folder, a seed, the number of forks, and when executors and loggers are loaded.
"""

import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from importlib import import_module
from pathlib import Path

FOLDER, SEED, FORKS, LOADED = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


def load():
    for name in ("concurrent.futures.thread", "logging"):
        import_module(name)


if LOADED == "early":
    load()

from septet import Federation, Vault  # noqa: E402 - when the hooks of forks are registered counts

if LOADED == "between":
    load()

#: A child that takes longer hangs.
CHILD_S = 60
WORDS = "alpha beta gamma delta".split()


def items(turn):
    """Entries whose maker logs and uses an executor."""
    for number in range(20):
        import logging
        from concurrent.futures import ThreadPoolExecutor

        logging.getLogger(f"crowd.{turn % 100}.{number}").isEnabledFor(10)
        if number == 10:
            with ThreadPoolExecutor(1) as executor:
                executor.submit(int).result()
        yield {"id": f"w{turn % 9}-{number}", "title": f"word {turn}"}


def work_on(vault):
    def federated(turn):
        with Federation({"one": vault, "two": vault}) as both:
            both.search(f"word {WORDS[turn % 4]}", limit=3)

    return [
        lambda turn: vault.search(f"word {turn % 3000}", limit=5),
        lambda turn: vault.search(WORDS[turn % 4], limit=5, where={"severity": "warning"}),
        lambda turn: vault.search_many([f"word {turn}", *WORDS] * 3, limit=3),
        federated,
        lambda turn: vault.search("word", limit=5),
        lambda turn: vault.add_many(items(turn)),
        lambda turn: vault.add_many(items(turn + 1)),
        lambda turn: vault.add(id=f"x{turn % 50}", title=f"word {turn}"),
    ]


def fork(vault, number):
    """Fork; the child searches and writes. Return the seconds of the fork."""
    begun = time.monotonic()
    child = os.fork()
    if not child:
        signal.alarm(CHILD_S)
        code = 1
        try:
            assert vault.search("word", limit=3)
            vault.add(id=f"child{number}", title="child")
            code = 0
        except BaseException:  # noqa: BLE001 - seen by the test
            traceback.print_exc()
        finally:
            os._exit(code)
    took = time.monotonic() - begun
    assert os.waitpid(child, 0)[1] == 0, number
    return took


def main():
    rng, stop, failed = random.Random(SEED), threading.Event(), []

    def repeat(task):
        turn = 0
        try:
            while not stop.is_set():
                task(turn)
                turn += 1
        except BaseException as fault:  # noqa: BLE001 - raised by the main thread
            failed.append(fault)

    def load_late():
        time.sleep(rng.random() * 0.3)
        load()

    with Vault(FOLDER / "v.db") as vault:
        vault.add_many({"id": f"e{i}", "title": f"word {i} {WORDS[i % 4]}", "severity": "warning"} for i in range(3000))
        threads = [threading.Thread(target=repeat, args=[task], daemon=True) for task in work_on(vault)]
        if LOADED == "late":
            threads.append(threading.Thread(target=load_late, daemon=True))
        for thread in threads:
            thread.start()
        took = []
        for number in range(FORKS):
            took.append(fork(vault, number))
            time.sleep(rng.random() * 0.01)
        stop.set()
        for thread in threads:
            thread.join(60)
        assert not failed, failed
        assert all(vault.get(f"child{number}") for number in range(FORKS))
    print(json.dumps(max(took)))


main()
