"""`export`: the labelled training set, each row with its answer, where that came from, and the user's columns."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.annotation.landing import landing
from budgetplan.config import Settings
from budgetplan.errors import BudgetplanError, ConfigError, NothingToDo
from budgetplan.exporting.formats import FORMATS, Format
from budgetplan.pool.templates import PLACEHOLDER, chats_as_json
from budgetplan.records import Progress
from budgetplan.steps.estimates import pool_estimates
from budgetplan.steps.upkeep import ready_run
from budgetplan.store.connection import Store
from budgetplan.store.pools import item_details
from budgetplan.store.runs import ProbeRun
from budgetplan.store.shortlists import check_shortlist
from budgetplan.store.training import labelled_items, n_unusable


@dataclass(frozen=True, slots=True)
class ExportChoices:
    """For which framework, where to, and which items: those of one shortlist, or of all; without the audit items."""

    target: str
    out: Path | None = None
    shortlist: str | None = None
    without_audit: bool = False
    with_known: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: items by where their answer came from, and those left out as ambiguous or unanswerable."""

    path: Path
    target: str
    n_items: int
    n_from_labels: int
    n_from_pool: int
    n_unusable: int


def export(
    store: Store, settings: Settings, wanted: str | None, choices: ExportChoices, progress: Progress
) -> Exported:
    """Write every item that has an answer, prompts as the probe asked them."""
    if choices.target not in FORMATS:
        raise ConfigError(f"--for: there is no target {choices.target!r}.", hint=f"Targets: {', '.join(FORMATS)}.")
    target = FORMATS[choices.target]
    path = choices.out or Path(f"train.{choices.target}{target.suffix}")
    if path.suffix.lower() not in target.endings:
        raise ConfigError(
            f"--out {path}: {choices.target} is written as {target.suffix or 'a folder'}.",
            hint=f"Write to {path.with_suffix(target.suffix)}, or leave --out away.",
        )
    if path.exists() and not choices.force:
        raise BudgetplanError(f"{path} exists.", hint="Write elsewhere: --out OTHER, or replace it: --force")
    with ready_run(store, wanted, progress) as run, store.reading() as connection:
        if choices.shortlist is not None:
            check_shortlist(connection, choices.shortlist)
        items = labelled_items(connection, run.pool_id, choices.shortlist, with_known=choices.with_known)
        if choices.without_audit:
            items = items.filter(pc.or_(items["picked"], pc.invert(items["audit"])))
        if not items.num_rows:
            raise NothingToDo(
                "no item that was shortlisted has an answer yet.",
                hint="Bring labels in: budgetplan ingest FILE, or take all whose answer was known: --with-known",
            )
        rows = _rows(items, run, pool_estimates(store, run, settings.group_size, signals=None).table)
        own = item_details(connection, run.pool_id, items["item_id"]).drop_columns("prompt")
        unusable = n_unusable(connection, run.pool_id)
    for name in own.column_names:
        rows = rows.append_column(name, own[name])
    _write(target, rows, path)
    n_from_labels = int(pc.sum(pc.equal(rows["gold_source"], "label")).as_py() or 0)
    return Exported(path, choices.target, rows.num_rows, n_from_labels, rows.num_rows - n_from_labels, unusable)


def _rows(items: pa.Table, run: ProbeRun, estimates: pa.Table) -> pa.Table:
    """Add the chat as the probe sent it, the estimates, and where all of it comes from."""
    template, system = run.config.get("template", PLACEHOLDER), run.config.get("system")
    chats = chats_as_json(items["prompt"], items["messages"], template, system)
    rows = items.set_column(items.schema.get_field_index("messages"), "messages", chats)
    places = pc.index_in(items["item_id"], value_set=estimates["item_id"])
    for name in ("p_hat", "p_mean"):
        rows = rows.append_column(name, estimates[name].take(places))
    for name, value in (("verifier", run.verdicts_by), ("run_id", run.run_id), ("model", run.model)):
        rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
    return rows


def _write(target: Format, rows: pa.Table, path: Path) -> None:
    if not target.suffix:
        target.write(rows, path)
        return
    with landing(path) as (file,):
        target.write(rows, file)
