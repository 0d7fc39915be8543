"""Texts of models stuck in a loop: none may cost more than a moment, or raise."""

import time

import pytest

from budgetplan.verifying.verifier import BUILT_IN

LOOPS = {
    "boxes": "\\boxed{" * 20_000,
    "empty boxes": "\\boxed{ }" * 20_000,
    "nested answer": "\\boxed{" + "\\text{a}" * 5_000 + "}",
    "statements": "the answer is " * 20_000,
    "short statements": "The answer is. " * 20_000,
    "speakers": "A:\n" * 20_000,
    "open thoughts": "<think>a</think>" + "<think>" * 20_000,
    "dollars": "$" * 50_000,
    "formulas": "\\(" * 50_000,
    "braces": "{" * 100_000,
    "brackets": "[" * 50_000,
    "hashes": "#### " * 20_000,
    "questions": "Q:\n" * 20_000,
    "numbers": "1 " * 50_000,
    "digits": "\\boxed{" + "9" * 100_000 + "}",
    "equations": "Answer: " + "ab=" * 300,
    "conjunctions": "Answer: " + "x=and and and " * 60,
    "letters": "(A) " * 30_000,
    "commas": "a, " * 30_000,
    "new lines": "\n" * 100_000,
    "spaces": "the answer is" + " " * 100_000,
    "quotes": "'" * 50_000,
    "stars": "**" * 50_000 + "a",
    "template tokens": "<|im_end|>" * 10_000,
    "units": "The answer is 5" + " m( -m" * 30,
    "a big set": "\\boxed{\\{" + "1," * 20_000 + "1\\}}",
    "one long word": "a" * 100_000,
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_loop_costs_a_moment(name: str, loop: str) -> None:
    verifier = BUILT_IN[name]()
    started = time.process_time()
    found = verifier.extract(LOOPS[loop])
    if found is not None:
        verifier.key(found.text)
        verifier.decide(found.text, "5")
    assert time.process_time() - started < 3
