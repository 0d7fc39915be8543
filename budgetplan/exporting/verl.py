"""verl: Parquet with `data_source`, `prompt`, `ability`, `reward_model` and `extra_info`.

Schema: https://verl.readthedocs.io/en/latest/preparation/prepare_data.html, and `verl/utils/dataset/rl_dataset.py`,
which reads `index` and the arguments of tools from `extra_info`. verl chooses its scoring function by `data_source`;
`budgetplan/<verifier>` is none of its own, so that training asks for `custom_reward_function` instead of judging by
other rules than the probe did. That function gets `extra_info`, and with it provenance and the user's columns.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.exporting.columns import beside, chats
from budgetplan.exporting.files import write_parquet

_TAKEN = ("index", "split", "tools_kwargs", "need_tools_kwargs", "interaction_kwargs")


def write(rows: pa.Table, path: Path) -> None:
    """Write one row per item to a file from `landing`."""
    count = len(rows)
    extra = {"index": pa.array(range(count), pa.int64()), "split": pa.repeat("train", count)}
    extra |= beside(rows, ("prompt", "messages", "answer"), _TAKEN)
    table = {
        "data_source": pc.binary_join_element_wise("budgetplan/", rows["verifier"], ""),
        "prompt": chats(rows["messages"]),
        "ability": rows["verifier"],
        "reward_model": _struct({"style": pa.repeat("rule", count), "ground_truth": rows["answer"]}),
        "extra_info": _struct(extra),
    }
    write_parquet(pa.table(table), path)


def _struct(columns: dict[str, pa.Array | pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.table(columns).to_struct_array()
