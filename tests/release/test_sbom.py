"""The bill of materials tells nothing about where and when it was made."""

import json

from release.sbom import Runtime, settled

STD = Runtime("rust-std", "1.95.0", "MIT OR Apache-2.0")


def bill_made_in(folder, *, serial, at):
    root, core = (f"path+file://{folder}/rust/{name}@0.1.0" for name in ("binding#septet", "core#septet-core"))
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "serialNumber": f"urn:uuid:{serial}",
            "metadata": {
                "timestamp": at,
                "component": {
                    "bom-ref": root,
                    "purl": "pkg:cargo/septet@0.1.0?download_url=file://.",
                    "components": [{"purl": "pkg:cargo/septet@0.1.0?download_url=file://.#src/lib.rs"}],
                },
            },
            "components": [
                {"name": "regex", "version": "1.13.1"},
                {
                    "name": "septet-core",
                    "version": "0.1.0",
                    "bom-ref": core,
                    "purl": f"pkg:cargo/septet-core@0.1.0?download_url=file://{folder}/rust/core",
                },
            ],
            "dependencies": [{"ref": root, "dependsOn": [core]}],
        }
    ).encode()


def test_two_builds_of_one_source_have_one_bill():
    here = settled(bill_made_in("/here/septet", serial="1-2", at="2026-01-01T10:00:00Z"), [STD], 1_700_000_000)
    there = settled(bill_made_in("/far/away/s", serial="3-4", at="2026-02-02T20:00:00Z"), [STD], 1_700_000_000)
    assert here == there
    assert b"file://" not in here
    assert b"2023-11-14T22:13:20Z" in here


def test_another_content_has_another_serial_number():
    bill = bill_made_in("/here", serial="1-2", at="")
    numbers = {json.loads(settled(bill, parts, 1_700_000_000))["serialNumber"] for parts in ([], [STD])}
    assert len(numbers) == 2


def test_references_stay_whole():
    bill = json.loads(settled(bill_made_in("/here", serial="1-2", at=""), [STD], 1_700_000_000))
    assert bill["dependencies"][0]["ref"] == bill["metadata"]["component"]["bom-ref"] == "path:septet@0.1.0"
    assert bill["dependencies"][0]["dependsOn"] == [bill["components"][1]["bom-ref"]] == ["path:septet-core@0.1.0"]


def test_what_the_toolchain_links_is_named():
    bill = json.loads(settled(bill_made_in("/here", serial="1-2", at=""), [STD], 1_700_000_000))
    assert {c["name"] for c in bill["components"]} == {"regex", "rust-std", "septet-core"}
