"""The report of a sync: what is left out, and what is taken in with a remark."""

from septet.files.report import SyncReport, SyncTally
from septet.files.roots import kinds_text


def test_a_file_that_was_read_with_a_remark_and_cannot_be_stored_is_not_taken():
    tally = SyncTally()
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


def test_files_of_other_kinds_are_counted_the_most_first_and_the_rest_together():
    tally = SyncTally()
    tally.skip_kinds({"canvas": 3, "pdf": 10, "": 4, "other": 1})
    tally.skip_kinds({"pdf": 2, "html": 3, **{f"x{number}": 1 for number in range(30)}})
    report = tally.report(["notes"], 0.0)
    assert list(report.skipped_kinds.items())[:3] == [("pdf", 12), ("canvas", 3), ("html", 3)]
    assert sum(report.skipped_kinds.values()) == 12 + 6 + 5 + 30 and len(report.skipped_kinds) == 21
    assert list(report.skipped_kinds)[-1] == "other" and report.to_dict()["skipped_kinds"] == report.skipped_kinds
    assert kinds_text(report.skipped_kinds).startswith("12 pdf, 3 canvas, 3 html, 1 x0, 1 x1, 33 other")
    assert ", skipped 12 pdf, " in str(report) and "skipped" not in str(SyncReport())
