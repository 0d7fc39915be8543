"""A shortlist of disagreements: the items on which annotators differ, out once more; what comes back decides alone."""

import json
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa

from budgetplan.config import Settings
from budgetplan.errors import NothingToDo
from budgetplan.records import Progress
from budgetplan.steps.rounds import enter_planned
from budgetplan.steps.shortlist_files import FileChoices, ShortlistFiles, check_files, write_shortlist
from budgetplan.steps.upkeep import ready_run
from budgetplan.store.adjudications import ANOTHER_LOOK, disagreements
from budgetplan.store.connection import Store
from budgetplan.store.pools import item_prompts, own_items
from budgetplan.store.shortlists import out_for_another_look


@dataclass(frozen=True, slots=True)
class LookedAgain:
    """A shortlist of disagreements and where it was written."""

    shortlist_id: str
    n_items: int
    files: ShortlistFiles


def look_again(store: Store, settings: Settings, choices: FileChoices, progress: Progress) -> LookedAgain:
    """Write every item on which annotators differ, or contradict what was known, for another look."""
    check_files(choices)
    with ready_run(store, None, progress) as run, store.reading() as connection:
        out, ours = out_for_another_look(connection), own_items(connection, run.pool_id)
        open_items = [one for one in disagreements(connection) if one.item_id in ours and one.item_id not in out]
        prompts = item_prompts(connection, [item.item_id for item in open_items])
    if not open_items:
        raise NothingToDo(
            "annotators disagree on nothing" + (" but what is out for another look." if out else "."),
            hint="See what there is: budgetplan status",
        )
    table = pa.table(
        {
            "item_id": pa.array([item.item_id for item in open_items], pa.string()),
            "id": pa.array([item.ids[0] if item.ids else None for item in open_items], pa.string()),
            "prompt": pa.array(prompts, pa.string()),
            "rank": pa.array(range(1, len(open_items) + 1), pa.int64()),
            "score": pa.nulls(len(open_items), pa.float64()),
            "cost": pa.array([0.0] * len(open_items), pa.float64()),
            "state": pa.array([item.state for item in open_items], pa.string()),
            "said": pa.array([json.dumps(item.said, ensure_ascii=False) for item in open_items], pa.string()),
        }
    )
    entry = {
        "budgetplan": version("budgetplan"),
        "purpose": ANOTHER_LOOK,
        "policy": ANOTHER_LOOK,
        "budget": f"{len(open_items)} items",
        "unit": "items",
        "left_unit": "items",
        "n_items": len(open_items),
        "seed": settings.seed,
        "pool_id": run.pool_id,
        "run_id": run.run_id,
    }
    with write_shortlist(store, choices, entry, table, settings.seed) as (connection, name, files):
        enter_planned(connection, name, len(open_items), 0.0, "items")
    return LookedAgain(name, len(open_items), files)
