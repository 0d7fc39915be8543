"""The shipped verifiers against the verdicts that came with real samples of real models."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from budgetplan.verifying.judge import judge
from budgetplan.verifying.verifier import auto_verifier

VERIFIERS = {
    "esc_lastletters_gpt3.5_k40": "exact",
    "hirt_gsm8k_llama3.1_8b_cod_k5": "math",
    "mot_date_llama2_13b_cot1": "exact",
    "nikbrus_gsm8k_qwen2.5_1.5b_t0.7_k10": "math",
    "ref_kegg_qwen3_4b_test_k10": "exact",
    "ref_shuffleobj_qwen3_4b_train_k10": "choice",
}


@pytest.mark.parametrize("name", VERIFIERS)
def test_verdicts_agree_with_the_source(name: str, shared_data: Path) -> None:
    with (shared_data / "rollouts" / f"{name}.jsonl").open() as lines:
        items = [json.loads(line) for line in lines]
    texts = [text for item in items for text in item["completions"]]
    golds = [item["answer"] for item in items for _ in item["completions"]]
    correct = [bool(verdict) for item in items for verdict in item["correct"]]
    nothing = pa.nulls(len(texts), pa.string())
    batch = pa.table({"text": texts, "finish_reason": nothing, "gold": golds, "columns": nothing})

    verifier = auto_verifier([item["answer"] for item in items])
    outcomes = judge(verifier, batch, workers=2).column("outcome").to_pylist()

    assert verifier == VERIFIERS[name]
    agreeing = sum((outcome == "correct") == verdict for outcome, verdict in zip(outcomes, correct, strict=True))
    assert agreeing / len(texts) >= 0.995
