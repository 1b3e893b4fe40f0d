import importlib
import itertools
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

# Here, as it asks the system for its fonts in a process of its own.
pytest.importorskip("matplotlib.font_manager")

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def module(monkeypatch):
    """Imports a module of `benches/`, and forgets it with the others."""
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("charting", "picturing", "pictures"):
            del sys.modules[name]


@pytest.fixture
def found():
    return json.loads((ROOT / "benches" / "PICTURES.json").read_text(encoding="utf-8"))


def drawn(svg, tag, *kinds):
    return [e for e in ElementTree.fromstring(svg).iter(f"{SVG}{tag}") if e.get("class") in kinds]


def test_the_committed_pictures_are_those_of_the_committed_numbers(module, found):
    pictures = module("picturing.draw").PICTURES
    assert sorted(pictures) == sorted(path.stem for path in (ROOT / "docs" / "pictures").glob("*.svg"))
    for name, draw in pictures.items():
        committed = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        drawn = draw(found)
        if name == "least-confidence":
            # Where matplotlib draws depends on its version.
            committed, drawn = (ElementTree.fromstring(svg).findtext(f"{SVG}desc") for svg in (committed, drawn))
        assert committed == drawn, f"{name}.svg is not that of PICTURES.json: run benches/pictures.py --draw"


def test_the_floors_of_the_house_are_the_layers_of_the_architecture(module):
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## Layers")[2].partition("\n## ")[0]
    told = re.findall(r"[a-z_.]+", " ".join(re.findall(r"`([a-z_. \n]+)`", section.partition("Inside")[0])))
    drawn = [name for _, _, packages in module("picturing.house").FLOORS for name in packages]
    # Of the values only some are named.
    values = told[: told.index("ranking")]
    assert set(drawn[-len(module("picturing.house").FLOORS[-1][2]) :]) <= set(values)
    floors = [name for name in told[len(values) :] if name not in ("types", "import_module")]
    assert sorted(drawn[: -len(module("picturing.house").FLOORS[-1][2])]) == sorted(floors)
    for above, below in itertools.pairwise(drawn):
        assert told.index(above) >= told.index(below) or floor_of(above, section) == floor_of(below, section), above


def floor_of(name, section):
    """The place of a layer in the order that the architecture gives: those between two arrows share it."""
    parts = section.partition("Inside")[0].split("←")
    return next(i for i, part in enumerate(parts) if re.search(rf"\b{name}\b", part))


def test_every_hit_is_as_long_as_its_score(module, found):
    kinds = module("picturing.hit").KINDS
    bars = [e for e in drawn(module("picturing.hit").hit(found), "rect", *kinds.values()) if e.get("height") == "21"]
    by_hit = {}
    for bar in bars:
        by_hit.setdefault(float(bar.get("y")), []).append(float(bar.get("width")) + 1)
    scale = 688 - 196
    scores = [hit["score"] for hit in found["hit"]["hits"]]
    assert [sum(widths) / scale for _, widths in sorted(by_hit.items())] == pytest.approx(scores, abs=2e-3)


def test_the_parts_of_a_hit_sum_to_its_score_and_are_weight_times_signal(found):
    for hit in found["hit"]["hits"]:
        assert sum(hit["parts"].values()) == pytest.approx(hit["score"], abs=5e-4)
    first, weights, signals = found["hit"]["hits"][0], found["hit"]["weights"], found["hit"]["signals"]
    for name, part in first["parts"].items():
        # What only lowers the score of neighbours has no weight, and the first is none.
        assert part == pytest.approx(weights.get(name, 0) * (signals[name] or 0), abs=2e-4)


def test_the_area_is_the_share_of_pairs_in_order(module):
    area = module("picturing.confidence").area
    assert area([0.9, 0.8], [0.1, 0.2]) == 1
    assert area([0.1], [0.9]) == 0
    assert area([0.5, 0.9], [0.5, 0.5]) == 0.75


def test_a_bar_of_a_distribution_is_as_high_as_its_share(module):
    shares = module("picturing.confidence").shares
    assert sum(shares([0.0, 0.5, 0.99, 1.0])) == 1
    assert shares([0.99, 1.0, 0.0, 0.5])[-1] == 0.5


def test_the_road_has_a_bar_for_every_stage_as_long_as_its_milliseconds(module, found):
    bars = [float(e.get("width")) for e in drawn(module("picturing.road").road(found), "rect", "ours")]
    # The time of the model is not to scale, and has a colour of its own.
    ms = [value for name, value in found["road"]["ms"].items() if name != "embed"]
    longest = max(ms)
    assert len(bars) == len(ms)
    assert sorted(bar / max(bars) for bar in bars) == pytest.approx(sorted(one / longest for one in ms), abs=0.01)
