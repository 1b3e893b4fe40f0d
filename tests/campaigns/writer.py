"""A process that writes to a vault until it is killed, and says so on its output before and after each write.

Called with the path of the vault, the seed and the number of the first write.
"""

import os
import sys
from pathlib import Path

from campaigns.operations import done, opened


def main():
    path, seed, number = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with opened(path) as vault:
        os.write(1, b"opened\n")
        while True:
            os.write(1, b"begun\n")
            done(vault, seed, number, path.parent)
            os.write(1, b"done\n")
            number += 1


if __name__ == "__main__":
    main()
