"""Days that a question names are those of the process's own zone, also where clocks change."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="TZ of Windows has no rules of POSIX")

#: A vault asked at 10:00 local time, with messages by local hours before it, and one with a date alone.
ASK = """
import sys
from datetime import datetime, timedelta, timezone
from septet import Vault

text, attrs = "We viewed a flat with three rooms.", {"role": "user"}
asked = datetime.fromisoformat(sys.argv[1])
with Vault(":memory:", profile="conversation", clock=asked.timestamp) as vault:
    for name, at in (
        ("late-before", asked.replace(hour=23, minute=50) - timedelta(days=2)),
        ("early-yesterday", asked.replace(hour=0, minute=10) - timedelta(days=1)),
        ("late-yesterday", asked.replace(hour=23, minute=50) - timedelta(days=1)),
        ("early-today", asked.replace(hour=0, minute=10)),
    ):
        vault.add(id=name, title=text, attrs=attrs, created_at=at.timestamp())
    day = (asked - timedelta(days=1)).replace(hour=0, tzinfo=timezone.utc)
    date = f"{day:%Y-%m-%d}"
    vault.add(id="dated", title=text, attrs=attrs, created_at=day)
    for query in ("yesterday", "on " + date, "today"):
        hits = vault.search(f"which flat with three rooms did we view {query}")
        print(*sorted(hit.id for hit in hits if hit.signals["span"] == 1))
"""


@pytest.mark.parametrize("zone", ["UTC0", "JST-9", "PST8PDT,M3.2.0,M11.1.0", "LINT-14", "NPT-5:45"])
@pytest.mark.parametrize("asked", ["2026-07-15T10:00", "2026-03-09T10:00", "2026-11-02T10:00", "2027-01-01T10:00"])
def test_yesterday_is_that_of_the_user(zone, asked):
    done = subprocess.run(
        [sys.executable, "-c", ASK, asked], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
    )
    yesterday = "dated early-yesterday late-yesterday"
    assert done.stdout.splitlines() == [yesterday, yesterday, "early-today"]
