"""`septet doctor --recall` compares searches by lists with exact ones, on vectors of the vault."""

from __future__ import annotations

import json

import numpy as np
import pytest

from commands import Commands
from septet import Vault
from septet.evaluation.measures import wilson
from septet.sqlite.snapshot import listed, maintenance

pytest.importorskip("typer")

DIMENSIONS = 16


@pytest.fixture(autouse=True)
def small_spaces_have_lists(monkeypatch):
    monkeypatch.setattr(maintenance, "LEAST_LISTED", 500)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return (
        rng.standard_normal((30, DIMENSIONS))[rng.integers(0, 30, 6_000)] + rng.standard_normal((6_000, DIMENSIONS)) / 2
    )


@pytest.fixture
def vault(tmp_path, rows):
    with Vault(tmp_path / "v.db") as new:
        new.add_many({"id": f"e{i}", "title": f"title {i}", "vector": row.tolist()} for i, row in enumerate(rows))
    return tmp_path / "v.db"


@pytest.fixture
def doctor(vault, monkeypatch):
    command = Commands(vault.parent, monkeypatch)

    def run(*arguments):
        code, output, errors = command("doctor", "--offline", "--json", "--vault", str(vault), *arguments)
        assert "Traceback" not in errors, errors
        return code, json.loads(output)["checks"]

    return run


def optimized(vault):
    with Vault(vault) as opened:
        opened.optimize()


def test_the_recall_of_lists_is_measured_with_an_interval(vault, doctor):
    optimized(vault)
    code, checks = doctor("--recall", "60")
    check = checks["recall"]
    assert (code, check["state"], check["wanted"]) == (0, "ok", 0.99)
    (space,) = check["spaces"]
    assert (space["dimensions"], space["vectors"], space["queries"]) == (DIMENSIONS, 6_000, 60)
    assert space["lists"] > 10
    assert 0.9 < space["low"] < space["recall"] <= space["high"] <= 1
    assert 0 <= space["certain"] <= 1
    assert f"{space['recall']:.4f}" in check["said"]
    assert "of the answers are certain" in check["said"]


def test_removed_vectors_are_neither_searched_for_nor_found(vault, doctor):
    optimized(vault)
    with Vault(vault) as opened:
        opened.delete([f"e{number}" for number in range(2_000)])
        opened.add_many(
            {"id": f"new{i}", "title": "new", "vector": [1.0, i] + [0.5] * (DIMENSIONS - 2)} for i in range(50)
        )
    _, checks = doctor("--recall", "4000")
    (space,) = checks["recall"]["spaces"]
    assert (space["vectors"], space["queries"]) == (4_050, 4_000)
    assert space["recall"] > 0.9


def test_a_vault_without_lists_is_no_fault(vault, doctor, monkeypatch):
    code, checks = doctor("--recall", "20")
    check = checks["recall"]
    assert (code, check["state"]) == (0, "none")
    assert "has no lists, so searches are exact; `septet optimize` makes them" in check["said"]
    assert check["spaces"][0]["recall"] is None


def test_a_small_vault_is_told_nothing_to_do(tmp_path, doctor, vault):
    with Vault(vault) as opened:
        opened.delete([f"e{number}" for number in range(5_900)])
    _, checks = doctor("--recall", "20")
    assert checks["recall"]["said"].endswith("searches are exact")


def test_too_low_a_recall_is_a_fault_that_new_lists_mend(vault, doctor, monkeypatch):
    optimized(vault)
    measured = listed._measured

    def poor(*arguments):
        recall = measured(*arguments)
        return recall._replace(hits=recall.nearest // 2)

    with monkeypatch.context() as bad:
        bad.setattr(listed, "_measured", poor)
        code, checks = doctor("--recall", "20")
    assert (code, checks["recall"]["state"], checks["recall"]["cure"]) == (3, "fault", "make new lists")
    assert doctor("--recall", "20", "--fix")[0] == 0


def test_without_the_option_nothing_is_measured(vault, doctor):
    optimized(vault)
    assert "recall" not in doctor()[1]


def test_a_vault_without_vectors_or_without_a_file_is_no_fault(tmp_path, vault, doctor):
    with Vault(vault) as opened:
        opened.delete([f"e{number}" for number in range(6_000)])
        opened.purge()
    assert doctor("--recall", "20")[1]["recall"]["state"] == "none"
    vault.unlink()
    code, checks = doctor("--recall", "20")
    assert (code, checks["recall"]["said"]) == (0, "not measured: there is no vault")


def test_intervals_are_those_of_wilson():
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(20, 20)[1] == 1.0


def test_nothing_is_measured_where_one_vector_is_left(vault, doctor):
    optimized(vault)
    with Vault(vault) as opened:
        opened.delete([f"e{i}" for i in range(1, 6_000)])
    code, checks = doctor("--recall", "60")
    assert code == 0
    assert checks["recall"]["state"] == "none"
    assert "no second vector" in checks["recall"]["said"]
    assert [space["recall"] for space in checks["recall"]["spaces"]] == [None]
