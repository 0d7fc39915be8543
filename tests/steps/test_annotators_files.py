"""What annotators get to see of a shortlist, in every format."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from scripted import number_in, reply

from budgetplan import BudgetError, Project
from budgetplan.annotation.tools.detection import TOOLS
from budgetplan.records import Completion, SampleRequest

MODEL_SAYS = "31415926"
"""What the model answers wherever it is wrong; part of no id and no prompt."""


@pytest.fixture
def make(probe_sums: Callable[..., Project]) -> Callable[..., Project]:
    """Probe sums on which the model says its own number wherever it is wrong."""
    return partial(probe_sums, answer=says_its_own)


def says_its_own(request: SampleRequest, index: int) -> Completion:
    number = number_in(request.messages)
    return reply(request, index, f"The answer is {2 * number if index < 4 - number else MODEL_SAYS}.")


def test_a_slice_that_the_budget_cannot_pay_is_refused(make: Callable[..., Project]) -> None:
    says = r"below the audit slice \(6 items\) and the cheapest item.*--budget 7, or draw fewer audit items: --audit"
    with pytest.raises(BudgetError, match=says):
        make(20).shortlist("5 items", audit="6")


@pytest.mark.parametrize("tool", TOOLS)
def test_no_byte_tells_annotators_an_audit_item_from_a_pick(make: Callable[..., Project], tool: str) -> None:
    made = make(20).shortlist("12 items", audit="5", tool=tool)
    assert made.files is not None
    written = written_for_annotators(made.files.annotators)
    for trace in ("audit", "rank", "p_hat", "score", "inclusion", "q1", MODEL_SAYS):
        assert trace not in written.lower()
    places = {item: written.index(item) for item in made.table["item_id"].to_pylist()}
    assert sorted(places, key=places.__getitem__) not in (
        made.table["item_id"].to_pylist(),
        made.table["item_id"].to_pylist()[::-1],
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_the_models_most_frequent_answer_is_shown_when_asked_for(make: Callable[..., Project], tool: str) -> None:
    made = make(6).shortlist("6 items", audit="0", tool=tool, show_model_answer=True)
    assert made.files is not None
    answers = dict(zip(*(made.table[name].to_pylist() for name in ("id", "model_answer")), strict=True))
    assert answers == {"q0": "0", "q1": "2", "q2": "4"} | dict.fromkeys(("q3", "q4", "q5"), MODEL_SAYS)
    assert written_for_annotators(made.files.annotators).count(MODEL_SAYS) == 3


def written_for_annotators(files: tuple[Path, ...]) -> str:
    """Every byte of the files as text; Parquet also as what is read back from it, since it may be compressed."""
    texts = [path.read_bytes().decode("utf-8", errors="replace") for path in files if path.suffix != ".parquet"]
    for path in files:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            texts.append(f"{table.schema.to_string(show_field_metadata=True)} {json.dumps(table.to_pylist())}")
    return "".join(texts)
