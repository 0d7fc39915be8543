import json
import random
import re

import pytest

from budgetplan.demo.task import make_pool
from budgetplan.validation.leaks import Leak, leaks

STORIES = [
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips did "
    "she sell altogether?",
    "Weng earns $12 an hour for babysitting. Yesterday, she just did 50 minutes of babysitting. How much did she earn?",
    "Betty is saving money for a new wallet which costs $100. Betty has only half of the money she needs. Her parents "
    "decided to give her $15 for that purpose. How much more money does she need to buy the wallet?",
    "Julie is reading a 1,200-page book. Yesterday, she was able to read 12 pages and today, she read twice as many. "
    "How many pages should she read tomorrow?",
    "Wie viele Äpfel bleiben übrig, wenn Jörg von seinen 17 Äpfeln 5 an Käthe verschenkt?",
    "Solve for x: 3x + 2(x - 4) = 17. Give the exact value of x in lowest terms.",
]

EDITS = {
    "case": str.upper,
    "punctuation": lambda text: re.sub(r"[.,?](?=\s|$)", "", text),
    "spacing": lambda text: "  " + re.sub(r"\s", "\n  ", text),
    "thousands": lambda text: text.replace("1,200", "1200"),
    "typo": lambda text: text.replace("friends", "freinds").replace("Yesterday", "Yesteday").replace("exact", "exct"),
    "article": lambda text: re.sub(r"\bthe ", "", text, count=1),
    "frame": lambda text: f"Question: {text}\nAnswer:",
    "added clause": lambda text: f"{text} Please think about it step by step.",
    "inserted clause": lambda text: re.sub(r"([.?:])\s", r"\1 It was a rainy day in spring. ", text, count=1),
    "clauses reordered": lambda text: " ".join(re.split(r"(?<=[.?])\s", text)[::-1]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_the_same_question_in_other_clothes_is_found(edit):
    written = [EDITS[edit](text) for text in STORIES]
    train = [*[row["prompt"] for row in make_pool(50)], *STORIES]
    changed = [place for place, (a, b) in enumerate(zip(written, STORIES, strict=True)) if a != b]
    assert changed
    test = written + [EDITS["frame"](row["prompt"]) for row in make_pool(200, split="test")] * (edit == "frame")
    found = {(leak.test_place, leak.train_place): leak.similarity for leak in leaks(test, train)}
    assert set(found) == {(place, 50 + place) for place in range(len(STORIES))}
    assert all((found[place, 50 + place] == 1.0) == (edit in ("case", "spacing")) for place in changed)


def test_every_training_prompt_with_the_same_text_is_named_in_order():
    train = ["b", "A  line\r\nmore ", "c", "a line more"]
    assert leaks(["zz", "a line\nmore", "c"], train) == [Leak(1, 1, 1.0), Leak(1, 3, 1.0), Leak(2, 2, 1.0)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("State: a b c d\nMoves: hop, roll", "State: a b c d\nMoves: roll, hop"),
        ("State: a b c d\nMoves: hop, roll", "State: a b d c\nMoves: hop, roll"),
        ("State: a b c d\nMoves: hop", "State: a b c d\nMoves: hop, roll, hop"),
        (STORIES[1], STORIES[1].replace("50", "55")),
        (STORIES[1], STORIES[1].replace("$12", "$50").replace("50 minutes", "12 minutes")),
        (STORIES[2], STORIES[2].replace("half", "most")),
        (STORIES[0], STORIES[0].replace("How many clips did", "How many clips did not")),
        (STORIES[0], STORIES[0] + " She also bought 3 more clips from her sister."),
        (STORIES[1], STORIES[1].replace("hour", "day")),
        ("How long does the 7 o'clock bus to Lima take?", "How long does the 7 o'clock bug to Lima take?"),
        ("Compute 12 * (3 + 4) - 5.", "Compute 12 * 3 + (4 - 5)."),
        ("Compute 12 + 34.", "Compute 12 - 34."),
        ("What is f(x) for x = -5?", "What is f(x) for x = 5?"),
        ("Is 1, 23 in the set?", "Is 12, 3 in the set?"),
        ("!?", "..."),
        ("", "..."),
    ],
)
def test_other_numbers_words_signs_or_orders_are_other_items(one, other):
    assert leaks([one], [other]) == []
    assert len(leaks([one], [other, one])) == 1


def swaps(generator):
    names, balls = ["Alice", "Bob", "Claire", "Dave", "Eve"], ["red", "blue", "green", "black", "white"]
    start = ", ".join(f"{name} has a {ball} ball" for name, ball in zip(names, generator.sample(balls, 5), strict=True))
    moves = ". Then, ".join("{} and {} swap balls".format(*generator.sample(names, 2)) for _ in range(4))
    return f"Five friends play. At the start, {start}. First, {moves}. At the end, {generator.choice(names)} has the"


TEMPLATES = {
    "swaps": swaps,
    "sorting": lambda generator: (
        "Sort: " + ", ".join(generator.sample("apple pear plum fig kiwi lemon lime".split(), 5))
    ),
    "letters": lambda generator: (
        f"Join the last letters of {' '.join(generator.sample('Amy Bo Cy Di Eva'.split(), 3))}."
    ),
    "arithmetic": lambda generator: f"Compute {' '.join(generator.choices('1234+-*', k=9))}.",
    "turns": lambda generator: " ".join(
        f"Turn the cube {way}." for way in generator.sample("left right up down over round".split(), 4)
    ),
    "capitals": lambda generator: (
        f"What is the capital of {generator.choice(['Gambia', 'Zambia', 'Niger', 'Nigeria'])}?"
    ),
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_items_of_one_template_are_leaks_only_where_they_are_the_same_text(template):
    generator = random.Random(3)
    test, train = ([TEMPLATES[template](generator) for _ in range(n)] for n in (300, 1000))
    found = {(leak.test_place, leak.train_place) for leak in leaks(test, train)}
    assert found == {(a, b) for a, one in enumerate(test) for b, other in enumerate(train) if one == other}


def test_a_word_that_many_prompts_have_is_no_typing_error():
    one, other = (f"In Timbuktu, old Zelda {verb} for 7 hours every winter night." for verb in ("walks", "talks"))
    common = [f"Number {place} {verb}: is it {place % 9}?" for place in range(9) for verb in ("walks", "talks")]
    assert leaks([one], [other, *common]) == []
    assert [leak.train_place for leak in leaks([one.replace("walks", "wlaks")], [one, *common])] == [0]


def test_common_clauses_in_another_order_are_another_item_even_behind_the_same_rare_start():
    turns = [f"Turn the cube {way}." for way in ("left", "right", "up", "down")]
    one, other = ("Old Zelda in Timbuktu starts. " + " ".join(order) for order in (turns, turns[::-1]))
    common = [f"Begin {place}. {' '.join((turns * 2)[place % 4 :][:4])}" for place in range(20)]
    assert leaks([one], [other, *common]) == []
    assert [leak.train_place for leak in leaks([one], [other])] == [0]


def test_what_many_but_not_nearly_all_prompts_ask_is_no_frame():
    shapes = [f"A field is {side} m long and {side + 2} m wide, as Zelda number {side} says." for side in range(20, 50)]
    asked = ["What is its area?"] * 20 + ["What is its perimeter?"] * 10
    test, train = (
        [f"{shape} {question}" for shape, question in zip(shapes, questions, strict=True)]
        for questions in (asked, asked[::-1])
    )
    same = [place for place in range(30) if test[place] == train[place]]
    assert [(leak.test_place, leak.train_place) for leak in leaks(test, train)] == [(place, place) for place in same]


def test_the_splits_of_the_demo_share_nothing():
    for n in (60, 1000):
        splits = [[row["prompt"] for row in make_pool(n, seed=n, split=split)] for split in ("test", "train")]
        assert leaks(*splits) == []


def test_real_questions_share_nothing_and_their_copies_are_found(shared_data):
    test, train = (
        [json.loads(line)["question"] for line in (shared_data / "gsm8k" / name).read_text("utf-8").splitlines()]
        for name in ("test.jsonl", "train.jsonl")
    )
    framed = [f"{text}\nLet's think step by step and end with ####." for text in train]
    found = leaks([*test, *train[:200]], framed)
    assert [(leak.test_place, leak.train_place) for leak in found] == [
        (len(test) + place, place) for place in range(200)
    ]


def test_lower_thresholds_find_no_less_and_nothing_in_nothing():
    longer = [text + " It was a rainy day in spring, and everybody stayed at home to read." for text in STORIES]
    assert len(leaks(longer, STORIES, threshold=0.99)) < len(leaks(longer, STORIES, threshold=0.5)) == len(STORIES)
    assert leaks([], STORIES) == leaks(STORIES, []) == []
