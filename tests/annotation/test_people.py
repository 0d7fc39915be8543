import json
from typing import Any

import pytest

from budgetplan.annotation.people import pseudonym, without_names

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def test_a_pseudonym_is_stable_under_its_key_and_another_under_another() -> None:
    names = ("ana", "Ana", "ana@example.com", "")
    pseudonyms = [pseudonym(name, KEY) for name in names]
    assert pseudonyms == [pseudonym(name, KEY) for name in names]
    assert len({*pseudonyms, *(pseudonym(name, OTHER_KEY) for name in names)}) == 2 * len(names)
    assert not any("ana" in one.removeprefix("annotator-") for one in pseudonyms)


def test_a_pseudonym_is_not_replaced_again_but_a_name_that_looks_like_one_is() -> None:
    assert pseudonym(pseudonym("ana", KEY), OTHER_KEY) == pseudonym("ana", KEY)
    for name in ("annotator-bo", "annotator-1", pseudonym("ana", KEY) + "x"):
        assert pseudonym(name, KEY) != name


@pytest.mark.parametrize(
    ("record", "left"),
    [
        ({"answer": "4", "annotator": "ana", "Email": "a@b.c"}, {"answer": "4"}),
        ({"First Name": "Ana", "LAST_NAME": "B", " username ": "ana"}, {}),
        (
            {"result": [{"value": {"text": ["4"], "completed_by": {"email": "a@b.c"}}}]},
            {"result": [{"value": {"text": ["4"]}}]},
        ),
        ({"responses": {"answer": [{"value": "4", "user_id": "5f1a"}]}}, {"responses": {"answer": [{"value": "4"}]}}),
        ({"answer.responses": ["4"], "answer.responses.users": ["5f1a"]}, {"answer.responses": ["4"]}),
        ({"_annotator_id": "prod-ana", "_session_id": "prod-ana", "accept": ["é"]}, {"accept": ["é"]}),
        ([[{"user": 1, "n": None}]], [[{"n": None}]]),
    ],
)
def test_names_are_taken_out_at_any_depth_and_nothing_else(record: Any, left: Any) -> None:
    assert json.loads(without_names(json.dumps(record))) == left
