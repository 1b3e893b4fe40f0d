"""`python -m release.windows`: a portion of tests that does not end, and what is left out."""

from collections import Counter

from release.windows import leaving, suite
from release.windows.wine import TIMED_OUT, Ended

STACK = r"""
~~~~ Stack of septet-async_0 (744) ~~~~
  File "concurrent\futures\thread.py", line 90, in _worker
~~~~ Stack of MainThread (36) ~~~~
  File "Z:\src\target\python\Lib\site-packages\_pytest\python.py", line 187, in pytest_pyfunc_call
  File "Z:\src\tests\integration\test_async.py", line 171, in test_entries_are_listed
  File "asyncio\runners.py", line 118, in run
"""
REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_one"/>
<testcase classname="tests.unit.test_a" name="test_two"><failure>it is wrong</failure></testcase>
<testcase classname="tests.unit.test_a" name="test_three"><skipped/></testcase>
</testsuite></testsuites>"""


def test_a_process_that_hangs_is_broken_and_names_the_test_and_its_line(tmp_path):
    for code, why in [(1, "ended with 1"), (TIMED_OUT, "ran out of time")]:
        came = suite.came_of(("tests/a.py",), tmp_path / "none.xml", Ended(code, STACK), 9.0)
        first, _, printed = came.broken.partition("\n")
        assert first == f"{why}, stuck in tests/integration/test_async.py:171, test_entries_are_listed"
        assert printed == STACK and not came.counts and not came.failed


def test_a_process_that_crashes_is_broken_although_it_left_a_report(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    came = suite.came_of(("tests/a.py",), report, Ended(3, "wine: unimplemented"), 9.0)
    assert came.broken == "ended with 3\nwine: unimplemented" and not came.counts


def test_tests_are_counted_by_their_outcome_and_those_that_failed_are_named(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    came = suite.came_of(("tests/a.py",), report, Ended(1, ""), 9.0)
    assert came.counts == {"passed": 1, "failure": 1, "skipped": 1} and not came.broken
    assert came.failed == {"tests.unit.test_a::test_two": "it is wrong"}


def test_files_of_a_broken_portion_run_once_more_one_by_one_at_the_end(monkeypatch):
    def portion(self, files):
        broken = "ended with 1" if "hangs" in files or files == ("hangs always",) else ""
        return suite.Came(files, Counter(passed=0 if broken else len(files)), 1.0, {}, broken)

    monkeypatch.setattr(suite, "PORTION", 2)
    monkeypatch.setattr(suite.Suite, "_portion", portion)
    outcomes = list(suite.Suite(None, None, None).run(["hangs", "hangs always", "a", "b", "other/c"], 2))
    assert [(came.files, bool(came.broken), came.again) for came in outcomes] == [
        (("hangs", "hangs always"), True, True),
        (("a", "b"), False, False),
        (("other/c",), False, False),
        (("hangs",), True, False),
        (("hangs always",), True, False),
    ]


def test_what_is_left_out_has_a_reason_and_a_bracket_in_an_id_is_no_pattern():
    name = "tests/integration/test_followed_files.py::test_a_file_of_any_name_is_followed"
    assert "Windows refuses" in leaving.reason(f"{name}[q?*[].md]")
    assert leaving.reason(f"{name}[-x.md]") is None
    assert leaving.reason("tests/integration/test_async.py") is None
