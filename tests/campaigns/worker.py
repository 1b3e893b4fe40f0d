"""One of many processes on a vault, with three threads.

Called with the path of the vault, a name, a seed and the number of writes of a thread. It tells what it wrote, waits
for a line that says that all have written, and then searches as a process that begins anew.
"""

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from campaigns.operations import opened
from campaigns.user import User
from campaigns.vaults import differences

THREADS = 3


def main():
    path, name, seed, writes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with opened(path) as vault:
        users = [User(lambda: vault, f"{name}{i}", seed, path.parent) for i in range(THREADS)]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda user: user.run(writes), users))
        wrote = {id: title for user in users for id, title in user.wrote.items()}
        print(json.dumps([wrote, sum((user.tried for user in users), Counter())]), flush=True)
        sys.stdin.readline()
        with opened(path, sidecar=False) as anew:
            assert not (found := differences(vault, anew, seed)), found[:2]


if __name__ == "__main__":
    main()
