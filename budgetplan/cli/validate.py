"""`budgetplan validate`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan validate --arms hard,random,learnable --seeds 3 --test held-out.jsonl")
def validate(
    model: o.Model = None,
    run: o.Run = None,
    arms: Annotated[
        str | None,
        typer.Option(
            "--arms",
            help="Of hard, easy, middle, random, learnable, horizon, base-wrong, base-right, shortlist, audit, all; "
            "the first is judged. [default: hard,easy,middle,random, or shortlist,audit where only that was labelled]",
        ),
    ] = None,
    control: Annotated[
        str | None, typer.Option("--control", help="The arm it is compared with. [default: audit, else random]")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", "-b", help="Items per arm. [default: the shortlist's, else 10%]")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Trainings per arm.")] = 3,
    recipe: Annotated[Literal["paper", "dr-grpo", "dapo"], typer.Option("--recipe", help="How GRPO trains.")] = "paper",
    steps: Annotated[int | None, typer.Option("--steps", help="Updates per training. [default: 1000]")] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", help="[default: 3e-5]")] = None,
    beta: Annotated[float | None, typer.Option("--beta", help="Weight of the KL term. [default: the recipe's]")] = None,
    group_size: o.GroupSize = None,
    prompts_per_update: Annotated[
        int | None, typer.Option("--prompts-per-update", help="Groups per update. [default: 32]")
    ] = None,
    evaluate_every: Annotated[
        int | None, typer.Option("--evaluate-every", help="Updates between measurements. [default: 100]")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Train all weights, not a LoRA adapter of rank 32.")] = False,
    four_bit: Annotated[bool, typer.Option("--four-bit", help="Base weights in 4 bits; needs a GPU.")] = False,
    accelerate_config: Annotated[
        Path | None, typer.Option("--accelerate-config", help="Several GPUs: a file of `accelerate config`.")
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", help="Prompts with answers to measure on; read like a pool.")
    ] = None,
    holdout: Annotated[
        str, typer.Option("--holdout", help="Without --test: this part of the items with an answer.")
    ] = "20%",
    drop_leaks: Annotated[
        bool, typer.Option("--drop-leaks", help="Leave test prompts out that an arm trains on.")
    ] = False,
    ood: Annotated[str | None, typer.Option("--ood", help="Prompts of another kind, measured by pass@k.")] = None,
    pass_k: Annotated[int, typer.Option("--pass-k", help="The k of pass@k.")] = 8,
    samples: Annotated[int, typer.Option("--samples", help="Samples per test prompt.")] = 4,
    greedy: Annotated[bool, typer.Option("--greedy", help="Measure greedily, one sample per prompt.")] = False,
    seed: o.Seed = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for pictures. [default: validation]")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be trained, and how long it would take.")
    ] = False,
    gpu_price: Annotated[
        str | None, typer.Option("--gpu-price", help="Of one GPU hour, for --dry-run: 2.50usd")
    ] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    yes: o.Yes = False,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Train with GRPO on the shortlist and on control arms, and say whether the choice was right.

    Every arm gets as many items, steps and seeds; base and arms are measured on the same held-out prompts.
    Run it again to go on where it stopped.
    """
    from budgetplan.cli.session import opened
    from budgetplan.cli.validated import show_plan, show_validation
    from budgetplan.steps.validation_choices import ValidateChoices

    given = {
        "steps": steps,
        "learning_rate": learning_rate,
        "beta": beta,
        "prompts_per_update": prompts_per_update,
        "evaluate_every": evaluate_every,
    }
    choices = ValidateChoices(
        run=run,
        arms=tuple(name.strip() for name in arms.split(",") if name.strip()) if arms else (),
        control=control,
        budget=budget,
        n_seeds=seeds,
        recipe=recipe,
        changes={name: value for name, value in given.items() if value is not None},
        test=test,
        holdout=holdout,
        ood=ood,
        n_samples=samples,
        greedy=greedy,
        k_of_pass=pass_k,
        drop_leaks=drop_leaks,
        lora=not full,
        four_bit=four_bit,
        accelerate_config=accelerate_config,
        out=out,
    )
    with opened(
        log_file,
        db=db,
        model=model,
        group_size=group_size,
        seed=seed,
        trust_remote_code=trust_remote_code or None,
    ) as (project, confirm):
        choices = replace(choices, confirm=None if yes else confirm)
        if dry_run:
            plan = project.plan_validation(choices, gpu_price=gpu_price)
        else:
            report = project.validate(choices)
    if dry_run:
        show_plan(plan, as_json=as_json)
    else:
        show_validation(report, as_json=as_json)
