from hypothesis import given
from hypothesis import strategies as st

from budgetplan.annotation.adjudication import Answer, Pair, pairs_of, same_answers

HALF, DECIMAL, PERCENT, OTHER = (
    Answer("bp-a", text, votes) for text, votes in (("1/2", 1), ("0.5", 1), ("50 %", 2), ("7", 3))
)
ELSEWHERE = Answer("bp-b", "1/2", 1)


def named(answers: list[Answer], pairs: list[Pair]) -> dict[tuple[str, str], str]:
    rows = same_answers(answers, pairs).to_pylist()
    return {(row["item_id"], row["answer"]): row["same_as"] for row in rows}


def test_pairs_are_within_an_item() -> None:
    assert pairs_of([DECIMAL, HALF, OTHER, ELSEWHERE]) == [
        Pair(DECIMAL, HALF),
        Pair(DECIMAL, OTHER),
        Pair(HALF, OTHER),
    ]
    assert pairs_of([]) == []


def test_equality_is_carried_on() -> None:
    found = named([DECIMAL, HALF, PERCENT, OTHER, ELSEWHERE], [Pair(HALF, DECIMAL), Pair(HALF, PERCENT)])
    assert found == {
        ("bp-a", "0.5"): "50 %",
        ("bp-a", "1/2"): "50 %",
        ("bp-a", "50 %"): "50 %",
        ("bp-a", "7"): "7",
        ("bp-b", "1/2"): "1/2",
    }


def test_of_equally_frequent_spellings_the_first_in_the_alphabet_names_the_group() -> None:
    assert set(named([HALF, DECIMAL], [Pair(HALF, DECIMAL)]).values()) == {"0.5"}


@given(st.data())
def test_the_order_of_answers_and_pairs_decides_nothing(data: st.DataObject) -> None:
    answers = [Answer("bp-a", str(number), data.draw(st.integers(0, 2))) for number in range(6)]
    pairs = data.draw(st.lists(st.sampled_from(pairs_of(answers)), max_size=6))
    expected = named(answers, pairs)
    turned = [Pair(pair.right, pair.left) for pair in data.draw(st.permutations(pairs))]
    assert named(data.draw(st.permutations(answers)), turned) == expected
    assert all(expected["bp-a", pair.left.text] == expected["bp-a", pair.right.text] for pair in pairs)
