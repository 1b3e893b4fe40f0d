"""A memory of another program is asked first; while it fails the vault behind it answers, and says so."""

import re
import sys
import threading

import pytest

from septet import Federation, QueryError, StoreError, Vault
from septet.client import ExternalFirst

FOUND = [
    {"id": "x1", "title": "Rotate the keys", "description": "Every quarter we rotate keys.", "score": 0.9},
    {"id": "x2", "title": "Keys of the team", "span": {"path": "a.md", "first_line": 5, "last_line": 20}, "score": 0.4},
]


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add_many({"id": f"v{n}", "title": f"rotate crops {n}", "domain": "farm"} for n in range(12))
        yield made


class Other:
    """A memory that fails while it is told to."""

    def __init__(self, found=FOUND):
        self.found, self.fault, self.asked = found, None, []

    def __call__(self, query, limit):
        self.asked.append((query, limit))
        if self.fault is not None:
            raise self.fault
        return self.found


def test_while_it_answers_its_results_are_those_of_the_search(vault):
    other = Other()
    memory = ExternalFirst(other, vault, name="qmd")
    results = memory.search("rotate keys", limit=5)
    assert results.ids == ["x1", "x2"] and [hit.score for hit in results] == [0.9, 0.4]
    assert other.asked == [("rotate keys", 5)] and memory.fault is None
    assert not results.notes and not results.degraded
    assert {hit.tier for hit in results} == {"qmd"} and [tier.name for tier in results.tiers] == ["qmd"]
    assert results[1].citation == "a.md#L5-L20" and "rotate keys" in results[0].excerpt()
    assert "x1" in results.to_prompt(boundary="abcdefgh")
    assert len(vault) == 12


@pytest.mark.parametrize("count", [0, 1, 2, 9, 10, 11, 500])
@pytest.mark.parametrize("limit", [None, 1, 2, 10, 100])
def test_it_gives_as_many_as_are_asked_for_each_id_once_in_its_own_order(vault, count, limit):
    def ask(query, most):
        yield from ({"id": f"x{n // 2}", "title": f"result {n}"} for n in range(count))

    found = ExternalFirst(ask, vault).search("rotate", limit=limit)
    assert found.ids == [f"x{n}" for n in range((min(count, limit or 10) + 1) // 2)]
    assert all(0 < hit.score <= 1 for hit in found) and not found.notes


@pytest.mark.parametrize("profile", ["septet", "six-signals", "markdown-memory"])
def test_what_a_profile_of_the_vault_cuts_at_does_not_cut_scores_of_another_scale(profile):
    found = [{"id": f"x{n}", "title": f"Keys {n}", "score": 2.0 - n} for n in range(5)]
    with Vault(":memory:", profile=profile) as vault:
        assert ExternalFirst(Other(found), vault).search("keys").ids == ["x0", "x1", "x2", "x3", "x4"]
        without = [{"id": f"x{n}", "title": f"Keys {n}"} for n in range(5)]
        assert len(ExternalFirst(Other(without), vault).search("keys")) == 5
        assert ExternalFirst(Other(found), vault).search("keys", min_score=-1.0).ids == ["x0", "x1", "x2", "x3"]


def test_scores_under_the_least_are_left_out_and_scans_are_light(vault):
    memory = ExternalFirst(Other(), vault)
    assert memory.search("keys", min_score=0.5).ids == ["x1"]
    assert [hit.entry for hit in memory.search("keys", mode="scan")] == [None, None]


def endless(query, limit):
    while True:
        yield {"title": "again and again"}


WRONG = {
    "None": lambda q, n: None,
    "a text": lambda q, n: "rotate",
    "one dict": lambda q, n: {"title": "t"},
    "a number": lambda q, n: [1],
    "no title": lambda q, n: [{"id": "a"}],
    "an unknown field": lambda q, n: [{"title": "t", "file": "a.md"}],
    "a score of text": lambda q, n: [{"title": "t", "score": "high"}],
    "no finite score": lambda q, n: [{"title": "t", "score": float("nan")}],
    "raises": lambda q, n: 1 // 0,
    "raises later": lambda q, n: (1 // (n - n) for _ in "x"),
    "an exit": lambda q, n: sys.modules[__name__].leave(),
    "hangs": lambda q, n: threading.Event().wait(5),
}


def leave():
    raise RuntimeError(b"\xff\x1b[31m")


@pytest.mark.parametrize("kind", WRONG)
def test_whatever_goes_wrong_the_vault_answers_and_says_why(vault, kind):
    memory = ExternalFirst(WRONG[kind], vault, name="qmd", timeout_s=0.2, rest_s=60)
    alone = vault.search("rotate crops 7", limit=4)
    for said in ("qmd ", "; it is paused"):
        results = memory.search("rotate crops 7", limit=4)
        assert (results.ids, results.degraded) == (alone.ids, True)
        (note,) = [note for note in results.notes if note not in alone.notes]
        assert (note.code, note.tier) == ("external_failed", "qmd") and said in note.cause and note.cause.isprintable()
        assert [(tier.name, bool(tier.error)) for tier in results.tiers] == [("qmd", True), ("vault", False)]
    assert memory.fault and memory.fault.startswith("qmd ")


def test_an_endless_answer_is_cut_at_the_limit(vault):
    assert len(ExternalFirst(endless, vault).search("again", limit=3)) == 1


def test_while_it_rests_it_is_not_asked_and_afterwards_it_is(vault):
    other = Other()
    other.fault = OSError("connection refused")
    resting = ExternalFirst(other, vault, rest_s=60)
    for _ in range(5):
        assert "connection refused" in resting.search("rotate").notes[0].cause
    assert len(other.asked) == 1
    awake = ExternalFirst(other, vault, rest_s=0)
    for _ in range(3):
        assert awake.search("rotate").notes[0].code == "external_failed"
    assert len(other.asked) == 4 and "connection refused" in awake.fault
    other.fault = None
    assert awake.search("rotate").ids == ["x1", "x2"] and awake.fault is None


@pytest.mark.parametrize(
    "option",
    [
        {"where": {"domain": "farm"}},
        {"domain": "farm"},
        {"offset": 1},
        {"words": {"must": "crops"}},
        {"max_tokens": 50},
    ],
)
def test_no_filter_is_ever_passed_over(vault, option):
    other = Other()
    memory = ExternalFirst(other, vault)
    results = memory.search("rotate", **option)
    assert results.ids == vault.search("rotate", **option).ids and other.asked == []
    assert results.notes[0].code == "external_failed" and next(iter(option)) in results.notes[0].cause
    # It has not failed: the next search asks it.
    assert memory.fault is None and memory.search("rotate", offset=0, where=None, syntax="plain").ids == ["x1", "x2"]


def test_an_invalid_search_raises_whoever_would_answer(vault):
    other = Other()
    for wrong in ({"limit": -1}, {"mode": "half"}, {"min_score": "high"}, {"timeout_s": 0}):
        with pytest.raises(QueryError):
            ExternalFirst(other, vault).search("rotate", **wrong)
    with pytest.raises(TypeError):
        ExternalFirst(other, vault).search("rotate", limits=3)
    for arguments in ((None, vault), (other, None), (other, "v.db")):
        with pytest.raises(QueryError):
            ExternalFirst(*arguments)
    with pytest.raises(QueryError):
        ExternalFirst(other, vault, timeout_s=0)
    assert other.asked == [] and not ExternalFirst(other, vault).search(" ").hits


def test_the_time_limit_of_a_search_leaves_half_for_the_vault(vault):
    release = threading.Event()
    memory = ExternalFirst(lambda query, limit: release.wait(20) and [], vault, timeout_s=30)
    results = memory.search("rotate crops 3", timeout_s=0.4)
    release.set()
    assert results.ids == vault.search("rotate crops 3").ids and re.search(
        r"no answer within 0\.[12]\d* s", results.notes[0].cause
    )


def test_a_federation_may_stand_behind_and_another_vault_in_front(vault):
    with Vault(":memory:") as far:
        far.add(id="far", title="rotate the keys of a far vault")
        memory = ExternalFirst(
            lambda query, limit: far.search(query, limit=limit), Federation({"near": vault}), name="far"
        )
        (hit,) = memory.search("rotate keys").hits
        assert (hit.id, hit.tier, hit.entry.title) == ("far", "far", "rotate the keys of a far vault")
    # It is closed now.
    results = memory.search("rotate crops 5")
    assert results[0].tier == "near" and "Closed" in results.notes[0].cause


def test_where_both_fail_the_error_names_both_reasons(tmp_path):
    other = Other()
    other.fault = OSError("connection refused")
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add(title="rotate")
    vault = Vault(path)
    memory = ExternalFirst(other, vault, name="qmd")
    vault.close()
    with pytest.raises(StoreError, match=r"qmd raised OSError: connection refused; the vault failed too: .*closed"):
        memory.search("rotate")
