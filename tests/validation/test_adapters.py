import json

import pytest
import torch
from safetensors.torch import load_file

from budgetplan.validation.adapters import whole_model


@pytest.fixture
def model(tiny_model):
    from transformers import AutoModelForCausalLM

    folder = tiny_model("llama", chat_template=True)
    return folder, AutoModelForCausalLM.from_pretrained(folder)


def _logits(model, tokens=((5, 6, 7, 8),)):
    with torch.no_grad():
        return model(torch.tensor(tokens)).logits


def _check(folder, base, trained):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.testing.assert_close(_logits(AutoModelForCausalLM.from_pretrained(folder)), trained, rtol=1e-3, atol=1e-3)
    assert AutoTokenizer.from_pretrained(folder).chat_template == AutoTokenizer.from_pretrained(base).chat_template
    for name in ("config.json", "generation_config.json", "tokenizer.json"):
        assert (folder / name).read_bytes() == (base / name).read_bytes()
    assert not (folder / "adapter_config.json").exists()


def test_an_adapter_is_merged_into_its_base(model, tmp_path):
    from peft import LoraConfig, get_peft_model

    base, plain = model
    before = _logits(plain)
    adapted = get_peft_model(plain, LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False))
    adapted.save_pretrained(tmp_path / "checkpoint")
    trained = _logits(adapted)
    assert not torch.allclose(before, trained)
    into = tmp_path / "whole"
    into.mkdir()
    assert whole_model(tmp_path / "checkpoint", str(base), into) == into
    _check(into, base, trained)


def test_full_weights_stand_beside_the_bases_own_settings(model, tmp_path):
    base, changed = model
    with torch.no_grad():
        changed.lm_head.weight.mul_(2)
    checkpoint = tmp_path / "checkpoint"
    changed.save_pretrained(checkpoint)
    (checkpoint / "trainer_state.json").write_text(json.dumps({}))
    (checkpoint / "generation_config.json").write_text(json.dumps({"eos_token_id": 1}))
    folder = whole_model(checkpoint, str(base), tmp_path / "whole")
    _check(folder, base, _logits(changed))
    assert not (folder / "trainer_state.json").exists()
    trained, first = load_file(folder / "model.safetensors"), load_file(base / "model.safetensors")
    assert not torch.equal(trained["lm_head.weight"], first["lm_head.weight"])
