"""The report of a sync: what is left out, and what is taken in with a remark."""

from septet.files.report import Tally


def test_a_file_that_was_read_with_a_remark_and_cannot_be_stored_is_not_taken():
    tally = Tally()
    tally.skip("a.md", "not UTF-8 from byte 5 on", "notes", taken=True)
    tally.skip("b.md", "not UTF-8 from byte 7 on", "notes", taken=True)
    tally.skip("b.md", "front matter is no YAML", "notes", taken=True)
    tally.skip("a.md", "title is empty", "notes", taken=False)
    report = tally.report(["notes"], 0.0)
    assert [(one.path, one.taken) for one in report.skipped] == [
        ("a.md", False),
        ("b.md", True),
        ("b.md", True),
        ("a.md", False),
    ]
    assert ", 2 skipped, 1 with a remark in " in str(report)
