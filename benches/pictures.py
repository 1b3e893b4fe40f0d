"""The pictures of docs/concepts.

python benches/pictures.py [--draw] [--vault FILE] [--collection FOLDER]

Runs what the pictures show, keeps the numbers in benches/PICTURES.json, and draws docs/pictures from them; with --draw
it draws only. FILE keeps the vault of the standard library's documentation from one run to the next: its vectors take
minutes. FOLDER (default: $SEPTET_DATA/data/cranfield) is the collection of `evaluate.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from picturing.draw import PICTURES

HERE = Path(__file__).parent
NUMBERS, FOLDER = HERE / "PICTURES.json", HERE.parent / "docs" / "pictures"


def main(arguments: Sequence[str] | None = None) -> None:
    default = Path(os.environ.get("SEPTET_DATA", HERE.parents[1] / "shared")) / "data" / "cranfield"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--vault", type=Path, help="where the vault is kept")
    parser.add_argument("--collection", type=Path, default=default)
    options = parser.parse_args(arguments)
    if not options.draw:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(options.vault or Path(folder) / "library.db", options.collection)
        NUMBERS.write_text(json.dumps(found) + "\n", encoding="utf-8")
        print(f"wrote {NUMBERS.name}")
    write(json.loads(NUMBERS.read_text(encoding="utf-8")), FOLDER)


def measured(path: Path, collection: Path) -> dict[str, Any]:
    import septet
    from picturing.measured import confidence, explained, library, road
    from table import processor

    events: list[Any] = []
    with library(path, events) as vault:
        found = {"road": road(vault, events), "hit": explained(vault)}
    cpu = processor().replace("(R)", "").replace(" Processor", "")
    return {
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "version": septet.__version__,
        "machine": f"{cpu}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **found,
        "confidence": confidence(collection),
    }


def write(found: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw(found), encoding="utf-8")
        print(f"wrote {name}.svg")


if __name__ == "__main__":
    main()
