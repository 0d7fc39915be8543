import json
from datetime import date

import pyarrow as pa
import pytest

from budgetplan.annotation.landing import landing
from budgetplan.annotation.manifest import write_manifest


def written(settings, items, path):
    with landing(path) as (file,):
        write_manifest(settings, items, file)
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)


def test_settings_and_items_as_plain_json(tmp_path):
    items = pa.table({"item_id": ["bp-a", "bp-b"], "rank": [1, 2], "p_hat": [0.0, float("nan")], "cost": [0.7, None]})
    settings = {
        "shortlist_id": "sl-0007",
        "budget": "10%",
        "solver": {"status": "optimal", "gap": float("inf")},
        "exclude": ["split=test", float("nan")],
    }
    path = tmp_path / "shortlist.manifest.json"
    assert written(settings, items.slice(0, 0), path)["items"] == []
    assert written(settings, items, path) == {
        "format_version": 1,
        "shortlist_id": "sl-0007",
        "budget": "10%",
        "solver": {"status": "optimal", "gap": None},
        "exclude": ["split=test", None],
        "items": [
            {"item_id": "bp-a", "rank": 1, "p_hat": 0.0, "cost": 0.7},
            {"item_id": "bp-b", "rank": 2, "p_hat": None, "cost": None},
        ],
    }


def test_a_manifest_of_many_batches_is_one_document(tmp_path):
    items = pa.table({"item_id": [f"bp-{i}" for i in range(10_000)]})
    document = written({"created": date(2026, 1, 2)}, items, tmp_path / "m.json")
    assert [item["item_id"] for item in document["items"]] == items["item_id"].to_pylist()
    assert document["created"] == "2026-01-02"
