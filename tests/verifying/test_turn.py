import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.verifying.turn import answer_part, complete_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>is it 3?</think>It is 4.", "It is 4."),
        ("is it 3?</think>It is 4.", "It is 4."),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("<thinking>is it 3?</thinking>It is 4.", "It is 4."),
        ("<think>still thinking: the answer is 3", None),
        ("<think>a</think>b <think>again", None),
        ("plain", "plain"),
    ],
)
def test_thinking_is_set_aside(text, expected):
    assert answer_part(text) == expected


@pytest.mark.parametrize(
    "run_on",
    [
        "\nQ: What is 2 + 2?\nA: 4",
        "\n\nQ3. What is 2 + 2?\nThe answer is 4.",
        "\n\n●Question 05:\nQ: ...\nA: 4",
        "\n## Q: What is 2 + 2?\nA: 4",
        "\n\nQuestion: What is 2 + 2?\nAnswer: \\boxed{4}",
        "\nProblem 2: What is 2 + 2?\nAnswer: 4",
        "\nUser: and 2 + 2?\nAssistant: The answer is 4.",
        "\nHuman: and 2 + 2?",
        "<|im_end|>\n<|im_start|>user\nthe answer is 4",
        "</s>The answer is 4.",
    ],
)
@pytest.mark.parametrize("answer", ["It is 1 + 1.\nThe answer is 2.", "A: 2", "so \\boxed{2}", "work\n#### 2"])
def test_invented_turns_after_the_answer_are_cut_off(answer, run_on):
    assert answer_part(answer + run_on).rstrip() == answer


def test_a_worked_answer_without_a_marker_ends_at_the_next_question():
    assert answer_part("Today is 9/9.\nYesterday was 9/8.\nQ: Today is 7/12. Tomorrow?\nA: 7/13").endswith("was 9/8.\n")


@pytest.mark.parametrize(
    "text",
    [
        "Question: what is 2 + 2?\nAnswer: 4",
        "Let me restate.\nQuestion: what is 2 + 2?\nThe answer is 4.",
        "<|start_header_id|>The answer is 4.",
        "Questions like this are easy. The answer is 4.",
    ],
)
def test_a_restated_question_is_kept(text):
    assert "4" in answer_part(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is 1", "The answer is"),
        ("The answer is 18.", "The answer is 18."),
        ("so \\boxed{18}", "so \\boxed{18}"),
        ("18", ""),
        ("", ""),
    ],
)
def test_the_last_word_of_a_text_cut_off_does_not_count(text, expected):
    assert complete_words(text) == expected


@given(st.text(max_size=200))
def test_the_answer_part_of_plain_text_is_its_beginning(text):
    if "<" not in text and "[" not in text:
        assert text.startswith(answer_part(text))
