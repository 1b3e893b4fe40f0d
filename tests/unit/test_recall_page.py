"""docs/recall.md names every setting of a recall, with its default."""

from pathlib import Path

from pydantic.alias_generators import to_camel

from septet.retrieval.recall.settings import RecallSettings, SourceSettings

PAGE = (Path(__file__).parents[2] / "docs" / "recall.md").read_text(encoding="utf-8")
ROWS = {
    cells[0].strip("`"): cells[1:]
    for line in PAGE.splitlines()
    if line.startswith("| `")
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}


def leaves(block, path=""):
    for name, value in block.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def as_written(value):
    if isinstance(value, bool) or value is None:
        return "none" if value is None else str(value).lower()
    return value if isinstance(value, str) else f"{value:.10g}"


def test_every_setting_is_on_the_page_with_its_default():
    block = RecallSettings().model_dump(by_alias=True)
    del block["sources"]
    told = {name: cells[0] for name, cells in ROWS.items() if len(cells) == 3}
    assert told == {name: as_written(value) for name, value in leaves(block)}


def test_every_field_of_a_source_is_on_the_page():
    assert [name for name, cells in ROWS.items() if len(cells) == 2] == [*map(to_camel, SourceSettings.model_fields)]
    for name, field in SourceSettings.model_fields.items():
        if isinstance(field.default, (int, float, str)) and not field.is_required():
            assert ROWS[to_camel(name)][0] == as_written(field.default)
