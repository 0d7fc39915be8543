"""The transformers engine against the loop of the paper's code, in useful tokens per second.

Run: python tests/benchmarks/bench_transformers.py [--pairs 10] [--prompts 400]
The loop takes one batch of prompts at a time through `generate(num_return_sequences=k)`, padded to the longest prompt
and waiting for the slowest answer. Both draw from the same model, whose weights are made so that the length of an
answer (8 to 48 tokens, the end token included) is drawn with its first token, around a mean that differs by prompt:
its tokens count down to the end token. All layers are computed, but add nothing to the residual stream.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pairs import interval

from budgetplan.probing.models import resolve_model
from budgetplan.probing.transformers_engine import TransformersEngine
from budgetplan.records import ItemId, Message, SampleRequest, Sampling, sample_seed

PAD, END = "<pad>", "<end>"
SHORTEST, LONGEST = 8, 48
CLASSES = 10
SPREAD = 8  # an answer is at most this much shorter or longer than its prompt's mean
WORDS = 200
MAX_TOKENS = 250  # as in the paper's code
TARGET = 2.0


def lengths_of(kind: int) -> range:
    """Lengths an answer to a prompt of this kind may have."""
    mean = SHORTEST + (LONGEST - SHORTEST) * (kind + 0.5) / CLASSES
    return range(max(SHORTEST, round(mean - SPREAD)), min(LONGEST, round(mean + SPREAD)) + 1)


def make_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [
        *(f"c{left}" for left in range(1, LONGEST)),
        *(f"k{kind}" for kind in range(CLASSES)),
        *(f"w{word}" for word in range(WORDS)),
    ]
    core = Tokenizer(models.WordLevel({word: place for place, word in enumerate([PAD, END, *words])}, unk_token=PAD))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token=PAD, eos_token=END, padding_side="left")


def make_model(folder: Path) -> None:
    """Write a Qwen3 model of 0.38 M parameters whose answers count down."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=3,
        num_key_value_heads=3,
        head_dim=32,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    model = Qwen3ForCausalLM(config).eval()
    ids = tokenizer.get_vocab()
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        read, write = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        write.zero_()
        for left in range(1, LONGEST):  # dimension `left` says that so many tokens are left
            read[ids[f"c{left}"]] = torch.eye(96)[left]
            write[ids[f"c{left - 1}" if left > 1 else END], left] = 4.0
        for kind in range(CLASSES):
            read[ids[f"k{kind}"]] = torch.eye(96)[LONGEST + kind]
            for length in lengths_of(kind):
                write[ids[f"c{length - 1}"], LONGEST + kind] = 4.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_prompts(count: int) -> list[str]:
    dice = random.Random(0)
    return [
        " ".join([*(f"w{dice.randrange(WORDS)}" for _ in range(dice.randint(10, 40))), f"k{dice.randrange(CLASSES)}"])
        for _ in range(count)
    ]


class PaperLoop:
    """One batch of prompts at a time, as in gsm8k_utils.py of the paper's code, with its sampling settings."""

    def __init__(self, folder: Path, batch: int, k: int) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.batch, self.k = batch, k

    def tokens(self, prompts: list[str]) -> int:
        """Answer all prompts; the number of useful tokens drawn."""
        return sum(self._answer(prompts[first : first + self.batch]) for first in range(0, len(prompts), self.batch))

    def _answer(self, prompts: list[str]) -> int:
        import torch

        inputs = self.tokenizer(prompts, return_tensors="pt", padding=True)
        with torch.no_grad():
            drawn = self.model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                num_return_sequences=self.k,
                do_sample=True,
                temperature=1.0,
                top_p=1.0,
                top_k=0,
                max_new_tokens=MAX_TOKENS,
            )
        answers = drawn[:, inputs["input_ids"].shape[1] :]
        self.tokenizer.batch_decode(answers, skip_special_tokens=True)
        return int((answers != self.tokenizer.pad_token_id).sum())


class Ours:
    """The engine, asked for all prompts at once."""

    def __init__(self, folder: Path, k: int, slots: int | None) -> None:
        self.engine = TransformersEngine(resolve_model(str(folder)), Sampling(max_tokens=MAX_TOKENS), slots=slots)
        self.k = k

    def tokens(self, prompts: list[str]) -> int:
        """Answer all prompts; the number of useful tokens drawn."""
        return sum(
            completion.n_tokens
            for completions in self.engine.sample(self._requests(prompts))
            for completion in completions
        )

    def _requests(self, prompts: list[str]) -> Iterator[SampleRequest]:
        for place, prompt in enumerate(prompts):
            item = ItemId(f"bench-{place}")
            yield SampleRequest(item, (Message("user", prompt),), 0, self.k, sample_seed(0, item, 0))


def tokens_per_second(work: Callable[[list[str]], int], prompts: list[str]) -> float:
    started = time.perf_counter()
    tokens = work(prompts)
    return tokens / (time.perf_counter() - started)


def compare(ours: Ours, theirs: PaperLoop, prompts: list[str], pairs: int) -> dict[str, Any]:
    """Run both in turn; who goes first alternates."""
    rates: list[tuple[float, float]] = []
    for place in range(pairs + 1):
        if place % 2:
            rate = tokens_per_second(theirs.tokens, prompts)
            rates.append((tokens_per_second(ours.tokens, prompts), rate))
        else:
            rate = tokens_per_second(ours.tokens, prompts)
            rates.append((rate, tokens_per_second(theirs.tokens, prompts)))
    rates = rates[1:]  # the first pair warms up
    ratios = [mine / paper for mine, paper in rates]
    low, high = interval(ratios)
    return {
        "ours_median_tokens_per_second": round(statistics.median(mine for mine, _ in rates)),
        "paper_loop_median_tokens_per_second": round(statistics.median(paper for _, paper in rates)),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_interval_95": [round(low, 3), round(high, 3)],
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--prompts", type=int, default=400)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--batch", type=int, default=16, help="prompts per batch of the paper's loop")
    parser.add_argument("--slots", type=int, help="slots of the engine (default: its own choice)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder)
        ours, theirs = Ours(folder, arguments.k, arguments.slots), PaperLoop(folder, arguments.batch, arguments.k)
        figures = compare(ours, theirs, make_prompts(arguments.prompts), arguments.pairs)
    settings = {
        "benchmark": "transformers",
        "prompts": arguments.prompts,
        "k": arguments.k,
        "pairs": arguments.pairs,
        "slots": ours.engine.decoder.slots,
        "threads": torch.get_num_threads(),
    }
    print(json.dumps({**settings, **figures, "target": f"at least {TARGET} times the paper's loop"}, indent=2))


if __name__ == "__main__":
    main()
