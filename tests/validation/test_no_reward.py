"""What the installed TRL makes of a sample without a reward: that errors are never wrong answers leans on it."""

import pandas as pd
import pytest
from datasets import Dataset


@pytest.fixture
def advantages(tiny_model, tmp_path):
    """Train one update on groups of four with scripted rewards, and return TRL's own table of it."""
    from trl import GRPOConfig, GRPOTrainer

    def run(*rewards, scale_rewards="none"):
        arguments = GRPOConfig(
            output_dir=str(tmp_path),
            max_steps=1,
            per_device_train_batch_size=len(rewards),
            num_generations=4,
            max_completion_length=4,
            scale_rewards=scale_rewards,
            shuffle_dataset=False,
            log_completions=True,
            num_completions_to_print=1,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
        )
        data = Dataset.from_dict({"prompt": [f"Count to {index}." for index in range(len(rewards) // 4)]})
        trainer = GRPOTrainer(
            model=str(tiny_model("qwen3")), reward_funcs=lambda **_: list(rewards), args=arguments, train_dataset=data
        )
        trainer.train()
        return pd.read_parquet(tmp_path / "completions" / "completions_00001.parquet")["advantage"].tolist()

    return run


def test_none_is_left_out_of_the_groups_mean_and_moves_nothing(advantages):
    mixed = advantages(1.0, None, 0.0, 1.0, None, None, None, None)
    assert mixed[:4] == pytest.approx([1 / 3, 0.0, -2 / 3, 1 / 3])
    assert mixed[4:] == [0.0] * 4


def test_zero_would_have_counted(advantages):
    assert advantages(1.0, 0.0, 0.0, 1.0) == pytest.approx([0.5, -0.5, -0.5, 0.5])


def test_none_does_not_make_an_equal_group_mixed(advantages):
    assert advantages(1.0, None, 1.0, 1.0, scale_rewards="group") == [0.0] * 4
