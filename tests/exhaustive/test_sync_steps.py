"""A sync takes few steps: Python calls, modules, switches between files, native calls. Nothing is timed."""

import pytest

#: Maxima, as measured with Python 3.11: 178 of the 341 calls, and 427 of the 703, are of the package. A tenth more is
#: allowed: paths are resolved in Python, with calls for each folder above the vault.
LIMITS = {
    "sync": {"calls": 375, "modules": 29, "files": 44, "switches": 175, "native": 1},
    "sync of a changed file": {"calls": 775, "modules": 45, "files": 62, "switches": 400, "native": 5},
}


@pytest.fixture(scope="module")
def syncs(steps, tmp_path_factory):
    with steps.Syncs(tmp_path_factory.mktemp("steps") / "vault.db") as syncs:
        yield syncs


@pytest.fixture(scope="module")
def counted(steps, syncs):
    counted = syncs.steps()
    print(f"\n{steps.table(counted)}")
    return counted


@pytest.mark.parametrize("case", LIMITS)
def test_a_sync_takes_at_most_so_many_steps(counted, case):
    over = {what: (n, LIMITS[case][what]) for what, n in counted[case]._asdict().items() if n > LIMITS[case][what]}
    assert not over, f"{case}: counted, and the limit"


def test_every_kind_of_sync_has_limits(counted):
    assert counted.keys() == LIMITS.keys()


def test_the_counts_are_the_same_from_sync_to_sync(steps, syncs, counted):
    assert {steps.count(syncs.sync) for _ in range(20)} == {counted["sync"]}


def test_an_unchanged_file_costs_no_call(steps, counted, tmp_path):
    with steps.Syncs(tmp_path / "vault.db", files=200) as syncs:
        assert syncs.steps()["sync"] == counted["sync"]


def test_the_syncs_that_are_counted_find_what_changed(syncs, counted):
    assert syncs.sync().files_unchanged == 20
    syncs.edit()
    report = syncs.sync()
    assert (report.files_unchanged, report.files_changed) == (19, 1)
