"""The small-corpus guard: how many results come back, by the number of matches and the limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from golden.differences import GUARD, GUARD_MANAGED, differs
from golden.loader import recording
from golden.reference import RECORDED, guard_shown
from septet import Federation, Vault
from septet.errors import QueryError

ROWS = recording("guard")["rows"]


@pytest.fixture(scope="module", params=ROWS, ids=lambda row: f"{row['matching']} matches")
def filled(request: pytest.FixtureRequest) -> Iterator[tuple[Mapping, Vault]]:
    """A recorded row, and a vault in which so many entries match."""
    with Vault(":memory:", profile="seven-signals") as vault:
        vault.add_many([{"id": f"e{i:03}", "title": f"kumquat {i}"} for i in range(request.param["matching"])])
        vault.add_many([{"id": f"other{i}", "title": f"quince {i}"} for i in range(5)])
        yield request.param, vault


def limits(row: Mapping[str, int]) -> Iterator[tuple[int | None, int]]:
    """Yield each recorded limit, None for the default, with the number of results."""
    for limit, shown in row.items():
        yield (None if limit == "default" else int(limit)), shown


def agrees(vault: Vault, matching: int, limit: int | None, recorded: int) -> None:
    listed = GUARD.get((matching, limit), RECORDED)
    found = len(vault.search("kumquat", limit=limit))
    assert recorded == guard_shown(matching, limit, RECORDED), limit
    assert found == guard_shown(matching, limit, listed), limit
    assert all(found != guard_shown(matching, limit, listed - {name}) for name in listed), limit
    assert (found == recorded) == (not listed), limit


def test_under_a_limit_one_vault_returns_as_many_as_recorded_but_for_the_listed_differences(filled):
    row, vault = filled
    for limit, recorded in limits(row["single"]):
        if limit is not None:
            agrees(vault, row["matching"], limit, recorded)


def test_without_a_limit_one_vault_returns_as_many_as_recorded_but_for_the_listed_differences(filled):
    row, vault = filled
    agrees(vault, row["matching"], None, row["single"]["default"])


def test_a_tier_returns_as_many_as_recorded_but_for_the_listed_differences(filled):
    row, vault = filled
    matching = row["matching"]
    with Federation({"agent": vault}, profile="seven-signals") as federation:
        for limit, recorded in limits(row["manager"]):
            listed = GUARD_MANAGED.get((matching, limit), RECORDED)
            found = len(federation.search("kumquat", limit=limit))
            assert recorded == guard_shown(matching, limit, RECORDED, managed=True), limit
            assert found == guard_shown(matching, limit, listed, managed=True), limit
            needed = (guard_shown(matching, limit, listed - {name}, managed=True) != found for name in listed)
            assert all(needed), limit
            assert (found == recorded) == (not listed), limit


def test_every_listed_number_of_matches_and_limit_was_recorded():
    for table, kind in ((GUARD, "single"), (GUARD_MANAGED, "manager")):
        recorded = {(row["matching"], limit) for row in ROWS for limit, _ in limits(row[kind])}
        assert set(table) <= recorded
    assert sum(len(row["single"]) + len(row["manager"]) for row in ROWS) == 12 * (17 + 16)


@differs("a-limit-is-positive")
def test_a_limit_of_0_is_a_mistake(filled):
    with pytest.raises(QueryError, match="limit is 0"):
        filled[1].search("kumquat", limit=0)
