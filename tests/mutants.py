"""Change the package in one place at a time, and tell which changes no test notices.

python tests/mutants.py [--jobs N] [--out FILE] [MODULE ...]

A module is named by its path, such as `ranking/cuts`; without any, all of `RELEVANT` are changed, each with the tests
listed there. The checkout is never changed: every worker has a copy of the package in a temporary folder, first on the
path. What survives is written to target/mutants/python.txt.

The changes are made by cosmic-ray, which is well kept, works on text and leaves it to the caller where the result goes.
mutmut puts switches around functions and forks a process that has run the tests already: vaults have threads, forked
children renew themselves, and module-level code is not changed. What cosmic-ray lacks is added below in its own terms:
exchanged names (min and max) and exchanged words of SQL.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator
from parso.python.tree import Name

ROOT = Path(__file__).parent.parent
OUT = ROOT / "target" / "mutants" / "python.txt"

_SEARCHES = (
    "unit/test_cuts.py unit/test_validity.py unit/test_results.py integration/test_federation.py "
    "integration/test_tiers_together.py integration/test_explain.py golden/test_federation.py golden/test_graph.py "
    "golden/test_decay.py golden/test_queries.py integration/test_vault.py"
)
_SNAPSHOTS = (
    "unit/test_row_index.py unit/test_append_buffer.py unit/test_validity.py integration/test_snapshots.py "
    "integration/test_late_vectors.py integration/test_postings.py property/test_state_machine.py"
)
_FILTERS = "unit/test_filters.py property/test_filters_twin.py"
#: Modules, and the tests that are to notice a change in them; those that do not exist are left out.
RELEVANT: dict[str, str] = {
    "ranking/bm25_scale": "unit/test_bm25_scale.py golden/test_federation.py integration/test_tiers_together.py",
    "ranking/cuts": "unit/test_cuts.py golden/test_guard.py",
    "ranking/fusion": "unit/test_fusion.py property/test_fusion_laws.py unit/test_profiles.py",
    "ranking/pool": f"unit/test_results.py unit/test_fusion.py property/test_fusion_laws.py {_SEARCHES}",
    "ranking/profile": "unit/test_profiles.py unit/test_adaptive.py unit/test_cuts.py golden/test_weights.py",
    "ranking/score": f"unit/test_adaptive.py golden/test_weights.py property/test_fusion_laws.py {_SEARCHES}",
    "query/filters": _FILTERS,
    "query/parse": "unit/test_query.py golden/test_text.py golden/test_vocabulary.py golden/test_queries.py",
    "model/arrays": "unit/test_append_buffer.py integration/test_snapshots.py",
    "sqlite/snapshot/snapshot": _SNAPSHOTS,
    "search/explain": _SEARCHES,
    "search/federated": _SEARCHES,
    "search/merge": _SEARCHES,
    "search/run": f"{_SEARCHES} integration/test_search_many.py",
    "sqlite/tier/read_view": f"{_SEARCHES} property/test_recall.py integration/test_search_many.py",
    "sqlite/tables/conditions": f"{_FILTERS} unit/test_validity.py integration/test_explain.py",
}

_OPPOSITES = (("Lt", "LtE"), ("Gt", "GtE"), ("Eq", "NotEq"), ("Is", "IsNot"), ("Lt", "Gt"), ("LtE", "GtE"))
_CALCULATIONS = (("Add", "Sub"), ("Mul", "Div"), ("BitAnd", "BitOr"), ("FloorDiv", "Mul"), ("Pow", "Mul"))
#: Of cosmic-ray's operators those that a person might mistake for each other: each is a likely fault.
OPERATORS = (
    *(f"core/ReplaceComparisonOperator_{a}_{b}" for one in _OPPOSITES for a, b in (one, one[::-1])),
    *(f"core/ReplaceBinaryOperator_{a}_{b}" for one in _CALCULATIONS for a, b in (one, one[::-1])),
    "core/ReplaceBinaryOperator_Mod_Mul",
    "core/ReplaceUnaryOperator_Delete_USub",
    "core/ReplaceUnaryOperator_Delete_Invert",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/AddNot",
    "core/NumberReplacer",
    "core/ZeroIterationForLoop",
)
NAMES = {"min": "max", "minimum": "maximum", "any": "all", "floor": "ceil", "logical_and": "logical_or"}
NAMES |= {other: one for one, other in NAMES.items()}
#: Words and signs inside text, most of it SQL, and where a bisection looks.
WORDS = {" AND ": " OR ", " OR ": " AND ", "<=": "<", ">=": ">", "<>": "=", "IS NOT NULL": "IS NULL"}
WORDS |= {"IS NULL": "IS NOT NULL", ">": ">=", "<": "<=", "left": "right", "right": "left"}
_WORD = re.compile(" AND | OR |<=|>=|<>|IS NOT NULL|IS NULL|>|<|left|right")


class ExchangeNames(Operator):
    """Call the opposite of a function."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "name" and node.value in NAMES:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        return Name(NAMES[node.value], node.start_pos, node.prefix)

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class ExchangeWords(Operator):
    """Write the opposite of a word of SQL."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type in ("string", "fstring_string"):
            for _ in _WORD.finditer(node.value):
                yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        found = list(_WORD.finditer(node.value))[index]
        node.value = node.value[: found.start()] + WORDS[found[0]] + node.value[found.end() :]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class Mutant(NamedTuple):
    """A module's text with one change."""

    module: str
    line: int
    operator: str
    text: str

    def told(self, original: str) -> str:
        changed = zip(original.splitlines(), self.text.splitlines())
        before, after = next((pair for pair in changed if pair[0] != pair[1]), ("", ""))
        return f"{self.module}.py:{self.line} {self.operator}\n  - {before.strip()}\n  + {after.strip()}\n"


def mutants_of(module: str, text: str) -> Iterator[Mutant]:
    """Yield every change to code that runs: not in annotations, docstrings and what only type checkers read."""
    tree, idle = get_ast(text), idle_ranges(text)
    seen = {text}
    operators = [(name.partition("/")[2], get_operator(name)()) for name in OPERATORS]
    for name, operator in (*operators, ("ExchangeNames", ExchangeNames()), ("ExchangeWords", ExchangeWords())):
        positions = [(start, node) for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node)]
        for occurrence, (start, node) in enumerate(positions):
            if any(first <= start < end for first, end in idle) or is_star(node):
                continue
            changed = mutate_code(text, operator, occurrence)
            if changed is not None and changed not in seen:
                seen.add(changed)
                yield Mutant(module, start[0], name, changed)


def is_star(node: Any) -> bool:
    """Say whether it is a star before an argument, which is no product."""
    return node.type == "operator" and node.parent.type in ("parameters", "param", "argument", "arglist", "star_expr")


def idle_ranges(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where no code runs: annotations, docstrings, blocks for type checkers, `__all__`."""
    idle: list[ast.AST] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            idle.append(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns:
            idle.append(node.returns)
        elif isinstance(node, ast.Expr | ast.If | ast.Assign) and never_runs(node):
            idle.append(node)
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in idle]  # type: ignore[attr-defined]


def never_runs(node: ast.Expr | ast.If | ast.Assign) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return getattr(node.test, "id", "") == "TYPE_CHECKING"
    return getattr(node.targets[0], "id", "") == "__all__"


class Workshop:
    """A copy of the package and its tests, in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.python = folder, folder / "python"
        shutil.copytree(ROOT / "python", self.python)
        for name in ("tests", "benches"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(ROOT / "pyproject.toml", folder)
        # Bytecode of what is not changed may stay; of mutants none may be left behind.
        self.env = os.environ | {"PYTHONPATH": str(self.python), "PYTHONDONTWRITEBYTECODE": "1"}
        code = "import septet; print(septet.__file__)"
        used = subprocess.run([sys.executable, "-c", code], env=self.env, cwd=folder, capture_output=True, text=True)
        if not used.stdout.startswith(str(self.python)):
            raise SystemExit(f"the copy is not what is imported, but {used.stdout.strip() or used.stderr}")

    def path_of(self, module: str) -> Path:
        return self.python / "septet" / f"{module}.py"

    def text_of(self, module: str) -> str:
        return self.path_of(module).read_text(encoding="utf-8")

    def tests_of(self, module: str) -> list[str]:
        named = dict.fromkeys(f"tests/{test}" for test in RELEVANT[module].split())
        return [test for test in named if (self.folder / test).exists()]

    def passes(self, tests: Sequence[str], timeout_s: float) -> bool:
        """Run tests until the first that fails; those that do not end have noticed something."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=self.env, cwd=self.folder, start_new_session=True, **quiet)  # type: ignore[call-overload]
        try:
            return bool(process.wait(timeout_s) == 0)
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def survives(self, mutant: Mutant, tests: Sequence[str], timeout_s: float) -> bool:
        path, original = self.path_of(mutant.module), self.text_of(mutant.module)
        path.write_text(mutant.text, encoding="utf-8")
        try:
            return self.passes(tests, timeout_s)
        finally:
            path.write_text(original, encoding="utf-8")


def tried(module: str, workshops: Sequence[Workshop]) -> tuple[int, list[str]]:
    """Try all mutants of a module; return how many there are, and those that survive."""
    text, tests = workshops[0].text_of(module), workshops[0].tests_of(module)
    started = time.monotonic()
    if not workshops[0].passes(tests, 600):
        raise SystemExit(f"{module}: its tests fail without any change: pytest {' '.join(tests)}")
    timeout_s = 3 * len(workshops) * (time.monotonic() - started) + 10
    free: SimpleQueue[Workshop] = SimpleQueue()
    for workshop in workshops:
        free.put(workshop)

    def survives(mutant: Mutant) -> bool:
        workshop = free.get()
        try:
            return workshop.survives(mutant, tests, timeout_s)
        finally:
            free.put(workshop)

    mutants = list(mutants_of(module, text))
    with ThreadPoolExecutor(len(workshops)) as pool:
        try:
            alive = list(pool.map(survives, mutants))
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return len(mutants), [m.told(text) for m, lives in zip(mutants, alive) if lives]


def main() -> None:
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=f"{about}\n\n{more}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"one of {', '.join(RELEVANT)}; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tried at once")
    parser.add_argument("--out", type=Path, default=OUT, help="where the survivors are written")
    options = parser.parse_args()
    if unknown := [m for m in options.modules if m not in RELEVANT]:
        parser.error(f"no module {unknown[0]!r}: known are {', '.join(RELEVANT)}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, options.out.open("w", encoding="utf-8") as out:
        workshops = [Workshop(Path(folder) / str(i)) for i in range(max(options.jobs, 1))]
        for module in options.modules or RELEVANT:
            if not workshops[0].path_of(module).exists():
                raise SystemExit(f"{module}: there is no such module; RELEVANT names it")
            count, survivors = tried(module, workshops)
            line = f"{module}: {len(survivors)} of {count} mutants survive"
            print(line, flush=True)
            out.write("".join([f"# {line}\n", *survivors, "\n"]))
            out.flush()


if __name__ == "__main__":
    main()
