"""Run by the Python of another machine: `python inside.py NAME-OF-THE-WHEEL`.

Says what it runs on, then searches vectors at every SIMD level and compares with a float64 scan in numpy. Needs nothing
but the installed wheel, its dependencies and `packaging`.
"""

import platform
import sqlite3
import sys
import sysconfig
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from packaging.tags import cpython_tags, sys_tags
from packaging.utils import parse_wheel_filename

import septet
from septet import _core

Floats = NDArray[np.float32]

#: Linux tells a process of aarch64 by these bits of an entry of the auxiliary vector what its processor can do.
HWCAP, ASIMD, ASIMDDP = 16, 1 << 1, 1 << 20


def instructions() -> str:
    """What this processor is told to have, read beside the package's own detection."""
    if platform.machine() != "aarch64":
        return "not asked"
    pairs = np.frombuffer(Path("/proc/self/auxv").read_bytes(), np.uint64).reshape(-1, 2)
    capabilities = int(pairs[pairs[:, 0] == HWCAP][0, 1])
    names = [name for name, bit in (("asimd", ASIMD), ("asimddp", ASIMDDP)) if capabilities & bit]
    assert ("asimd" in names) == ("neon" in _core.kernels()), names
    return " ".join(names)


def is_musl() -> bool:
    """Whether this Python was built with musl."""
    return "musl" in sysconfig.get_config_var("EXT_SUFFIX")


def the_tag_is_one_of_this_python(wheel: str) -> str:
    """The tag of the wheel that the interpreter knows as its own."""
    tags = parse_wheel_filename(wheel)[3]
    known = tags & set(sys_tags())
    if is_musl() and not known:
        # musl's version is read from the program's own file, and under an emulator that is a script.
        known = tags & set(cpython_tags(platforms=[f"musllinux_1_2_{platform.machine()}"]))
    assert known, f"{wheel} is not for this Python"
    return sorted(str(tag) for tag in known)[0]


def slow(queries: Floats, rows: Floats, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ids and cosines of the best rows, by a scan in float64."""
    asked, there = queries.astype(np.float64), rows.astype(np.float64)
    cosines = asked @ there.T
    cosines /= np.linalg.norm(asked, axis=1)[:, None] * np.linalg.norm(there, axis=1)
    best = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return best, np.take_along_axis(cosines, best, axis=1)


def searches_equal_the_float64_scan(n: int = 3000, d: int = 100, q: int = 12, k: int = 10) -> str:
    """Compare every way to search vectors, at every level, with the slow scan."""
    rng = np.random.default_rng(15)
    # A direction that all share, as vectors of models have, keeps the best close together.
    rows = (rng.standard_normal((n, d)) + 2 * rng.standard_normal(d)).astype(np.float32)
    queries = (rng.standard_normal((q, d)) + rows[:q]).astype(np.float32)
    best, cosines = slow(queries, rows, k)
    units, asked = _core.unit_rows(rows), _core.unit_rows(queries)
    codes = _core.Codes(d)
    codes.append(units)
    index = septet.VectorIndex(d)
    index.add(rows)
    compared = 0
    for level in _core.kernels():
        for i, query in enumerate(asked):
            for ids, scores in (
                _core.top_k(query, units, k, kernel=level),
                codes.top_k(query, units, k, kernel=level),
                codes.top_k(query, units, k, kernel=level, front=True),
                codes.top_k(query, units, k, kernel=level, front=False),
            ):
                assert ids.tolist() == best[i].tolist(), (level, i, ids, best[i])
                assert np.allclose(scores, cosines[i], rtol=0, atol=1e-6), (level, i)
                compared += 1
        ids, _ = codes.top_k_batch(asked, units, k, kernel=level)
        assert (ids == best).all(), level
        compared += q
    ids, scores = index.search(queries, k)
    assert (ids == best).all()
    assert np.allclose(scores, cosines, rtol=0, atol=1e-6)
    return f"{compared + q} searches as the float64 scan at {', '.join(_core.kernels())}"


def main(wheel: str) -> None:
    """Print a line for each thing that was seen."""
    # `platform` knows no musl.
    libc = "musl" if is_musl() else " ".join(platform.libc_ver())
    print(f"Python {platform.python_version()} {platform.machine()} {libc} numpy {np.__version__}")
    print(f"SQLite {sqlite3.sqlite_version}; processor: {instructions()}; default {_core.kernel()}")
    print(the_tag_is_one_of_this_python(wheel))
    print(searches_equal_the_float64_scan())


if __name__ == "__main__":
    main(sys.argv[1])
