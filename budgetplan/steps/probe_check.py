"""What is settled and checked before a probe stores or loads anything: model, run, gaps, prompt lengths."""

from collections.abc import Callable
from dataclasses import dataclass

from budgetplan.config import Settings
from budgetplan.errors import PoolError
from budgetplan.pool.merging import Conflicts
from budgetplan.pool.reader import Pool
from budgetplan.pool.templates import resolve_template
from budgetplan.probing.fitting import too_long
from budgetplan.probing.identity import differences, run_config, run_id_of
from budgetplan.probing.models import ALIASES, ResolvedModel, resolve_model
from budgetplan.probing.opening import default_engine
from budgetplan.records import Progress, Sampling
from budgetplan.steps.missing import Missing, find_gaps
from budgetplan.steps.pools import pool_id_of
from budgetplan.store.connection import Store
from budgetplan.store.runs import IMPORTED, ProbeRun, all_runs

DEFAULT_MODEL = "qwen3-4b"


@dataclass(frozen=True, slots=True)
class ProbeChoices:
    """What holds for one probe alone, and is no setting of the project; without `confirm` nothing is asked."""

    conflicts: Conflicts | None = None
    skip_too_long: bool = False
    confirm: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class CheckedProbe:
    """A probe that can begin; `notes` say what the user did not ask for in so many words."""

    pool: Pool
    model: ResolvedModel
    sampling: Sampling
    run: ProbeRun
    missing: Missing
    n_too_long: int
    notes: list[str]


def check_probe(
    store: Store, pool: Pool, settings: Settings, choices: ProbeChoices, progress: Progress
) -> CheckedProbe:
    """Settle which run a probe means and what it lacks; raises before anything is stored."""
    template = resolve_template(settings.template)
    known = _sampled_runs(store)
    name = settings.model or (known[0].model if known else DEFAULT_MODEL)
    model = resolve_model(name, settings.revision or _pinned(name, known))
    engine = default_engine() if settings.engine == "auto" else settings.engine
    sampling = Sampling(settings.temperature, settings.top_p, settings.max_tokens, settings.thinking)
    config = run_config(model.identity, engine, template.text, settings.system, sampling, settings.seed)
    run = ProbeRun(
        run_id=run_id_of(config),
        pool_id=pool_id_of(pool),
        model=model.identity.name,
        revision=model.identity.revision,
        engine=engine,
        config=config,
        k=settings.k,
        verifier=settings.verifier,
        verdicts_by="",
    )
    gaps = find_gaps(store, run.run_id, pool.table, settings.k)
    wanted = Missing(gaps, template, settings.system, settings.seed)
    missing = _that_fit(wanted, model, pool, settings, choices, progress)
    notes = _about_model(settings, known) + _about_run(run, known)
    return CheckedProbe(pool, model, sampling, run, missing, gaps.num_rows - missing.gaps.num_rows, notes)


def _sampled_runs(store: Store) -> list[ProbeRun]:
    if not store.path.exists():
        return []
    with store.reading() as connection:
        return [run for run in all_runs(connection) if run.engine != IMPORTED]


def _pinned(name: str, known: list[ProbeRun]) -> str | None:
    """The revision this store pinned the model to, so that a later push to the hub changes nothing."""
    return next((run.revision for run in known if run.model in (name, ALIASES.get(name))), None)


def _about_model(settings: Settings, known: list[ProbeRun]) -> list[str]:
    if settings.model is None and not known:
        return [f"No model named: taking {DEFAULT_MODEL} ({ALIASES[DEFAULT_MODEL]}). Name another with --model."]
    return []


def _about_run(run: ProbeRun, known: list[ProbeRun]) -> list[str]:
    """Say when this is not the run used last, and what tells them apart."""
    if not known or run.run_id == known[0].run_id:
        return []
    last = known[0]
    changed = "; ".join(differences(run.config, last.config))
    notes = [f"{run.run_id} is another probe run than {last.run_id}, used last ({changed}). Both are kept, apart."]
    if (run.model, run.revision) != (last.model, last.revision):
        notes.append(f"Difficulty belongs to one model: estimates for {last.model} say nothing of {run.model}.")
    return notes


def _that_fit(
    missing: Missing, model: ResolvedModel, pool: Pool, settings: Settings, choices: ProbeChoices, progress: Progress
) -> Missing:
    """Leave out prompts longer than the context where the user allows it, else raise PoolError for the first."""
    progress.start("reading the prompts", None)
    trust = settings.trust_remote_code
    found = list(too_long(model, missing.requests(), thinking=settings.thinking, trust_remote_code=trust))
    progress.finish()
    if found and not choices.skip_too_long:
        item_id, tokens, context = found[0]
        place = missing.gaps["row"][missing.gaps["item_id"].index(item_id).as_py()]
        more = f" ({len(found)} such prompts in all)" if len(found) > 1 else ""
        raise PoolError(
            f"{pool.source}:{place}: the prompt has {tokens} tokens, and the context of {model.identity.name} "
            f"holds {context}{more}.",
            hint="Shorten it, or leave such items out: --skip-too-long",
        )
    return missing.without([item_id for item_id, _, _ in found])
