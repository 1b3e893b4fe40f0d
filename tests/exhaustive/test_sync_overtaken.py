"""Tests of `integration/test_sync_overtaken.py` that take seconds."""

import time

from integration.test_sync_overtaken import fill
from septet import Vault
from septet.files import turns


def test_nobody_syncs_while_a_redaction_reads_on_and_finds_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LEASE_S", 1.5)
    fill(tmp_path / "notes", range(200), "no secret")
    reports = []
    with Vault(tmp_path / "v.db") as vault, Vault(tmp_path / "v.db") as other:
        vault.sync(tmp_path / "notes")

        def looked(done, _):
            time.sleep(0.45)
            reports.append(other.sync(timeout_s=0))

        vault.redact(progress=looked)
        assert len(reports) >= 4 and not any(report.complete for report in reports)
        assert other.sync().complete
