"""Best and second best of a table's row or column, as bold and underlined in papers.

Invariant: what prints alike is placed alike.
"""

import math
from collections.abc import Sequence


def places(values: Sequence[float], decimals: int = 1) -> list[int]:
    """Place every value by its printed digits: 1 is the highest, 2 the next lower one; ties share; 0 for nan."""
    printed = [float(f"{value:.{decimals}f}") for value in values]
    order = sorted({value for value in printed if not math.isnan(value)}, reverse=True)
    return [0 if math.isnan(value) else order.index(value) + 1 for value in printed]
