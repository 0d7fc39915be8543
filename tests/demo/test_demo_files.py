import json

from budgetplan.demo.files import demo_model_path, write_demo_pool
from budgetplan.demo.task import make_pool


def test_the_pool_file_holds_the_pool_and_replaces_an_older_one(tmp_path):
    path = tmp_path / "pool.jsonl"
    path.write_text("older")
    assert write_demo_pool(path, n=50, seed=1) == path
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows == make_pool(50, seed=1)
    assert list(rows[0]) == ["id", "prompt", "answer", "n_moves", "split"]
    assert [file.name for file in tmp_path.iterdir()] == ["pool.jsonl"]


def test_the_pool_has_a_thousand_items_and_its_bytes_never_change(tmp_path):
    first, second = write_demo_pool(tmp_path / "a.jsonl"), write_demo_pool(tmp_path / "b.jsonl")
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().count(b"\n") == 1000


def test_the_shipped_model_is_whole_and_small():
    files = {path.name: path.stat().st_size for path in demo_model_path().iterdir()}
    assert {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"} <= set(files)
    assert sum(files.values()) < 4_000_000
