"""The public names and signatures are those of `public_api.txt`: none changes without somebody meaning it."""

from pathlib import Path

import public_api

RECORDED = Path(__file__).with_name("public_api.txt").read_text(encoding="utf-8").splitlines()


def test_the_public_api_is_as_recorded():
    now = "\n".join(public_api.listed()).rstrip().splitlines()
    gone, new = [one for one in RECORDED if one not in now], [one for one in now if one not in RECORDED]
    told = "If that is meant: python tests/public_api.py > tests/house/public_api.txt, and a line in CHANGELOG.md."
    assert not gone and not new and now == RECORDED, "\n".join(["", *gone, "became", *new, told])


def test_a_name_an_argument_and_a_default_that_change_are_seen():
    class One:
        def asked(self, limit=10):
            """A method."""

    class Other:
        def asked(self, limit=20):
            """A method."""

    One.__module__ = Other.__module__ = "septet.here"
    first, second = (list(public_api.lines_of("Kind", kind)) for kind in (One, Other))
    assert first == ["class Kind()", "    asked(limit=10)"]
    assert second == ["class Kind()", "    asked(limit=20)"]
