"""The age of a Markdown memory: the date in a file's name, what never ages, and the share of the score that is left."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.errors import ProfileError
from septet.files.chunking import Chunking
from septet.files.documents import dated, document_of
from septet.profiles import resolve
from septet.ranking.pool import Pool, number_at
from septet.ranking.score import rank

RECORDED = other_recording("openclaw-temporal-decay")
MID, NEWEST = RECORDED["versions"]
NOW = datetime(2026, 3, 14, tzinfo=timezone.utc).timestamp()
DAY = 86_400.0
RECORDED_DATES = re.compile(r"(.*/)?memory/(.*/)?\d{4}-\d\d-\d\d(-[^/]*)?\.md")


def left_of(score: float, age: float, half_life: object, evergreen: float = math.nan) -> float:
    """Return what a search leaves of a score at an age in days."""
    decay = {"decay": {"col": "updated_age"}, "half_life": half_life}
    factor = {"unless": {"col": "attrs.evergreen"}, "of": decay}
    profile = resolve({"extends": "markdown-memory", "factors": {"recency": factor}, "floor": None})
    numbers = {"cosine": score, "updated_at": NOW - age * DAY, "created_at": NOW, "attrs.evergreen": evergreen}
    columns = {name: np.array([value], dtype=np.float64) for name, value in numbers.items()}
    columns |= {name: np.array([math.nan]) for name in ("valid_from", "valid_until", "path")}
    columns["bm25"] = np.zeros(1)
    pool = Pool([0], [0], {name: [""] for name in ("kind", "severity", "domain")}, columns)
    found = rank(pool, profile, {"vector": 1.0, "text": 0.0}, now=NOW, domain=None)
    return float(found.scores[0])


def name_of(case: Mapping[str, Any]) -> str:
    return " ".join(str(value) for value in case.values() if not isinstance(value, dict))


@pytest.mark.parametrize("case", RECORDED["groups"]["score"], ids=name_of)
@differs("a-half-life-is-positive")
def test_scores_lose_the_recorded_share(case: Mapping[str, Any]) -> None:
    half_life = float(case["halfLifeDays"])
    if not 0 < half_life < math.inf:
        assert case[MID] == case[NEWEST] == case["score"]
        with pytest.raises(ProfileError, match="half_life"):
            left_of(case["score"], case["ageInDays"], half_life)
        return
    left = left_of(case["score"], case["ageInDays"], half_life)
    # Seconds of the clock are counted in doubles: the age of a day is known to 1e-12 of it.
    assert left == pytest.approx(case[NEWEST], rel=1e-9)
    assert left == pytest.approx(case[MID], rel=1e-9)


@pytest.mark.parametrize("case", RECORDED["groups"]["paths"], ids=name_of)
@differs("names-of-any-folder-are-dated", "curated-files-of-both-versions")
def test_files_are_dated_as_recorded(case: Mapping[str, Any]) -> None:
    # A sync writes every path with forward slashes, below its root.
    path = case["path"].replace("\\", "/")
    newest = case[NEWEST]
    recorded = None if newest["date"] is None else datetime.fromisoformat(newest["date"].replace("Z", "+00:00"))
    named = dated(path.rpartition("/")[2])
    # Where no name has a date, that of the file counts, if it is known.
    mtime = NOW if recorded is None else recorded.timestamp()
    (chunk,) = document_of("text", path, mtime, Chunking()).chunks
    updated, evergreen = chunk.fields["updated_at"], number_at(chunk.fields["attrs"], ["evergreen"])
    left = left_of(1.0, (NOW - updated) / DAY, 30, evergreen)
    if named is not None and recorded is None:
        assert RECORDED_DATES.fullmatch(path) is None
        assert left == pytest.approx(0.5 ** (max(0.0, NOW - named) / DAY / 30))
        return
    assert left == pytest.approx(newest["decayed"], rel=1e-9)
    if recorded is not None:
        assert updated == recorded.timestamp() and math.isnan(evergreen)
    else:
        assert (evergreen == 1) == (newest["evergreen"] or case[MID]["evergreen"])


def test_every_recorded_section_is_compared() -> None:
    assert set(RECORDED) == {"what", "versions", "runtime", "groups"}
    assert set(RECORDED["groups"]) == {"score", "paths"}
