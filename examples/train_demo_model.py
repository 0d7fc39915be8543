"""Train the model of the embedded example: one to two minutes on two CPU cores, nothing downloaded.

    python examples/train_demo_model.py --out my-demo-model

A Qwen3 of 0.4 million parameters with one token per word, trained on solved exercises of budgetplan/demo/task.py. Rare
moves are rare on purpose: a model that knew them all would leave nothing to choose.
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    get_cosine_schedule_with_warmup,
)

from budgetplan.demo.task import LETTERS, MOVES, TrainingText, training_texts

PAD, END, UNKNOWN = "<pad>", "<end>", "<unk>"
CONTEXT_TOKENS = 2048
NOT_LEARNED = -100  # the label that the cross entropy leaves out


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token per word, mark or new line; a leading space belongs to the token, so decoding gives the text back."""
    words = ["State", "Moves", ":", ",", "####", *LETTERS, *MOVES]
    vocabulary = [PAD, END, UNKNOWN, "\n", *words, *(" " + word for word in words)]
    tokenizer = Tokenizer(models.WordLevel({token: place for place, token in enumerate(vocabulary)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r" ?\w+| ?[^\w\s]+|\s"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT_TOKENS,
    )


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Make it small enough to train in a minute; head_dim 32 is what vLLM's CPU attention takes."""
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=96,
            intermediate_size=320,
            num_hidden_layers=3,
            num_attention_heads=3,
            num_key_value_heads=3,
            head_dim=32,
            max_position_embeddings=CONTEXT_TOKENS,
            tie_word_embeddings=True,
            attn_implementation="eager",
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def encode(texts: list[TrainingText], tokenizer: PreTrainedTokenizerFast) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and labels, padded on the right; only the solution and its end are learned."""
    prompts = tokenizer([text.prompt for text in texts])["input_ids"]
    solutions = tokenizer([text.completion for text in texts])["input_ids"]
    rows = [prompt + solution + [tokenizer.eos_token_id] for prompt, solution in zip(prompts, solutions, strict=True)]
    token_ids = torch.full((len(rows), max(map(len, rows))), tokenizer.pad_token_id)
    labels = torch.full_like(token_ids, NOT_LEARNED)
    for place, (prompt, row) in enumerate(zip(prompts, rows, strict=True)):
        token_ids[place, : len(row)] = torch.tensor(row)
        labels[place, len(prompt) : len(row)] = torch.tensor(row[len(prompt) :])
    return token_ids, labels


def train(steps: int, seed: int, batch_size: int = 64, learning_rate: float = 2e-3) -> Qwen3ForCausalLM:
    """Train from random weights, on exercises drawn afresh for every step."""
    torch.manual_seed(seed)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    schedule = get_cosine_schedule_with_warmup(optimizer, min(50, steps // 8), steps)
    token_ids, labels = encode(list(training_texts(steps * batch_size, seed)), tokenizer)
    for step, (batch, targets) in enumerate(zip(token_ids.split(batch_size), labels.split(batch_size), strict=True)):
        loss = model(input_ids=batch, labels=targets).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step:4d}  loss {loss.item():.3f}", flush=True)
    return model


def save(model: Qwen3ForCausalLM, folder: Path) -> None:
    """Write a model folder that AutoModelForCausalLM, AutoTokenizer and vLLM load as it is."""
    tokenizer = make_tokenizer()
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Train and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    parser.add_argument("--steps", type=int, default=650)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    save(train(arguments.steps, arguments.seed), arguments.out)
    print(f"saved to {arguments.out}")


if __name__ == "__main__":
    main()
