"""Temporal decay."""

from __future__ import annotations

import numpy as np
import pytest

from golden.differences import differs
from golden.loader import NOW, recording
from golden.reference import decay
from septet import Vault, _core
from septet.profiles.builtin import SEVEN_SIGNALS

DECAY = recording("decay")
SPELLED = {"created_at": "createdAt", "updated_at": "updatedAt", "valid_from": "validFrom", "valid_until": "validUntil"}
TIMES = ("createdAt", "updatedAt", "validFrom", "validUntil")


def named(case: dict) -> dict[str, float]:
    return {SPELLED.get(name, name): at for name, at in case["entryFields"].items()}


every_case = pytest.mark.parametrize("case", DECAY["cases"], ids=lambda c: c["label"])


@every_case
def test_the_kernel_gives_the_recorded_decay(case):
    fields = named(case)
    times = [np.array([fields.get(name, np.nan)], dtype=np.float64) for name in TIMES]
    facts = SEVEN_SIGNALS.facts
    found = _core.decay(case["now"], *times, half_life_s=facts.half_life_days * 86_400, ramp=facts.ramp)
    assert found[0] == pytest.approx(case["decay"], abs=1e-12)
    assert decay(fields, case["now"]) == pytest.approx(case["decay"], abs=1e-12)


@every_case
def test_a_search_gives_the_recorded_decay(case):
    fields = named(case)
    times = {ours: fields[theirs] for ours, theirs in SPELLED.items() if theirs in fields}
    if "valid_from" in times:
        times.setdefault("created_at", min(times["valid_from"], NOW))
    with Vault(":memory:", clock=lambda: float(case["now"]), profile="seven-signals") as vault:
        vault.add(id="x", title="kumquat", **times)
        # Expired entries come back only when they are asked for; their decay is 0.
        found = vault.search("kumquat", include_expired=True)
        assert found[0].signals["temporal_decay"] == pytest.approx(case["decay"], abs=1e-12)
        assert len(vault.search("kumquat")) == (fields.get("validFrom", 0) <= case["now"] and case["decay"] > 0)


@differs("decay-from-the-store")
@pytest.mark.parametrize("case", DECAY["throughDatabase"], ids=lambda c: c["id"])
def test_entries_keep_their_age_in_the_store(case):
    age = int(case["id"].removeprefix("age")) * 86_400
    with Vault(":memory:", clock=lambda: NOW, profile="seven-signals") as vault:
        vault.add(id=case["id"], title="kumquat", created_at=NOW - age)
        found = vault.search("kumquat")[0].signals["temporal_decay"]
    assert found == pytest.approx(case["documentedDecay"], abs=1e-12)
    assert (found == case["decayReturned"]) == (age == 0)


def test_cases_of_every_kind_were_recorded():
    labels = " ".join(case["label"] for case in DECAY["cases"])
    assert all(kind in labels for kind in ("no timestamps", "updated_at", "window", "validUntil only"))
    assert {0, 1} < {case["decay"] for case in DECAY["cases"]}
