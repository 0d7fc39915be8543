import pyarrow.parquet as pq

from budgetplan.exporting import verl


def test_the_five_fields_of_verl(rows_of, loaded, tmp_path):
    verl.write(rows_of(), tmp_path / "train.parquet")
    read = loaded(tmp_path / "train.parquet")
    assert read.column_names == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
    first = read[0]
    assert first["data_source"] == "budgetplan/math"
    assert first["ability"] == "math"
    assert first["reward_model"] == {"style": "rule", "ground_truth": "2"}
    assert first["prompt"] == [
        {"role": "system", "content": "Answer with a number."},
        {"role": "user", "content": "What is 1+1?"},
    ]
    assert first["extra_info"] == {
        "index": 0,
        "split": "train",
        "item_id": "bp-a",
        "id": "1",
        "gold_source": "label",
        "shortlist_id": "sl-0001",
        "audit": False,
        "p_hat": 0.5,
        "n_labels": 2,
        "verifier": "math",
        "model": "tiny",
        "topic": "sums",
    }
    assert [extra["index"] for extra in read["extra_info"]] == [0, 1, 2]
    assert read["extra_info"][1]["p_hat"] is None


def test_the_users_columns_do_not_pass_for_arguments_of_tools(rows_of, tmp_path):
    verl.write(rows_of(index=["i"] * 3, tools_kwargs=["t"] * 3), tmp_path / "train.jsonl")
    extra = pq.read_table(tmp_path / "train.jsonl")["extra_info"][0].as_py()
    assert (extra["index"], extra["user_index"], extra["user_tools_kwargs"]) == (0, "i", "t")
    assert "tools_kwargs" not in extra
