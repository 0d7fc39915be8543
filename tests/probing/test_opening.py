import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from budgetplan.errors import ConfigError
from budgetplan.probing import opening
from budgetplan.probing.models import resolve_model
from budgetplan.probing.opening import default_engine, open_engine
from budgetplan.records import ItemId, Message, SampleRequest, Sampling


def test_an_engine_is_opened_by_name(tiny_model: Callable[..., Path]) -> None:
    resolved = resolve_model(str(tiny_model("qwen3")))
    engine = open_engine("transformers", resolved, Sampling(max_tokens=3), dtype="float32")
    request = SampleRequest(ItemId("bp-1"), (Message("user", "hi"),), 0, 2, 7)
    completions = [completion for batch in engine.sample([request]) for completion in batch]
    engine.close()
    assert engine.name == "transformers"
    assert engine.identity == resolved.identity
    assert sorted(completion.seed for completion in completions) == [7, 8]


def test_an_unknown_engine_is_refused_with_the_known_ones(tiny_model: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError, match="engine tgi is not known") as caught:
        open_engine("tgi", resolve_model(str(tiny_model("qwen3"))), Sampling())
    assert "--engine transformers or --engine vllm" in caught.value.hint


@pytest.mark.parametrize(
    ("installed", "cuda", "engine"),
    [(True, True, "vllm"), (True, False, "transformers"), (False, True, "transformers")],
)
def test_vllm_is_the_default_only_beside_a_gpu(
    monkeypatch: pytest.MonkeyPatch, installed: bool, cuda: bool, engine: str
) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: object() if installed else None)
    monkeypatch.setattr(opening, "has_cuda", lambda: cuda)
    assert default_engine() == engine


def test_choosing_an_engine_loads_no_heavy_library() -> None:
    code = (
        "import sys\nimport budgetplan.probing.opening, budgetplan.probing.vllm_engine\n"
        "print([name for name in ('torch', 'transformers', 'vllm', 'huggingface_hub') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
