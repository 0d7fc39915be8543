"""Tiny, randomly initialised models of the families people probe, with a tokenizer that can read any text."""

import string
from pathlib import Path
from typing import Any, Literal

Family = Literal["qwen3", "llama", "phi3"]

SPECIALS = ("<|pad|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
PRINTABLE = frozenset(b"\n" + bytes(range(0x20, 0x7F)))
LOGIT_SPREAD = 1.5

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


def build_tiny_model(
    folder: Path,
    family: Family,
    *,
    chat_template: bool = False,
    seed: int = 0,
    context: int = 2048,
    hidden: int = 64,
    eos_logit: float = 2.0,
    bos: bool = False,
) -> Path:
    """Write a two-layer model and its tokenizer to `folder` and return it.

    It answers in printable ASCII; a higher `eos_logit` makes its answers shorter (2.0: some 50 tokens on average).
    `bos` puts a beginning-of-sequence token before plain text, as Llama's tokenizer does.
    """
    import torch
    from transformers import AutoModelForCausalLM

    tokenizer = byte_tokenizer(context=context, chat_template=chat_template, bos=bos)
    config = _config(family, vocabulary=len(tokenizer), context=context, hidden=hidden)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    _steer(model, tokenizer, eos_logit)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def byte_tokenizer(*, context: int = 2048, chat_template: bool = False, bos: bool = False) -> Any:
    """A tokenizer of 256 bytes and the special tokens, without merges: every text round-trips."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(text, special=True) for text in SPECIALS if "think" not in text])
    core.add_tokens([AddedToken(text, special=False) for text in SPECIALS if "think" in text])
    if bos:
        start = (SPECIALS[2], core.token_to_id(SPECIALS[2]))
        core.post_processor = processors.TemplateProcessing(single=f"{SPECIALS[2]} $A", special_tokens=[start])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=SPECIALS[0],
        eos_token=SPECIALS[1],
        bos_token=SPECIALS[2] if bos else None,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
        padding_side="left",
    )
    if chat_template:
        tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def _config(family: Family, *, vocabulary: int, context: int, hidden: int) -> Any:
    from transformers import LlamaConfig, Phi3Config, Qwen3Config

    heads = hidden // 32  # vLLM's attention on the CPU refuses a head_dim of 16 or 24
    shape: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "max_position_embeddings": context,
        "tie_word_embeddings": False,
        "pad_token_id": 256,
        "eos_token_id": 257,
        "bos_token_id": None,
        "initializer_range": 0.2,
    }
    if family == "qwen3":
        return Qwen3Config(head_dim=32, **shape)
    if family == "llama":
        return LlamaConfig(head_dim=32, **shape)
    return Phi3Config(original_max_position_embeddings=context, sliding_window=None, **shape)


def _steer(model: Any, tokenizer: Any, eos_logit: float) -> None:
    """Give the head a bias over hidden dimension 0, held constant, and logits that depend on what was read."""
    import torch

    bias = torch.full((len(tokenizer),), -20.0)
    for token in range(256):
        text = tokenizer.decode([token])
        if len(text) == 1 and ord(text) in PRINTABLE:
            bias[token] = 0.0
    bias[tokenizer.eos_token_id] = eos_logit
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                weight[0] = 0.0
        model.get_input_embeddings().weight[:, 0] = 4.0
        reading = tokenizer(string.printable, add_special_tokens=False, return_tensors="pt")
        states = model.base_model(**reading).last_hidden_state[0]
        head = model.get_output_embeddings().weight
        head[:, 0] = 0.0
        head[256:] = 0.0
        head *= LOGIT_SPREAD / (states @ head[:256].T).std(dim=0).mean()
        head[:, 0] = (bias - head @ states.mean(dim=0)) / states[:, 0].mean()
