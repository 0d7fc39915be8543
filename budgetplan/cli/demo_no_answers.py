"""`budgetplan demo --no-answers`: the whole loop without a known answer, and in the end how good its ranking was.

Invariant: the answers and the samples that judge the ranking lie in stores of their own, made for that alone.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetplan.errors import StoreError

if TYPE_CHECKING:
    from budgetplan.cli.demo_play import Play
    from budgetplan.demo.ranking_quality import RankingsJudged
    from budgetplan.demo.rankings import PoolRanking
    from budgetplan.difficulty.trust import Trust

TRUTH_K, TRUTH_SEED = 16, 1
"""The samples that judge: twice as many, of another seed, so none of them is one that the ranking saw."""


@dataclass(frozen=True, slots=True)
class JudgingStores:
    """Where the answers are known: `same` has the samples that were ranked by, `others` has samples of its own."""

    same: Path
    others: Path


def play_without_answers(play: "Play", stores: JudgingStores, settings: dict[str, Any]) -> dict[str, Any]:
    """Play the loop in two batches and judge its rankings; returns the reports for a document."""
    from budgetplan.cli.demo_play import ingest_document
    from budgetplan.cli.demo_quality import quality_document, show_quality
    from budgetplan.cli.documents import plain
    from budgetplan.cli.shortlisted import shortlist_document
    from budgetplan.demo.files import write_unanswered_pool
    from budgetplan.demo.rankings import ranking_of

    store = play.project.store
    probed = play.probe(write_unanswered_pool(play.folder / "unanswered.jsonl"))
    _copy(store.path, stores.same)  # before any label
    ranked = play.rank(top=5)
    rankings = [ranking_of(store)]
    first = play.shortlist("batch-1.csv", "20%", tool="label-studio")
    first_labels = play.label(first, "export-1.json", seed=1)
    rankings.append(ranking_of(store))
    rest = play.shortlist("batch-2.csv", tool="label-studio")
    rest_labels = play.label(rest, "export-2.json", seed=2)
    rankings.append(ranking_of(store))
    status, exported = play.status(), play.export("train.parquet")
    trust = rest_labels.recalibrated.now.trust if rest_labels.recalibrated else None
    judged = _judged(play, stores, settings, rankings, trust)
    if not play.silent:
        show_quality(judged, TRUTH_K)
    return {
        "probe": plain(probed),
        "rank": {**plain(ranked.standing), "items": plain(ranked.table)},
        "shortlists": [shortlist_document(first), shortlist_document(rest)],
        "ingests": [ingest_document(first_labels), ingest_document(rest_labels)],
        "status": plain(status),
        "export": plain(exported),
        "ranking_quality": quality_document(judged, TRUTH_K),
    }


def _copy(store: Path, to: Path) -> None:
    try:
        shutil.copyfile(store, to)
    except OSError as error:
        raise StoreError(
            f"{store} could not be copied to {to}: {error.strerror}.", hint="Free some space, or name another --folder."
        ) from error


def _judged(
    play: "Play",
    stores: JudgingStores,
    settings: dict[str, Any],
    rankings: "list[PoolRanking]",
    trust: "Trust | None",
) -> "RankingsJudged":
    """Judge the same samples by all answers (the ceiling), then sample again for the truth."""
    from budgetplan.demo.files import write_unanswered_pool
    from budgetplan.demo.ranking_quality import judge_rankings
    from budgetplan.demo.rankings import ranking_of
    from budgetplan.project import Project

    pool = write_unanswered_pool(play.folder / "answered.jsonl", answers=True)
    same = Project(db=stores.same, **settings)
    same.probe(pool)  # nothing is missing, so nothing is sampled
    others = Project(progress=play.project.progress, db=stores.others, **settings | {"k": TRUTH_K, "seed": TRUTH_SEED})
    play.say(
        "\n(the loop ends here; to judge its ranking, the answers come out and every item is sampled again)\n"
        f"$ budgetplan probe {pool} --k {TRUTH_K} --seed {TRUTH_SEED} --db {stores.others}"
    )
    others.probe(pool)
    ceiling, truth = ranking_of(same.store), ranking_of(others.store)
    if not truth.item_id == ceiling.item_id == rankings[0].item_id:
        raise ValueError("the judging pool is not the ranked one")
    return judge_rankings(rankings, ceiling, truth.p_hat, trust)
