"""TRL's GRPOTrainer: a `prompt` of messages, the known `answer`, and every other column beside them.

The trainer hands all columns but the prompt to the reward function as keyword arguments, one value per completion; the
product's verifiers take `answer`. Read from trl 1.16: `GRPOTrainer._calculate_rewards`, `data_utils.is_conversational`,
and https://huggingface.co/docs/trl/dataset_formats.
"""

from pathlib import Path

import pyarrow as pa

from budgetplan.exporting.columns import beside, chats
from budgetplan.exporting.files import write_file

# What the trainer passes to rewards beside the columns, and the columns that it reads as something else.
_TAKEN = (
    "prompts",
    "completion",
    "completions",
    "completion_ids",
    "trainer_state",
    "log_extra",
    "log_metric",
    "environment",
    "environments",
    "image",
    "images",
)


def write(rows: pa.Table, path: Path) -> None:
    """Write one row or line per item to a file from `landing`."""
    write_file(conversational(rows), path)


def conversational(rows: pa.Table) -> pa.Table:
    """Put the chat that the model was sent in the place of the prompt's text, and the answer next to it."""
    head = {"prompt": chats(rows["messages"]), "answer": rows["answer"]}
    return pa.table(head | beside(rows, ("prompt", "messages", "answer"), _TAKEN))
