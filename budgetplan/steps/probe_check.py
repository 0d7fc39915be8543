"""What is settled and checked before a probe stores or loads anything: model, run, gaps, prompt lengths."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from budgetplan.config import Settings
from budgetplan.errors import ConfigError, PoolError
from budgetplan.pool.merging import Conflicts
from budgetplan.pool.reader import Pool
from budgetplan.pool.templates import resolve_template
from budgetplan.probing.fitting import longer_than_context
from budgetplan.probing.identity import differences, run_config, run_id_of
from budgetplan.probing.models import ALIASES, ResolvedModel, resolve_model
from budgetplan.probing.opening import default_engine
from budgetplan.records import ItemId, Progress, Sampling
from budgetplan.steps.missing import Missing, find_gaps
from budgetplan.steps.pools import pool_id_of
from budgetplan.store.connection import Store
from budgetplan.store.runs import BASE, IMPORTED, REFERENCE, ProbeRun, Role, all_runs

DEFAULT_MODEL = "qwen3-4b"


@dataclass(frozen=True, slots=True)
class ProbeChoices:
    """What holds for one probe alone, and is no setting of the project; without `confirm` nothing is asked.

    `adaptive` places samples for what the budget buys, `uniform` takes K of every item; without either and without a
    budget it is as in the run's last probe.
    """

    conflicts: Conflicts | None = None
    skip_too_long: bool = False
    confirm: Callable[[str], bool] | None = None
    role: Role = BASE
    budget: str | None = None
    adaptive: bool = False
    uniform: bool = False


@dataclass(frozen=True, slots=True)
class CheckedProbe:
    """A probe that can begin; `notes` say what the user did not ask for in so many words."""

    pool: Pool
    model: ResolvedModel
    sampling: Sampling
    run: ProbeRun
    missing: Missing
    too_long: list[ItemId]
    notes: list[str]


def check_probe(
    store: Store, pool: Pool, settings: Settings, choices: ProbeChoices, progress: Progress
) -> CheckedProbe:
    """Settle which run a probe means and what it lacks; raises before anything is stored."""
    template = resolve_template(settings.template)
    known = known_runs(store)
    sampled = [run for run in known if run.engine != IMPORTED]
    alike = [run for run in sampled if run.role == choices.role]
    name = settings.model or (alike[0].model if alike else _first_model(choices.role))
    model = resolve_model(name, settings.revision or _pinned(name, sampled))
    engine = default_engine() if settings.engine == "auto" else settings.engine
    sampling = Sampling(settings.temperature, settings.top_p, settings.max_tokens, settings.thinking)
    config = run_config(model.identity, engine, template, settings.system, sampling, settings.seed)
    run = ProbeRun(
        run_id=run_id_of(config),
        pool_id=pool_id_of(pool),
        model=model.identity.name,
        revision=model.identity.revision,
        engine=engine,
        config=config,
        k=settings.k,
        verifier=settings.verifier or "auto",
        verdicts_by="",
        role=choices.role,
    )
    run = carried_on(run, settings.verifier, known)
    gaps = find_gaps(store, run.run_id, pool.table, settings.k)
    wanted = Missing(gaps, template, settings.system, settings.seed)
    too_long = _that_do_not_fit(wanted, model, pool, settings, choices, progress)
    missing = wanted.without(too_long)
    notes = _about_model(settings, alike) + _about_run(run, alike) + about_run(run, pool.source, known)
    return CheckedProbe(pool, model, sampling, run, missing, too_long, notes)


def known_runs(store: Store) -> list[ProbeRun]:
    """Every run in the store, base runs first, and of each role the last used first; none where there is no store."""
    if not store.path.exists():
        return []
    with store.reading() as connection:
        return all_runs(connection)


def _pinned(name: str, known: list[ProbeRun]) -> str | None:
    """The revision this store pinned the model to, so that a later push to the hub changes nothing."""
    return next((run.revision for run in known if run.model in (name, ALIASES.get(name))), None)


def _first_model(role: Role) -> str:
    if role == REFERENCE:
        raise ConfigError(
            "a reference is another model than the base model, and none is named.",
            hint="Name one: budgetplan probe POOL --role reference --model qwen3-14b",
        )
    return DEFAULT_MODEL


def carried_on(run: ProbeRun, verifier: str | None, known: list[ProbeRun]) -> ProbeRun:
    """The run as the store knows it: with the verifier it had, unless another is asked for, and the larger K.

    A reference has the base run's verifier, so that their answers can be compared.
    """
    before, base = _before(run, known), base_beside(run, known)
    if before:
        asked = verifier or before.verifier
        run = replace(run, k=max(run.k, before.k), verifier=asked, verdicts_by=before.verdicts_by)
    if run.role == REFERENCE and verifier is None and base and base.judged_by:
        run = replace(run, verifier=base.judged_by)
    return run


def base_beside(run: ProbeRun, known: list[ProbeRun]) -> ProbeRun | None:
    """The last used base run, other than the run itself."""
    return next((other for other in known if other.role == BASE and other.run_id != run.run_id), None)


def _before(run: ProbeRun, known: list[ProbeRun]) -> ProbeRun | None:
    return next((other for other in known if other.run_id == run.run_id), None)


def about_run(run: ProbeRun, source: str, known: list[ProbeRun]) -> list[str]:
    """Say when a run is a reference, changes its role, or moves on to another pool, the one it is then ranked on."""
    before = _before(run, known)
    notes = []
    if before and before.role != run.role:
        notes.append(f"{run.run_id} ({run.model}) was used as {before.role} so far.")
    if run.role == REFERENCE:
        return [
            *notes,
            f"{run.run_id} is a reference: rank compares the base model's answers with those of {run.model}.",
        ]
    if before and before.pool_id != run.pool_id:
        notes.append(
            f"{run.run_id} was last used on another pool. rank and shortlist now look at {source} alone; the samples "
            "of the other are kept. Several files can be one pool: put their rows together, or import-samples A B."
        )
    return notes


def _about_model(settings: Settings, known: list[ProbeRun]) -> list[str]:
    if settings.model is None and not known:
        return [f"No model named: taking {DEFAULT_MODEL} ({ALIASES[DEFAULT_MODEL]}). Name another with --model."]
    return []


def _about_run(run: ProbeRun, known: list[ProbeRun]) -> list[str]:
    """Say when this is not the base run used last, and what tells them apart."""
    if run.role == REFERENCE or not known or run.run_id == known[0].run_id:
        return []
    last = known[0]
    changed = "; ".join(differences(run.config, last.config))
    notes = [f"{run.run_id} is another probe run than {last.run_id}, used last ({changed}). Both are kept, apart."]
    if (run.model, run.revision) != (last.model, last.revision):
        notes.append(f"Difficulty belongs to one model: estimates for {last.model} say nothing of {run.model}.")
    return notes


def _that_do_not_fit(
    missing: Missing, model: ResolvedModel, pool: Pool, settings: Settings, choices: ProbeChoices, progress: Progress
) -> list[ItemId]:
    """Name the prompts longer than the context, to leave out; raise PoolError where the user did not allow it."""
    progress.start("reading the prompts", None)
    trust = settings.trust_remote_code
    found = list(longer_than_context(model, missing.requests(), thinking=settings.thinking, trust_remote_code=trust))
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
    return [item_id for item_id, _, _ in found]
