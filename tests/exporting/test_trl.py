import json

import pytest
from tiny_models import build_tiny_model, byte_tokenizer

from budgetplan.exporting import trl
from budgetplan.verifying.reward import as_reward


@pytest.mark.parametrize("name", ["train.jsonl", "train.parquet"])
def test_datasets_reads_back_every_column(rows_of, loaded, tmp_path, name):
    rows = rows_of()
    trl.write(rows, tmp_path / name)
    read = loaded(tmp_path / name)
    assert read.column_names[:2] == ["prompt", "answer"]
    assert read["prompt"][1] == json.loads(rows["messages"][1].as_py())
    assert list(read["answer"]) == ["2", "12:00", "hi"]
    assert list(read["p_hat"]) == [0.5, None, 0.0]
    assert list(read["id"]) == ["1", "007", None]
    for column in ("item_id", "gold_source", "shortlist_id", "audit", "n_labels", "verifier", "model", "topic"):
        assert list(read[column]) == rows[column].to_pylist()


def test_columns_that_the_trainer_fills_in_itself_are_set_apart(rows_of):
    three = ["x", "y", "z"]
    table = trl.conversational(rows_of(images=three, completions=three, user_images=["kept"] * 3))
    assert table["user_user_images"].to_pylist() == table["user_completions"].to_pylist() == three
    assert table["user_images"].to_pylist() == ["kept"] * 3
    assert not {"images", "completions", "messages"} & set(table.column_names)


def test_trl_takes_the_prompt_for_a_chat(rows_of, loaded, tmp_path):
    from trl.data_utils import is_conversational, maybe_apply_chat_template

    trl.write(rows_of(), tmp_path / "train.jsonl")
    row = loaded(tmp_path / "train.jsonl")[0]
    assert is_conversational(row)
    rendered = maybe_apply_chat_template({"prompt": row["prompt"]}, byte_tokenizer(chat_template=True))["prompt"]
    assert rendered.startswith("<|im_start|>system\nAnswer with a number.<|im_end|>\n<|im_start|>user\nWhat is 1+1?")
    assert rendered.endswith("<|im_start|>assistant\n")


@pytest.mark.slow
def test_the_trainer_trains_on_it_and_hands_the_columns_to_the_verifier(rows_of, loaded, tmp_path):
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    rows = rows_of(images=["a", "b", "c"], completions=["x", "y", "z"])
    trl.write(rows, tmp_path / "train.parquet")
    model = build_tiny_model(tmp_path / "model", "qwen3", chat_template=True)
    math, calls = as_reward("math"), []

    def reward(completions, answer, **columns):
        calls.append({"answer": answer, **columns})
        return math(completions, answer, **columns)

    trainer = GRPOTrainer(
        model=str(model),
        reward_funcs=reward,
        args=GRPOConfig(
            output_dir=str(tmp_path / "out"),
            max_steps=1,
            num_generations=2,
            per_device_train_batch_size=6,
            max_completion_length=4,
            use_cpu=True,
            bf16=False,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=loaded(tmp_path / "train.parquet"),
        processing_class=AutoTokenizer.from_pretrained(model),
    )
    trainer.train()
    given = {(item, *rest) for call in calls for item, *rest in zip(*(call[name] for name in GIVEN), strict=True)}
    assert given == set(zip(*(rows[name].to_pylist() for name in HAD), strict=True))


GIVEN = ("item_id", "answer", "topic", "user_images", "user_completions")
HAD = ("item_id", "answer", "topic", "images", "completions")
