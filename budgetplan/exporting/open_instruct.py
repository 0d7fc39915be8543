"""open-instruct: `messages`, `ground_truth` and `dataset`, which names the verifier, and all other columns beside them.

Schema: https://huggingface.co/datasets/allenai/RLVR-GSM and `rlvr_tokenize_v1` to `_v3` of
https://github.com/allenai/open-instruct/blob/main/open_instruct/dataset_transformation.py, which reads local `.parquet`
and `.jsonl` files. Up to v2 the last of several messages is taken for the answer and cut off, whoever speaks; v3 cuts
off an assistant's. So the chat ends with the answer as the assistant's turn, and the prompt stays whole in all of them.
A verifier that open-instruct does not know is mapped there with `--remap_verifier exact=string_f1`.
"""

import json
from pathlib import Path

import pyarrow as pa

from budgetplan.exporting.columns import beside, chats
from budgetplan.exporting.files import write_file

_TAKEN = ("messages", "ground_truth", "dataset", "dataset_source", "tools", "env_config")


def write(rows: pa.Table, path: Path) -> None:
    """Write one row or line per item to a file from `landing`."""
    head = {
        "messages": chats(_answered(rows["messages"], rows["answer"])),
        "ground_truth": rows["answer"],
        "dataset": rows["verifier"],
    }
    write_file(pa.table(head | beside(rows, ("messages", "answer"), _TAKEN)), path)


def _answered(messages: pa.ChunkedArray, answer: pa.ChunkedArray) -> pa.ChunkedArray:
    pairs = zip(messages.to_pylist(), answer.to_pylist(), strict=True)
    closed = [json.dumps([*json.loads(chat), {"role": "assistant", "content": gold}]) for chat, gold in pairs]
    return pa.chunked_array([pa.array(closed, pa.string())])
