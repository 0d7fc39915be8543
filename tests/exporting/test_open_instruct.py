import json

import pytest

from budgetplan.exporting import open_instruct


def cut_up_to_v2(messages):
    return messages if len(messages) == 1 else messages[:-1]


def cut_since_v3(messages):
    return messages[:-1] if len(messages) > 1 and messages[-1]["role"] == "assistant" else messages


@pytest.mark.parametrize("cut", [cut_up_to_v2, cut_since_v3])
@pytest.mark.parametrize("roles", [["user"], ["system", "user"], ["user", "assistant", "user"]])
def test_the_prompt_stays_whole_whichever_end_is_cut_off(rows_of, loaded, tmp_path, cut, roles):
    chat = [{"role": role, "content": f"turn {place}"} for place, role in enumerate(roles)]
    open_instruct.write(rows_of(messages=[json.dumps(chat)] * 3), tmp_path / "train.parquet")
    assert cut(loaded(tmp_path / "train.parquet")["messages"][0]) == chat


@pytest.mark.parametrize("name", ["train.jsonl", "train.parquet"])
def test_ground_truth_verifier_and_all_other_columns(rows_of, loaded, tmp_path, name):
    rows = rows_of(tools=["hammer"] * 3, dataset=["mine"] * 3)
    open_instruct.write(rows, tmp_path / name)
    read = loaded(tmp_path / name)
    assert read.column_names[:3] == ["messages", "ground_truth", "dataset"]
    assert list(read["ground_truth"]) == ["2", "12:00", "hi"]
    assert list(read["dataset"]) == ["math"] * 3
    assert (read[0]["user_tools"], read[0]["user_dataset"]) == ("hammer", "mine")
    assert "tools" not in read.column_names
    for column in ("item_id", "prompt", "audit", "topic", "p_hat"):
        assert [str(value) for value in read[column]] == [
            "None" if str(value) == "nan" else str(value) for value in rows[column].to_pylist()
        ]
