"""`budgetplan probe`."""

from typing import Annotated, Literal

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import INCOMPLETE, app


@app.command(epilog="Example: budgetplan probe pool.jsonl --model qwen3-4b --k 8")
def probe(
    pool: Annotated[str, typer.Argument(help="JSONL, CSV, Parquet, JSON, hf://name[:split] or a datasets folder.")],
    model: o.Model = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Samples per item. [default: 8]")] = None,
    single_pass: Annotated[
        bool, typer.Option("--single-pass", help="One sample per item, --k 1: the cheap base-wrong filter.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option("--budget", "-b", help="What labels will be bought for: samples go where they matter for it."),
    ] = None,
    policy: o.Policy = None,
    adaptive: Annotated[
        bool | None,
        typer.Option(
            "--adaptive/--uniform",
            help="Place samples for the budget, at most half of K per item on average, or take K of each. "
            "[default: adaptive with a budget]",
        ),
    ] = None,
    engine: o.Engine = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", help="Longest completion. [default: 1024]")] = None,
    temperature: Annotated[float | None, typer.Option("--temperature", help="0 is greedy. [default: 1.0]")] = None,
    top_p: Annotated[float | None, typer.Option("--top-p", help="Nucleus. [default: 1.0]")] = None,
    template: Annotated[
        str | None,
        typer.Option("--template", help="paper, cot, none, or text or a file with {prompt}. [default: paper]"),
    ] = None,
    system: Annotated[str | None, typer.Option("--system", help="System prompt.")] = None,
    thinking: Annotated[
        Literal["on", "off"] | None, typer.Option("--thinking", help="For thinking models. [default: off]")
    ] = None,
    seed: o.Seed = None,
    verifier: o.Verifier = None,
    revision: Annotated[str | None, typer.Option("--revision", help="Hub revision; pinned in the store.")] = None,
    prompt_field: o.PromptField = None,
    answer_field: o.AnswerField = None,
    id_field: o.IdField = None,
    conflicts: o.Conflicts = None,
    role: o.Role = "base",
    skip_too_long: Annotated[
        bool, typer.Option("--skip-too-long", help="Leave out prompts longer than the model's context.")
    ] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    yes: o.Yes = False,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Sample a model K times on each prompt.

    Imports the pool first and verifies afterwards what has a known answer.
    Run it again to go on where it stopped, or with a larger --k to add samples.
    """
    from budgetplan.cli.screens import show_probe
    from budgetplan.cli.session import opened

    if single_pass and k not in (None, 1):
        raise typer.BadParameter(f"--single-pass takes one sample per item, and --k asks for {k}: leave one away.")
    with opened(
        log_file,
        db=db,
        model=model,
        k=1 if single_pass else k,
        policy=policy,
        engine=engine,
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        template=template,
        system=system,
        thinking=thinking,
        seed=seed,
        verifier=verifier,
        revision=revision,
        prompt_field=prompt_field,
        answer_field=answer_field,
        id_field=id_field,
        trust_remote_code=trust_remote_code or None,
    ) as (project, confirm):
        ask = None if yes else confirm
        report = project.probe(
            pool,
            conflicts=conflicts,
            skip_too_long=skip_too_long,
            confirm=ask,
            role=role,
            budget=budget,
            adaptive=adaptive is True,
            uniform=adaptive is False,
        )
    show_probe(report, as_json=as_json)
    if report.n_missing:
        raise typer.Exit(INCOMPLETE)
