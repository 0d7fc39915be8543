"""The names of the policies, light enough for a command line to import."""

from enum import StrEnum


class Policy(StrEnum):
    """Which items are bought first; the first four are the paper's (section 2.3)."""

    HARD = "hard"  # lowest p
    EASY = "easy"  # highest p
    MIDDLE = "middle"  # nearest the pool's median p
    RANDOM = "random"  # uniform over the whole pool
    BASE_WRONG = "base-wrong"  # single-pass filter: random among the items whose first sample was not correct
    LEARNABLE = "learnable"  # most likely to give a GRPO group mixed outcomes at the start of training
    HORIZON = "horizon"  # the same over the whole training, which makes items easier
