"""The tests of the core, compiled for another machine and run as that machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from release.foreign.shell import FailedError, run
from release.targets import ROOT
from release.toolchain import ensure_std

if TYPE_CHECKING:
    from pathlib import Path

    from release.targets import Target

#: A little optimised, as an emulator takes ten times as long; overflow and debug assertions stay on.
PROFILE = {
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
    "CARGO_PROFILE_TEST_DEBUG": "false",
    "CARGO_PROFILE_DEV_DEBUG": "false",
    "CARGO_INCREMENTAL": "0",
}
RESULT = re.compile(r"test result: (\w+)\. (\d+) passed; (\d+) failed; (\d+) ignored")
#: A line of qemu's log with `sdot Vd.4S, Vn.16B, Vm.16B`, the dot product of bytes, which its disassembler cannot name.
SDOT = re.compile(r"0x[0-9a-f]+: +4e[89][0-9a-f]9[4-7][0-9a-f]{2} ")
#: A test that runs every kernel of codes.
OF_CODES = "every_level_multiplies_nibbles_and_bytes_alike"


class Crate:
    """The core as compiled for a target, with the command that its programs are started by."""

    def __init__(self, target: Target, folder: Path, runner: str = "") -> None:
        self._target = target
        self._folder = folder / "cargo"
        name = target.triple.upper().replace("-", "_")
        self._env = dict(PROFILE)
        if runner:
            self._env[f"CARGO_TARGET_{name}_RUNNER"] = runner
        # A crate of the benchmarks compiles C, without any header: a compiler for glibc does for musl.
        compiler = "aarch64-linux-gnu-gcc" if target.machine == "aarch64" else "gcc"
        self._env[f"CC_{target.triple.replace('-', '_')}"] = compiler
        if target.machine == "aarch64":
            self._env[f"CARGO_TARGET_{name}_LINKER"] = compiler

    def tests(self, **env: str) -> str:
        """Run them all, and say how many passed; raises when one fails, or when fewer ran than there are."""
        listed = self._test("--list", env=env)
        there = len(re.findall(r": test$", listed, re.MULTILINE))
        said = self._test(env=env)
        result = RESULT.search(said)
        if result is None or not there or int(result[2]) + int(result[4]) != there:
            raise FailedError(f"{there} tests are listed, but this ran:\n{said[-2000:]}")
        ignored = f", {result[4]} ignored" if result[4] != "0" else ""
        return f"{result[2]} of {there} passed{ignored}"

    def executed(self, instruction: re.Pattern[str], log: Path, **env: str) -> int:
        """How often qemu translated an instruction, by its code, while the kernels of codes were tested."""
        log.unlink(missing_ok=True)
        said = self._test(OF_CODES, env={**env, "QEMU_LOG": "in_asm", "QEMU_LOG_FILENAME": str(log)})
        if not re.search(r"test result: ok\. 1 passed", said):
            raise FailedError(f"the test of codes did not run:\n{said[-2000:]}")
        with log.open(errors="replace") as lines:
            found = sum(bool(instruction.match(line)) for line in lines)
        log.unlink()
        return found

    def _test(self, *arguments: str, env: dict[str, str]) -> str:
        ensure_std(self._target)
        build = ["cargo", "test", "--locked", "--quiet", "--package", "septet-core", "--lib"]
        build += ["--target", self._target.triple, "--target-dir", str(self._folder), "--", *arguments]
        return run(build, cwd=ROOT, env={**self._env, **env})
