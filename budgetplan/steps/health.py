"""Whether a run's samples can carry a ranking: outcomes, truncation, missing answers, failures, said as warnings."""

from dataclasses import dataclass

import pyarrow as pa

from budgetplan.records import COUNTED, Outcome
from budgetplan.store.connection import Store
from budgetplan.store.runs import ProbeRun
from budgetplan.store.verdicts import item_counts, truncated_share

NOTICEABLE = 0.02
"""Share of truncated or failed samples from which a warning is worth its line."""
SPOILED = 0.05
"""Share of the p̂ = 0 items that are there for lack of an answer rather than for wrong ones."""


@dataclass(frozen=True, slots=True)
class RunHealth:
    """Samples by outcome, and what is wrong with them."""

    outcomes: dict[str, int]
    truncated_share: float
    n_items_unanswered: int
    warnings: list[str]


def run_health(store: Store, run: ProbeRun) -> RunHealth:
    """Judge a run by its stored samples on its pool."""
    with store.reading() as connection:
        counts = item_counts(connection, run.run_id, run.pool_id, run.verdicts_by)
        cut = truncated_share(connection, run.run_id)
    return health_of(counts, cut, run.config.get("max_tokens"))


def health_of(counts: pa.Table, truncated: float, max_tokens: int | None) -> RunHealth:
    """Judge a run from its counts by item (`item_counts`) and the share of samples cut off at the token limit."""
    count = {outcome: counts["n_" + outcome].to_numpy() for outcome in Outcome}
    k = sum(count[outcome] for outcome in COUNTED)
    never = (count[Outcome.CORRECT] == 0) & (k > 0)
    spoiled = never & (2 * (count[Outcome.NO_ANSWER] + count[Outcome.TRUNCATED]) >= k)
    n_unanswered, n_zero = int(spoiled.sum()), int(never.sum())
    outcomes = {outcome.value: int(number.sum()) for outcome, number in count.items()}
    warnings = _truncation(truncated, max_tokens) + _unanswered(n_unanswered, n_zero) + _failures(outcomes)
    return RunHealth(outcomes, truncated, n_unanswered, warnings)


def _truncation(share: float, max_tokens: int | None) -> list[str]:
    if share < NOTICEABLE:
        return []
    limit = f" (--max-tokens {max_tokens})" if max_tokens else ""
    remedy = f" Sample again with more room: --max-tokens {max_tokens * 2}" if max_tokens else ""
    return [
        f"{share:.0%} of the samples were cut off at the token limit{limit}; they look hard, but are only long.{remedy}"
    ]


def _unanswered(n_unanswered: int, n_zero: int) -> list[str]:
    if n_zero == 0 or n_unanswered < max(1.0, SPOILED * n_zero):
        return []
    return [
        f"{n_unanswered} of the {n_zero} items with p̂ = 0 are there mostly for lack of an answer (none found, or cut "
        "off), not for wrong ones. Check the template, --max-tokens and the verifier before paying for them."
    ]


def _failures(outcomes: dict[str, int]) -> list[str]:
    lines = []
    if outcomes["engine_error"]:
        lines.append(
            f"{outcomes['engine_error']} samples failed in the engine; run the same command again to retry them."
        )
    if outcomes["verifier_error"]:
        lines.append(
            f"{outcomes['verifier_error']} samples could not be judged (the verifier failed or took too long); "
            "they are left out of p̂, not counted as wrong."
        )
    return lines
