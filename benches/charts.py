"""Draw the charts of the last runs.

python benches/charts.py [--results FILE] [--out FOLDER]

Reads benches/RESULTS.md, of `make bench`, and benches/EVAL.json, of `make eval`, and measures nothing. A chart whose
lines are not in the report is not drawn, and named.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from charting.figures import CHARTS
from charting.quality import QUALITY
from charting.report import MissingFigure, Report, read

HERE = Path(__file__).parent
RESULTS, EVAL, FOLDER = HERE / "RESULTS.md", HERE / "EVAL.json", HERE / "charts"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a report of `make bench`")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the charts go")
    options = parser.parse_args(arguments)
    write(read(options.results), options.out)
    write_quality(options.out)


def write(report: Report, folder: Path) -> None:
    """Write every chart that the report has the lines for, and take away those it has not."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in CHARTS.items():
        file = folder / f"{name}.svg"
        try:
            drawn = draw(report)
        except MissingFigure as missing:
            file.unlink(missing_ok=True)
            print(f"no {file.name}: {missing}")
            continue
        file.write_text(drawn, encoding="utf-8")
        print(f"wrote {file.name}")


def write_quality(folder: Path) -> None:
    """Write the charts of the quality of ranking."""
    found = json.loads(EVAL.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in QUALITY.items():
        (folder / f"{name}.svg").write_text(draw(found), encoding="utf-8")
        print(f"wrote {name}.svg")


if __name__ == "__main__":
    main()
