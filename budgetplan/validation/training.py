"""One training with TRL's GRPOTrainer, in this process: from a spec and prompts to whole checkpoints.

Invariant: everything random follows from the seed, and a training that goes on from a checkpoint ends as one that was
never stopped would (to the bit on a CPU; a GPU's kernels and vLLM promise no such thing).
"""

import importlib.util
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import TrainingError
from budgetplan.validation import memory
from budgetplan.validation.callback import Bookkeeping
from budgetplan.validation.checkpoints import CHECKPOINTS, checkpoints
from budgetplan.validation.recipes import Recipe
from budgetplan.validation.recorder import Recorder
from budgetplan.validation.spec import TrainSpec

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

GET_BITSANDBYTES = 'Install it on a machine with a GPU: pip install "bitsandbytes>=0.45", or leave --four-bit away.'


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The items of an arm; a prompt is a chat or a text, as TRL takes it."""

    item_id: Sequence[str]
    prompt: Sequence[str | list[dict[str, str]]]
    answer: Sequence[str | None]
    columns: Sequence[str | None]
    longest_prompt_tokens: int


def train(
    spec: TrainSpec,
    items: TrainingSet,
    folder: Path,
    model: Path,
    tokenizer: "PreTrainedTokenizerBase",
    recorder: Recorder,
) -> str:
    """Train to the end, from the last whole checkpoint if there is one; returns why it ended early, or "".

    Nothing in the folder may be later than that checkpoint. Raises TrainingError for what cannot be trained here.
    """
    from trl import GRPOTrainer

    found = checkpoints(folder)
    recorder.remember()
    started = time.monotonic()
    trainer = GRPOTrainer(
        model=str(model),
        reward_funcs=recorder,
        args=_arguments(spec, items, folder, model),
        train_dataset=_data(spec, items),
        processing_class=tokenizer,
        quantization_config=_quantization(spec),
        peft_config=_adapter(spec),
    )
    recorder.ends = frozenset(trainer.eos_token_ids)
    bookkeeping = Bookkeeping(folder, recorder.patience, started)
    trainer.add_callback(bookkeeping)
    trainer.train(resume_from_checkpoint=str(found[-1].folder) if found else None)
    bookkeeping.finish(trainer.state)
    return bookkeeping.stopped


def order(n_items: int, n_prompts: int, seed: int) -> NDArray[np.intp]:
    """Return which item each prompt of the training is: every item once, in a new order, again and again.

    The whole training is one pass over this list: a trainer that is resumed in its second pass over the items would
    shuffle as in its first, and one with fewer items than an update has prompts would have nothing to train on.
    """
    generator = np.random.default_rng(seed)
    passes = -(-n_prompts // n_items)
    return np.concatenate([generator.permutation(n_items) for _ in range(passes)])[:n_prompts]


def _data(spec: TrainSpec, items: TrainingSet) -> Any:
    from datasets import Dataset

    columns = {name: list(getattr(items, name)) for name in ("prompt", "item_id", "answer", "columns")}
    n_prompts = spec.recipe.steps * spec.recipe.prompts_per_update
    return Dataset.from_dict(columns).select(order(len(items.item_id), n_prompts, spec.seed))


def _arguments(spec: TrainSpec, items: TrainingSet, folder: Path, model: Path) -> Any:
    import torch
    from trl import GRPOConfig

    on_gpu = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(folder / CHECKPOINTS),
        seed=spec.seed,
        data_seed=spec.seed,
        shuffle_dataset=False,
        disable_dropout=True,
        trust_remote_code=spec.trust_remote_code,
        model_init_kwargs={"dtype": "bfloat16" if on_gpu and spec.lora else "float32"},
        bf16=on_gpu,
        use_cpu=not on_gpu,
        save_steps=spec.recipe.evaluate_every,
        logging_steps=1,
        report_to="none",
        disable_tqdm=True,
        **_optimisation(spec.recipe),
        **_passes(spec, model, on_gpu=on_gpu),
        **_generation(spec, items, model, on_gpu=on_gpu),
    )


def _optimisation(recipe: Recipe) -> dict[str, Any]:
    return {
        "loss_type": recipe.loss,
        "scale_rewards": recipe.scale_rewards,
        "beta": recipe.beta,
        "epsilon_high": recipe.epsilon_high,
        "mask_truncated_completions": recipe.mask_truncated,
        "num_generations": recipe.group_size,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": recipe.schedule,
        "max_steps": recipe.steps,
    }


def _passes(spec: TrainSpec, model: Path, *, on_gpu: bool) -> dict[str, Any]:
    """How an update is cut into passes through the model; the update is the same however it is cut."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(model, trust_remote_code=spec.trust_remote_code)
    per_process = _per_process(spec.recipe.prompts_per_update * spec.recipe.group_size)
    recompute = on_gpu or _n_parameters(config) > memory.RECOMPUTE_ABOVE_PARAMETERS
    side_by_side = memory.completions_side_by_side(
        config, per_process=per_process, max_tokens=spec.max_tokens, recompute=recompute
    )
    return {
        "per_device_train_batch_size": side_by_side,
        "gradient_accumulation_steps": per_process // side_by_side,
        "gradient_checkpointing": recompute,
    }


def _generation(spec: TrainSpec, items: TrainingSet, model: Path, *, on_gpu: bool) -> dict[str, Any]:
    has_vllm = on_gpu and importlib.util.find_spec("vllm") is not None
    return {
        "max_completion_length": spec.max_tokens,
        "temperature": spec.temperature,
        "top_p": spec.top_p,
        "chat_template_kwargs": {"enable_thinking": spec.thinking},
        "use_vllm": has_vllm if spec.vllm is None else spec.vllm,
        "vllm_gpu_memory_utilization": memory.vllm_share(model),
        "vllm_max_model_length": items.longest_prompt_tokens + spec.max_tokens,
    }


def _per_process(n_completions: int) -> int:
    n_processes = int(os.environ.get("WORLD_SIZE", "1"))
    if n_completions % n_processes:
        raise TrainingError(
            f"{n_completions} completions per update cannot be shared out evenly among {n_processes} processes.",
            hint="Choose a --prompts-per-update that the number of processes divides.",
        )
    return n_completions // n_processes


def _n_parameters(config: "PretrainedConfig") -> int:
    """Estimate how many numbers the layers hold."""
    text = config.get_text_config()
    return int(12 * text.num_hidden_layers * text.hidden_size**2)


def _adapter(spec: TrainSpec) -> Any:
    """LoRA on every linear layer but the head, whatever the family calls its projections."""
    if not spec.lora:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=spec.lora_rank,
        lora_alpha=spec.lora_rank,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def _quantization(spec: TrainSpec) -> Any:
    if not spec.four_bit:
        return None
    import torch

    if not spec.lora:
        raise TrainingError("weights of 4 bits cannot be trained themselves.", hint="Leave --full or --four-bit away.")
    if not torch.cuda.is_available():
        raise TrainingError("--four-bit needs a GPU, and torch finds none here.", hint=GET_BITSANDBYTES)
    if importlib.util.find_spec("bitsandbytes") is None:
        raise TrainingError("--four-bit needs bitsandbytes, which is not installed.", hint=GET_BITSANDBYTES)
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
