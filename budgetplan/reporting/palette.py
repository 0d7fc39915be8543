"""How an arm or a model looks in every picture.

Invariant: an arm's look follows from its name alone, so it is the same in every picture and every run; no two of the
known arms share a colour or a marker.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """A colour and a marker; the marker tells arms apart where colours do not (print, colour blindness)."""

    colour: str
    marker: str


# Okabe and Ito's colours that show on white, black for random as the yardstick; then four far from these and from
# each other for colour-blind readers too.
LOOKS = {
    "hard": Look("#D55E00", "o"),
    "easy": Look("#56B4E9", "v"),
    "middle": Look("#009E73", "s"),
    "random": Look("#000000", "X"),
    "learnable": Look("#0072B2", "D"),
    "horizon": Look("#0018F0", "p"),
    "base-wrong": Look("#E69F00", "^"),
    "base-right": Look("#CC79A7", "P"),
    "shortlist": Look("#661100", "*"),
    "audit": Look("#555555", "h"),
    "all": Look("#332288", "<"),
}
BASE_COLOUR = "#888888"
MODEL_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def look(arm: str) -> Look:
    """Return the look of an arm; of a name that is not known, one chosen by the name's checksum."""
    known = LOOKS.get(arm)
    return known or list(LOOKS.values())[zlib.crc32(arm.encode()) % len(LOOKS)]


def model_markers(models: Iterable[str]) -> dict[str, str]:
    """Give each model a marker, in the order of their names; past eight models markers come again."""
    return {model: MODEL_MARKERS[place % len(MODEL_MARKERS)] for place, model in enumerate(sorted(set(models)))}
