"""Tests of `integration/test_targets.py` that take seconds."""

import gc
import os
import sys

from integration.test_targets import names
from septet.system.target import complete_file


def test_an_interrupt_at_any_line_leaves_the_old_file_or_the_new_one_and_no_other(tmp_path):
    (tmp_path / "out").write_text("old")
    before, line, done = sys.gettrace(), 0, False
    while not done:
        left = line = line + 1

        def interrupt(frame, event, _argument):
            nonlocal left
            if frame.f_code.co_name not in ("complete_file", "unfinished", "complete", "export_like"):
                return None
            left -= event == "line"
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
            return interrupt

        def export_like():
            with complete_file(tmp_path / "out") as part:
                os.write(part.descriptor, b"new")

        sys.settrace(interrupt)
        try:
            export_like()
            done = True
        except KeyboardInterrupt:
            # What is left to the collector was never handed out.
            gc.collect()
        finally:
            sys.settrace(before)
        assert names(tmp_path) == ["out"]
        assert (tmp_path / "out").read_text() in ("old", "new")
    assert line > 20
