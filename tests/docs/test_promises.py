"""Each promise in docs/promises.md stands in its page, and what shows it is there and runs."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CITED = re.compile(r"`([\w./-]+\.\w+)(?:::(test_\w+)`|` holds `([^`]+)`)")


class Promise(NamedTuple):
    """A row of a table: a quotation of the page that its heading names, and the cell that says what shows it."""

    page: str
    quoted: str
    shown: str


def plain(text: str) -> str:
    """Return a text with its white space as single blanks."""
    return " ".join(text.split())


def promises(text: str) -> list[Promise]:
    """Return the rows of all tables, with the page of the heading above each."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        page, _, body = section.partition("\n")
        for line in body.splitlines():
            if not line.startswith("|") or re.fullmatch(r"[|: -]+", line) or plain(line) == "| promise | shown by |":
                continue
            cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            assert len(cells) == 2, f"not two cells: {line}"
            found.append(Promise(page.strip(), *cells))
    return found


def skipped(node: ast.AST) -> bool:
    """Say whether a decorator or a mark skips a test, or expects it to fail, whatever the circumstances."""
    call = node if isinstance(node, ast.Call) else None
    name = ast.unparse(call.func if call else node)
    if name.endswith("mark.skipif"):
        return call is None or not call.args or isinstance(call.args[0], ast.Constant)
    if name.endswith("mark.xfail"):
        conditions = [*call.args, *(word.value for word in call.keywords if word.arg == "condition")] if call else []
        return not conditions or isinstance(conditions[0], ast.Constant)
    return name.endswith("mark.skip")


def ends_at_once(body: list[ast.stmt]) -> bool:
    """Say whether a module or a test calls pytest.skip or pytest.xfail under no condition."""
    calls = [one.value for one in body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    return any(ast.unparse(call.func) in ("pytest.skip", "pytest.xfail") for call in calls)


def runs(source: str, test: str) -> str | None:
    """Return what keeps a test of this module from running everywhere; None if nothing does."""
    module = ast.parse(source)
    if ends_at_once(module.body):
        return "its module is skipped"
    for one in ast.walk(module):
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "pytestmark":
            marks = one.value.elts if isinstance(one.value, ast.List | ast.Tuple) else [one.value]
            if any(map(skipped, marks)):
                return "its module or class is skipped"
    homes = [(module, [])] + [(one, one.decorator_list) for one in module.body if isinstance(one, ast.ClassDef)]
    for home, decorators in homes:
        for one in home.body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == test:
                if any(map(skipped, [*decorators, *one.decorator_list])) or ends_at_once(one.body):
                    return "it is skipped"
                return None
    return "no such test"


def faults(promise: Promise, root: Path) -> list[str]:
    """Return what is wrong with a row."""
    page = root / "docs" / promise.page
    if not page.is_file():
        return [f"no page {promise.page}"]
    found = []
    if len(promise.quoted) < 8 or plain(promise.quoted) not in plain(page.read_text("utf-8")):
        found.append("the page does not say so")
    cited = CITED.findall(promise.shown)
    if not cited or plain(CITED.sub("", promise.shown)).strip(", "):
        found.append(f"names neither a test nor a file that holds a word: {promise.shown}")
    for file, test, word in cited:
        path = root / file
        if not path.is_file():
            found.append(f"no file {file}")
        elif word and word not in path.read_text("utf-8"):
            found.append(f"{file} does not hold {word}")
        elif test and not (file.startswith("tests/") and path.name.startswith("test_")):
            found.append(f"{file} holds no tests")
        elif test and (reason := runs(path.read_text("utf-8"), test)):
            found.append(f"{file}::{test}: {reason}")
    return found


def clauses_of_does(text: str) -> list[str]:
    """Return what stands below each **Does:** of the page on security, cut behind full stops and semicolons."""
    found = re.findall(r"^- \*\*Does:\*\*(.*?)(?=^- \*\*|^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return [one for bullet in found for one in re.split(r"(?<=[.;])\s", plain(bullet))]


PROMISES = promises((DOCS / "promises.md").read_text("utf-8"))


@pytest.mark.parametrize("promise", PROMISES, ids=[f"{one.page}-{one.quoted[:40]}" for one in PROMISES])
def test_a_promise_stands_in_its_page_and_what_shows_it_is_there(promise):
    assert faults(promise, ROOT) == []


def test_no_promise_is_listed_twice():
    assert len({(one.page, plain(one.quoted)) for one in PROMISES}) == len(PROMISES)


def test_everything_that_the_page_on_security_says_septet_does_has_a_row():
    rows = [plain(one.quoted) for one in PROMISES if one.page == "security.md"]
    clauses = clauses_of_does((DOCS / "security.md").read_text("utf-8"))
    assert len(clauses) > 50
    assert [one for one in clauses if not any(row in one or one in row for row in rows)] == []


def test_each_boundary_says_what_is_done_and_what_is_not():
    boundaries = (DOCS / "security.md").read_text("utf-8").split("## Boundaries", 1)[1].split("\n### ")[1:]
    assert len(boundaries) > 10
    assert [one.splitlines()[0] for one in boundaries if "**Does:**" not in one or "**Does not:**" not in one] == []


TESTS = """
import pytest
def test_good(): pass
@pytest.mark.parametrize("x", [1])
@pytest.mark.skipif(sys.platform == "win32", reason="")
def test_elsewhere(x): pass
@pytest.mark.skip(reason="x")
def test_skipped(): pass
@pytest.mark.xfail
def test_failing(): pass
def test_giving_up():
    pytest.skip("x")
"""


@pytest.mark.parametrize(
    ("page", "quoted", "shown", "wrong"),
    [
        ("a.md", "It keeps **each** text.", "`tests/test_a.py::test_good`, `tests/test_a.py::test_elsewhere`", None),
        ("a.md", "It keeps **each** text.", "`job.yml` holds `attest: true`", None),
        ("a.md", "It keeps each text.", "`tests/test_a.py::test_good`", "does not say so"),
        ("b.md", "It keeps **each** text.", "`tests/test_a.py::test_good`", "no page"),
        ("a.md", "It keeps **each** text.", "`tests/test_a.py::test_gone`", "no such test"),
        ("a.md", "It keeps **each** text.", "`tests/test_b.py::test_good`", "no file"),
        ("a.md", "It keeps **each** text.", "`tests/test_a.py::test_skipped`", "it is skipped"),
        ("a.md", "It keeps **each** text.", "`tests/test_a.py::test_failing`", "it is skipped"),
        ("a.md", "It keeps **each** text.", "`tests/test_a.py::test_giving_up`", "it is skipped"),
        ("a.md", "It keeps **each** text.", "`job.yml` holds `attest: false`", "does not hold"),
        ("a.md", "It keeps **each** text.", "believe it", "names neither"),
        ("a.md", "It keeps **each** text.", "`tests/test_a.py::test_good` and more", "names neither"),
    ],
)
def test_a_row_that_is_wrong_is_found(tmp_path, page, quoted, shown, wrong):
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "docs" / "a.md").write_text("It keeps\n**each** text.\n")
    (tmp_path / "tests" / "test_a.py").write_text(TESTS)
    (tmp_path / "job.yml").write_text("attest: true\n")
    (one,) = promises(f"# T\n\n## {page}\n\n| promise | shown by |\n|---|---|\n| {quoted} | {shown} |\n")
    found = faults(one, tmp_path)
    assert found == [] if wrong is None else wrong in found[0]


def test_a_module_that_is_skipped_shows_nothing():
    assert runs('import pytest\npytestmark = [pytest.mark.skip("x")]\ndef test_a(): pass', "test_a")
    assert runs('import pytest\npytest.skip("x", allow_module_level=True)\ndef test_a(): pass', "test_a")
    assert runs("pytestmark = pytest.mark.slow\nclass TestA:\n    def test_a(self): pass", "test_a") is None
