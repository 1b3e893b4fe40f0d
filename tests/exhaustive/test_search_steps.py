"""A search takes few steps: Python calls, modules, switches between files, native calls. Nothing is timed."""

import sys

import numpy as np
import pytest

from septet import Vault
from septet.sqlite.tier.read_view import ReadView

#: At most so many, as measured with Python 3.11 and numpy 2.4. Aimed at (`benches/steps.py`): calls 170 for text, 200
#: for filtered hybrid, 260 for first after an add, 700 for retrieval; modules 16 and switches 60 for text; native 6 for
#: hybrid. One of the modules is `septet.system.frozen`, in which values are constructed.
LIMITS = {
    "text": {"calls": 111, "modules": 19, "files": 21, "switches": 64, "native": 5},
    "hybrid": {"calls": 118, "modules": 20, "files": 22, "switches": 69, "native": 6},
    "filtered hybrid": {"calls": 142, "modules": 23, "files": 26, "switches": 84, "native": 6},
    "explain": {"calls": 203, "modules": 26, "files": 32, "switches": 127, "native": 10},
    # 86 are of the package.
    "entries": {"calls": 128, "modules": 10, "files": 17, "switches": 59, "native": 0},
    "first after an add": {"calls": 243, "modules": 31, "files": 42, "switches": 152, "native": 15},
    "retrieval": {"calls": 699, "modules": 47, "files": 56, "switches": 369, "native": 18},
    "retrieval of three corpora": {"calls": 804, "modules": 45, "files": 54, "switches": 374, "native": 18},
    "planned retrieval of three": {"calls": 1051, "modules": 44, "files": 54, "switches": 464, "native": 21},
    "recall": {"calls": 1367, "modules": 45, "files": 55, "switches": 702, "native": 21},
}

MOST_CALLS_OF_EXPLAIN = 400


@pytest.fixture(scope="module")
def searches(steps, tmp_path_factory):
    with steps.Searches(tmp_path_factory.mktemp("steps") / "vault.db") as made:
        yield made


@pytest.fixture(scope="module")
def counted(steps, searches):
    found = searches.steps()
    print(f"\n{steps.table(found)}")
    return found


@pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) < (1, 25),
    reason="numpy's own dispatch is calls of Python until 1.25",
)
@pytest.mark.parametrize("case", LIMITS)
def test_a_search_takes_at_most_so_many_steps(counted, case):
    over = {what: (n, LIMITS[case][what]) for what, n in counted[case]._asdict().items() if n > LIMITS[case][what]}
    assert not over, f"{case}: counted, and the limit"


@pytest.mark.parametrize("profile", ["septet", "seven-signals", "markdown-memory", "recall"])
@pytest.mark.parametrize("ranked_by", ["postings", "FTS5"])
def test_an_explanation_takes_as_many_steps_for_many_matches_as_for_few(
    steps, tmp_path, monkeypatch, profile, ranked_by
):
    counts, matches = [], []
    for number in (300, 3_000):
        with Vault(tmp_path / f"{number}.db", clock=lambda: 1e9) as vault:
            vault.add_many({"id": f"e{i}", "title": "ducks", "description": f"ponds {i % 7}"} for i in range(number))
            vault.optimize()
            if ranked_by == "FTS5":
                monkeypatch.setattr(ReadView, "needs_fts5", lambda _, plan: plan.asks_text)

            first = vault.search("ducks ponds", profile=profile, limit=10).ids[0]

            def ask(vault=vault, first=first):
                return vault.explain("ducks ponds", first, profile=profile, limit=10)

            (leg, *_) = ask().legs
            matches.append((leg.rank is not None, leg.of))
            # Background work may publish a snapshot between two of them.
            counts.append(min(steps.count(ask) for _ in range(5)))
            monkeypatch.undo()
    assert matches == [(True, 300), (True, 3_000)]
    assert counts[0] == counts[1]
    # FTS5 takes steps for each candidate, which are as many for any number of matches.
    assert ranked_by == "FTS5" or counts[0].calls <= MOST_CALLS_OF_EXPLAIN


def test_every_kind_of_search_has_limits(counted):
    assert counted.keys() == LIMITS.keys()


def test_the_counts_are_the_same_from_vault_to_vault(steps, counted, tmp_path):
    with steps.Searches(tmp_path / "vault.db") as other:
        assert other.steps() == counted


def test_the_counts_are_the_same_from_search_to_search(steps, searches, counted):
    for ask in (searches.text, searches.hybrid, searches.filtered):
        ask()
        assert len({steps.count(ask) for _ in range(20)}) == 1


def test_the_searches_that_are_counted_find_something(searches):
    for ask in (searches.text, searches.hybrid, searches.filtered):
        found = ask()
        assert len(found) == 10
        assert not found.notes
    assert {hit.domain for hit in searches.filtered()} == {"domain3"}
    searches.add()
    assert f"new{searches.added}" in searches.vault.search(f"brandnew{searches.added}").ids


def test_calls_and_switches_are_counted_as_they_are_defined(steps):
    def generator():
        yield 1
        yield 2

    def ask():
        list(generator())
        steps.plain("x", 1.0)

    counted = steps.count(ask)
    # The generator is entered three times, then `plain`, then the constructor that dataclasses generated.
    assert (counted.calls, counted.files, counted.switches, counted.modules, counted.native) == (5, 3, 2, 0, 0)


def test_functions_and_methods_of_the_native_module_are_counted(steps):
    from septet import _core

    index = _core.TermIndex()
    assert steps.count(lambda: (_core.words("two words"), len(index), index.append(["one"]), [].append(1))).native == 2


def test_counting_gives_back_the_profile_function_that_was_there(steps):
    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        steps.count(lambda: 1 / 0)
    assert sys.getprofile() is before
