"""A process that forks while its threads write; what children do with the vault and how they end varies.

Called with a folder, a seed and the number of forks.
"""

import gc
import json
import os
import random
import signal
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

from campaigns.content import text
from campaigns.operations import opened, rebuilt
from campaigns.user import User
from campaigns.vaults import differences, faults
from septet import Federation, StoreBusy

#: A child that takes longer hangs.
CHILD_S = 60
THREADS = 2


class Forking:
    def __init__(self, folder, seed):
        self.folder, self.seed, self.rng, self.tried = folder, seed, random.Random(seed), Counter()
        self.vault = opened(folder / "v.db")
        self.wrote = {}

    def fork(self, number, depth=0):
        """Fork; the child uses the vault and ends somehow. Keep what it says that it wrote."""
        use = self.rng.choice([self.nothing, self.search, self.add, self.add, self.reopen, self.federation, self.again])
        end = self.rng.choice([self.leave, self.close, self.exit, self.fail, self.forget])
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            signal.alarm(CHILD_S)
            try:
                said = use(f"c{depth}-{number}", depth)
                os.write(write, json.dumps(said or {}).encode())
            except SystemExit:
                # A child of this child ends by way of this frame.
                raise
            except BaseException as fault:  # noqa: BLE001 - told to the parent
                os.write(write, json.dumps({"fault": f"{use.__name__}: {fault!r}"}).encode())
                os._exit(1)
            end()
            raise AssertionError("a child goes on")
        os.close(write)
        with os.fdopen(read) as pipe:
            said = json.loads(pipe.read() or '{"fault": "it said nothing"}')
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert "fault" not in said and status in (0, 3), (use.__name__, end.__name__, status, said)
        self.wrote |= said
        self.tried[f"child: {use.__name__}, {end.__name__}"] += 1
        return said

    # -- what a child does -------------------------------------------------------------------------------------------

    def nothing(self, _name, _depth):
        pass

    def search(self, _name, _depth):
        self.vault.search(text(self.rng, 3))

    def add(self, name, _depth):
        with suppress(StoreBusy):
            self.vault.add(id=name, title=f"child {name}")
            return {name: f"child {name}"}

    def reopen(self, name, _depth):
        with opened(self.folder / "v.db") as vault:
            vault.add(id=name, title=f"child {name}")
            vault.search("child")
        return {name: f"child {name}"}

    def federation(self, _name, _depth):
        with Federation({"one": self.vault, "two": self.vault}) as both:
            both.search(text(self.rng, 3))

    def again(self, name, depth):
        return {} if depth > 1 else self.fork(f"{name}-again", depth + 1)

    # -- how it ends -------------------------------------------------------------------------------------------------

    def leave(self):
        os._exit(0)

    def close(self):
        self.vault.close()
        os._exit(0)

    def exit(self):
        # The interpreter winds up, with everything that is open; what was buffered is the parent's.
        raise SystemExit(3)

    def fail(self):
        try:
            with self.vault:
                raise ValueError
        except ValueError:
            os._exit(3)

    def forget(self):
        self.vault = None
        gc.collect()
        os._exit(0)


def main():
    run, parent = Forking(Path(sys.argv[1]), int(sys.argv[2])), os.getpid()
    users = [User(lambda: run.vault, f"u{i}", run.seed, run.folder) for i in range(THREADS)]
    done, failed = threading.Event(), []

    def write(user):
        try:
            while not done.is_set():
                user.run(1)
        except BaseException as fault:  # noqa: BLE001 - raised by the main thread
            failed.append(fault)

    threads = [threading.Thread(target=write, args=[user], daemon=True) for user in users]
    for thread in threads:
        thread.start()
    try:
        for number in range(int(sys.argv[3])):
            run.fork(number)
            assert not failed, failed
            assert {e.id: e.title for e in run.vault.load(run.wrote)} == run.wrote
    finally:
        if os.getpid() == parent:
            done.set()
            for thread in threads:
                thread.join()
    assert not failed, failed
    for user in users:
        run.wrote |= user.wrote
        run.tried.update(user.tried)
    assert {e.id: e.title for e in run.vault.load(run.wrote)} == run.wrote
    run.vault._now.now += 1_000
    with rebuilt(run.vault) as new:
        assert not (found := differences(run.vault, new, run.seed)), found
    run.vault.close()
    with opened(run.folder / "v.db") as vault:
        assert {e.id: e.title for e in vault.load(run.wrote)} == run.wrote
    assert not (found := faults(run.folder / "v.db")), found
    print(json.dumps(run.tried))


if __name__ == "__main__":
    main()
