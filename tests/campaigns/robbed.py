"""A process whose vault is deleted, replaced and restored under it while its threads write and search.

Called with a folder and a seed; it goes on until it is told a line. Then it tells when each write was begun and
acknowledged, in seconds of a clock that all processes share.
"""

import json
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from campaigns.content import entry, text, vector
from campaigns.operations import opened
from septet import Closed, NotAVault, StoreBusy, StoreError, VaultReplaced, VectorError

THREADS = 3


class Robbed:
    def __init__(self, folder):
        self.path, self.changing = folder / "v.db", folder / "changing"
        self.lock, self.tried, self.wrote = threading.Lock(), Counter(), []
        self.vault = opened(self.path)
        self.done = threading.Event()

    def work(self, rng, name):
        number = 0
        while not self.done.is_set():
            number += 1
            vault, began = self.vault, time.monotonic()
            try:
                if rng.random() < 0.5:
                    self.search(vault, rng)
                    continue
                ids = [f"{name}-{number}-{i}" for i in range(rng.choice([1, 1, 8]))]
                vault.add_many({**entry(rng, 1), "id": id, "split": None} for id in ids)
                self.wrote.append((began, time.monotonic(), ids))
                self.tried["write"] += 1
            except NotAVault:
                raise
            except (StoreError, ValueError) as fault:
                cause = fault.__cause__ if isinstance(fault, ValueError) else fault
                assert isinstance(cause, (Closed, StoreBusy, VaultReplaced)), repr(fault)
                self.tried[f"write: {type(cause).__name__}"] += 1
                if not isinstance(cause, StoreBusy):
                    self.reopen(vault)

    def search(self, vault, rng):
        try:
            found = vault.search(text(rng, 3), query_vector=vector(rng), model="given")
            self.tried.update(f"search: note {n.code}" for n in found.notes if n.code == "vault_replaced")
        except VectorError:
            pass
        except (Closed, StoreBusy, VaultReplaced) as fault:
            self.tried[f"search: {type(fault).__name__}"] += 1
        else:
            self.tried["search"] += 1

    def reopen(self, old):
        with self.lock:
            if self.vault is not old:
                return
            old.close()
            while True:
                while self.changing.exists():
                    time.sleep(0.001)
                try:
                    self.vault = opened(self.path)
                    self.tried["opened again"] += 1
                    return
                except NotAVault:
                    raise
                except StoreError as fault:
                    # It is being replaced just now.
                    self.tried[f"open: {type(fault).__name__}"] += 1


def main():
    robbed, seed = Robbed(Path(sys.argv[1])), int(sys.argv[2])
    failed = []

    def work(name):
        try:
            robbed.work(random.Random(f"{seed} {name}"), name)
        except BaseException as fault:  # noqa: BLE001 - raised by the main thread
            failed.append(fault)

    threads = [threading.Thread(target=work, args=[f"t{i}"]) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    robbed.done.set()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    robbed.vault.close()
    print(json.dumps([robbed.tried, robbed.wrote]))


if __name__ == "__main__":
    main()
