import json

import pyarrow as pa
import pytest

SYSTEM = {"role": "system", "content": "Answer with a number."}


def _rows(**columns):
    """Three items, the second without an estimate; `columns` replace or add."""
    prompts = ["What is 1+1?", "Wie spät ist es?\nIn Zürich", 'say "hi"']
    chats = [[SYSTEM, {"role": "user", "content": prompt}] for prompt in prompts]
    table = {
        "item_id": ["bp-a", "bp-b", "bp-c"],
        "id": ["1", "007", None],
        "prompt": prompts,
        "messages": [json.dumps(chat) for chat in chats],
        "answer": ["2", "12:00", "hi"],
        "gold_source": ["label", "pool", "label"],
        "shortlist_id": pa.array(["sl-0001", None, "sl-0001"]),
        "audit": [False, False, True],
        "p_hat": [0.5, float("nan"), 0.0],
        "n_labels": [2, 0, 1],
        "verifier": ["math"] * 3,
        "model": ["tiny"] * 3,
        "topic": ["sums", "time", None],
    }
    return pa.table(table | columns)


@pytest.fixture(scope="session")
def rows_of():
    return _rows


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Read a file as users do, with `datasets.load_dataset`."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))

    def load(path):
        kind = {".jsonl": "json", ".parquet": "parquet"}[path.suffix]
        return datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))

    return load
