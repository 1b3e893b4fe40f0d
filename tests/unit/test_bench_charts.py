import importlib
import json
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

# Here, as it asks the system for its fonts in a process of its own.
pytest.importorskip("matplotlib.font_manager")

BENCHES = Path(__file__).parents[2] / "benches"
SVG = "{http://www.w3.org/2000/svg}"
FIGURE = "| {name} | {ours} | {theirs} | ms | {peer} | {ratio} | {bar} | {verdict} |\n"
HEAD = "# Figures\n\n- date: 2030-01-02\n- machine: Some(R) CPU, x86_64, 4 cores, 8 GiB, kernel avx2\n"


@pytest.fixture
def charting(monkeypatch):
    """Imports a module of `benches/`, and forgets it with the others."""
    monkeypatch.syspath_prepend(str(BENCHES))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("charting", "charts", "run", "race", "table", "peers", "vaults", "corpus"):
            del sys.modules[name]


def bars_of(charting, *bars, **options):
    module = charting("charting.rows")
    made = [module.Bar(*bar) for bar in bars]
    return ElementTree.fromstring(
        module.ratios("Title", "About", [module.Section("", made)], ("A note",), "Origin", **options)
    )


def filled(charting, svg, tag, kind):
    """Return the shapes of a tag that have a colour."""
    colour = f"fill: {charting('charting.canvas').COLOURS[kind]}"
    return [e for e in svg.iter(f"{SVG}{tag}") if colour in e.get("style", "")]


def ends(bar):
    """Return where a bar begins and ends, from the left to the right."""
    places = [float(x) for x in re.findall(r"[ML] ([\d.]+)", bar.get("d"))]
    return min(places), max(places)


def grid(charting, svg):
    colour = f"stroke: {charting('charting.canvas').COLOURS['grid']}"
    return [ends(e)[0] for e in svg.iter(f"{SVG}path") if colour in e.get("style", "")]


def words(svg):
    return [e.text for e in svg.iter(f"{SVG}text")]


def description_of(svg):
    """Return title, description and labels of a picture: their places differ between versions of matplotlib."""
    root = ElementTree.fromstring(svg)
    return [root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc"), *sorted(words(root))]


@pytest.mark.parametrize("name", sorted(path.stem for path in (BENCHES / "charts").glob("*.svg")))
def test_the_committed_charts_are_those_of_the_committed_figures(charting, name):
    quality = charting("charting.quality").QUALITY
    if name in quality:
        drawn = quality[name](json.loads((BENCHES / "EVAL.json").read_text(encoding="utf-8")))
    else:
        drawn = charting("charting.figures").CHARTS[name](charting("charting.report").read(BENCHES / "RESULTS.md"))
    committed = (BENCHES / "charts" / f"{name}.svg").read_text(encoding="utf-8")
    assert description_of(committed) == description_of(drawn), (
        f"{name}.svg is not that of the figures: run python benches/charts.py"
    )


def test_every_chart_is_committed(charting):
    names = {*charting("charting.figures").CHARTS, *charting("charting.quality").QUALITY}
    assert names == {path.stem for path in (BENCHES / "charts").glob("*.svg")}


def test_a_change_is_filled_where_its_interval_leaves_out_nothing_changed(charting):
    module = charting("charting.rows")
    rows = [module.Change("sure", -0.02, -0.03, -0.01), module.Change("unsure", -0.01, -0.03, 0.01)]
    svg = ElementTree.fromstring(module.changes("T", "A", [("H", 0.4, rows)], (), "O"))
    assert [len(filled(charting, svg, "use", kind)) for kind in ("ours", "theirs", "ground")] == [1, 0, 1]
    assert "0.380  −0.020" in words(svg)


def test_the_same_figures_are_drawn_alike_twice(charting):
    draw = charting("charting.figures").CHARTS["threads"]
    report = charting("charting.report").read(BENCHES / "RESULTS.md")
    assert draw(report) == draw(report)


def test_a_chart_whose_lines_are_not_in_the_report_is_taken_away_and_named(charting, tmp_path, capsys):
    results = tmp_path / "RESULTS.md"
    results.write_text(HEAD + "\n## Vectors\n", encoding="utf-8")
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "growth.svg").write_text("of an older run")
    charting("charts").write(charting("charting.report").read(results), tmp_path / "charts")
    assert list((tmp_path / "charts").iterdir()) == []
    assert "no growth.svg" in capsys.readouterr().out


def test_a_whole_run_reads_back_what_it_wrote(charting, tmp_path):
    table, read = charting("table"), charting("charting.report").read
    rows = [
        table.faster("a | b", 2.0, 3.0, "numpy", 2.0),
        table.at_most("limit", 1.0, 4.0),
        table.plain("told", 1234.0),
    ]
    path = tmp_path / "RESULTS.md"
    path.write_text(table.markdown([("Some", "How.", rows[1:])], ("quiet", "quiet"), "whole sizes"), encoding="utf-8")
    limit, told = read(path).section("Some")
    assert (limit.ours, limit.theirs, limit.limit, limit.missed) == (1.0, 4.0, True, False)
    assert told.ours == 1234.0
    assert math.isnan(told.theirs)
    assert not told.wanted


def test_what_the_run_judged_missed_is_missed_whatever_rounding_left(charting, tmp_path):
    path = tmp_path / "RESULTS.md"
    line = FIGURE.format(name="x", ours=1, theirs=3, peer="faiss", ratio="3.00", bar="3.00", verdict="NOT REACHED")
    path.write_text(f"{HEAD}\n## Some\n\n{line}", encoding="utf-8")
    assert charting("charting.report").read(path).section("Some")[0].missed


def test_the_origin_names_the_day_and_the_class_of_the_machine(charting, tmp_path):
    path = tmp_path / "RESULTS.md"
    path.write_text(HEAD, encoding="utf-8")
    assert charting("charting.report").read(path).origin == "2030-01-02 · Some CPU, 4 cores, AVX2 · benches/RESULTS.md"


def test_a_bar_is_as_long_as_the_logarithm_of_its_ratio(charting):
    svg = bars_of(charting, ("two", 2.0), ("four", 4.0), ("sixteen", 16.0))
    lengths = [end - start for start, end in map(ends, filled(charting, svg, "path", "ours"))]
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=0.02)
    assert lengths[2] == pytest.approx(4 * lengths[0], abs=0.02)


def test_a_ratio_below_one_goes_to_the_left_in_another_colour(charting):
    svg = bars_of(charting, ("faster", 2.0), ("slower", 0.5))
    [ours], [theirs] = (filled(charting, svg, "path", kind) for kind in ("ours", "theirs"))
    (start, end), (one, other) = ends(theirs), ends(ours)
    assert end == pytest.approx(one, abs=0.02)
    assert end - start == pytest.approx(other - one, abs=0.02)


def test_a_bar_that_did_not_reach_its_aim_is_marked_and_says_so(charting):
    svg = bars_of(charting, ("kept", 4.0, 3.0, False), ("missed", 2.0, 3.0, True), ("free", 5.0))
    assert [len(filled(charting, svg, "path", kind)) for kind in ("miss", "ours")] == [1, 2]
    assert "aim 3×" in words(svg)
    assert "aim 3×, not reached" in words(svg)
    assert "missed 2.00× (aim 3×, not reached)" in svg.find(f"{SVG}desc").text


def test_every_aim_missed_in_the_report_is_marked_in_a_chart(charting):
    report = charting("charting.report").read(BENCHES / "RESULTS.md")
    missed = {(f.section, f.name, f.bar) for f in report.figures if f.missed}
    marked = 0
    for name in ("vectors", "peers", "limits", "threads"):
        svg = ElementTree.parse(BENCHES / "charts" / f"{name}.svg").getroot()
        marked += len(filled(charting, svg, "path", "miss"))
    # Single searches beside a batch are no thread's, and the eight threads stand among the limits and the threads.
    twice = sum("times one thread on one core" in name for _, name, _ in missed)
    neither = sum(f.missed and f.peer == "single searches" for f in report.figures)
    assert marked == len(missed) + twice - neither


def test_labels_are_escaped(charting):
    svg = bars_of(charting, ("<b> & \"q\" 'a'", 2.0))
    assert "<b> & \"q\" 'a'" in words(svg)


def test_a_label_that_is_too_wide_is_cut_and_says_so(charting):
    svg = bars_of(charting, ("a name of a figure that is far too long for the room that there is beside its bar", 2.0))
    [label] = [text for text in words(svg) if text.startswith("a name")]
    assert label.endswith("…")
    assert len(label) > 30


def test_a_hundred_limits_are_still_a_small_chart(charting, tmp_path):
    figure = {"ours": 2, "theirs": 3, "peer": "limit: at most", "ratio": 1.5, "bar": 1, "verdict": "reached"}
    lines = "".join(FIGURE.format(name=f"a figure of some section, {i}", **figure) for i in range(5))
    path = tmp_path / "RESULTS.md"
    path.write_text(HEAD + "".join(f"\n## Section {i}\n\n{lines}" for i in range(20)), encoding="utf-8")
    drawn = charting("charting.figures").CHARTS["limits"](charting("charting.report").read(path))
    assert drawn.count(">2 of 3 ms<") == 100
    assert len(drawn.encode()) < 120_000


def test_limits_with_much_room_are_counted_and_not_drawn(charting, tmp_path):
    kinds = {"missed": (0.5, "NOT REACHED"), "close": (1.5, "reached"), "roomy": (4, "reached")}
    figure = {"ours": 2, "theirs": 3, "peer": "limit: at most", "bar": 1}
    lines = "".join(FIGURE.format(name=n, ratio=ratio, verdict=said, **figure) for n, (ratio, said) in kinds.items())
    path = tmp_path / "RESULTS.md"
    path.write_text(f"{HEAD}\n## A section\n\n{lines}", encoding="utf-8")
    drawn = charting("charting.figures").CHARTS["limits"](charting("charting.report").read(path))
    assert "missed" in drawn and "close" in drawn and "roomy" not in drawn
    assert "Not drawn: 1 limits" in drawn and "Of all 3 aims" in drawn


def test_a_whole_run_draws_its_charts_and_a_quick_one_does_not(charting, tmp_path, monkeypatch):
    run, charts = charting("run"), charting("charts")
    # No section is measured: a report without lines takes the charts of an older one away.
    monkeypatch.setattr(run, "SECTIONS", {})
    monkeypatch.setattr(run, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr(charts, "FOLDER", tmp_path)
    monkeypatch.setattr(charts, "QUALITY", {})
    (tmp_path / "growth.svg").write_text("of an older run")
    run.main(["--quick"])
    assert (tmp_path / "growth.svg").exists()
    run.main([])
    assert not (tmp_path / "growth.svg").exists()
    assert (tmp_path / "RESULTS.md").exists()


def test_a_speedup_is_as_long_as_its_value(charting):
    module = charting("charting.rows")
    svg = ElementTree.fromstring(module.speedups("T", "A", [module.Bar("a", 1.0), module.Bar("b", 2.0)], (), "O"))
    short, long = (end - start for start, end in map(ends, filled(charting, svg, "path", "ours")))
    assert long == pytest.approx(2 * short, abs=0.02)


def test_a_time_ten_times_as_long_is_one_line_of_the_grid_further(charting):
    module = charting("charting.rows")
    rows = [module.Time("Septet", 0.1, ours=True), module.Time("a", 1.0), module.Time("b", 10.0)]
    svg = ElementTree.fromstring(module.times("T", [module.Section("work", rows)], "ms", (), "O"))
    dots = [dot for kind in ("ours", "theirs") for dot in filled(charting, svg, "use", kind)]
    assert [float(dot.get("x")) for dot in dots] == pytest.approx(grid(charting, svg), abs=0.02)


@pytest.mark.parametrize(
    "value, told", [(0.0468, "0.0468"), (3, "3.00"), (27, "27.0"), (433.2, "433"), (1173, "1,173")]
)
def test_a_value_has_the_digits_of_the_table(charting, value, told):
    assert charting("charting.scales").rounded(value) == told


def test_a_colour_that_does_not_exist_is_no_class(charting):
    drawing = charting("charting.svg").Drawing(10, 10, "T", "D")
    with pytest.raises(ValueError, match="'blue-ish'"):
        drawing.rect(0, 0, 1, 1, "blue-ish")


def committed():
    return sorted([*(BENCHES / "charts").glob("*.svg"), *(BENCHES.parent / "docs" / "pictures").glob("*.svg")])


@pytest.mark.parametrize("path", committed(), ids=lambda path: path.name)
def test_a_committed_picture_is_small_described_and_loads_nothing(path):
    text = path.read_text(encoding="utf-8")
    svg = ElementTree.fromstring(text)
    assert len(text.encode()) < 80_000
    assert svg.find(f"{SVG}title").text
    assert len(svg.find(f"{SVG}desc").text) > 40
    assert "prefers-color-scheme:dark" in text
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not {e.tag for e in svg.iter()} & {f"{SVG}{tag}" for tag in ("script", "image", "foreignObject", "a")}


@pytest.mark.parametrize("path", committed(), ids=lambda path: path.name)
def test_nothing_of_a_committed_picture_is_outside_its_frame(path, charting):
    width_of = charting("charting.svg").width_of
    svg = ElementTree.parse(path).getroot()
    _, _, width, height = (float(part) for part in svg.get("viewBox").split())
    for label in svg.iter(f"{SVG}text"):
        style = label.get("style", "")
        size = float(label.get("font-size") or re.search(r"([\d.]+)px", style)[1])
        anchor = label.get("text-anchor") or re.search(r"text-anchor: (\w+)|$", style)[1]
        wide = width_of(label.text, size)
        x = float(label.get("x")) - wide * {"middle": 0.5, "end": 1}.get(anchor, 0)
        assert x >= 0, label.text
        assert x + wide <= width, label.text
        assert 0 < float(label.get("y")) < height, label.text
