"""Options that several commands share, each declared once."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Db = Annotated[Path | None, typer.Option("--db", help="The store, one DuckDB file. [default: budgetplan.duckdb]")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, everything else on stderr.")]
LogFile = Annotated[Path | None, typer.Option("--log-file", help="Append what happens to this file.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="phi-4, qwen3-4b, qwen3-14b, llama-3.1-8b, a hub name or a local folder. "
        "[default: the store's, else qwen3-4b]",
    ),
]
Engine = Annotated[
    Literal["transformers", "vllm"] | None,
    typer.Option("--engine", help="[default: vllm with a GPU, else transformers]"),
]
Run = Annotated[str | None, typer.Option("--run", help="A probe run's id, or its beginning. [default: the last used]")]
Seed = Annotated[int | None, typer.Option("--seed", help="Of sampling, tie breaks and shuffles. [default: 0]")]
Verifier = Annotated[
    str | None,
    typer.Option(
        "--verifier", help="auto, math, choice, exact, sequence or path.py:function. [default: the run's, else auto]"
    ),
]
Conflicts = Annotated[
    Literal["first", "drop"] | None,
    typer.Option("--conflicts", help="Where one prompt has different known answers: keep the first, or drop the item."),
]
PromptField = Annotated[str | None, typer.Option("--prompt-field", help="Name of the prompt's field, if not found.")]
AnswerField = Annotated[str | None, typer.Option("--answer-field", help="Name of the known answer's field.")]
CompletionsField = Annotated[
    str | None, typer.Option("--completions-field", help="Name of the completions' field, if not found.")
]
IdField = Annotated[str | None, typer.Option("--id-field", help="Name of the id's field.")]
Policy = Annotated[
    Literal["hard", "easy", "middle", "random", "base-wrong", "learnable", "horizon"] | None,
    typer.Option("--policy", "-p", help="Which items to buy. [default: hard]"),
]
GroupSize = Annotated[int | None, typer.Option("--group-size", "-G", help="Completions in a GRPO group. [default: 8]")]
PassesPerItem = Annotated[
    float | None,
    typer.Option(
        "--passes-per-item",
        help="How often training will meet each bought item: steps × prompts per update / items. [default: 40]",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="Keep items out of the shortlist, by any column of yours: split=test"),
]
CostColumn = Annotated[str | None, typer.Option("--cost-column", help="Column with each item's cost.")]
CostUnit = Annotated[str | None, typer.Option("--cost-unit", help="Unit of that column: h, min, s or a currency.")]
CostPerItem = Annotated[
    str | None,
    typer.Option("--cost-per-item", help="One cost for all: 5min, 4usd; or measured: the annotators' times."),
]
Tool = Literal["label-studio", "argilla", "prodigy", "spreadsheet", "jsonl", "parquet"]
Role = Annotated[
    Literal["base", "reference"],
    typer.Option("--role", help="reference: another model, whose answers the base model's are compared with."),
]
SinglePass = Annotated[
    bool, typer.Option("--single-pass", help="Without answers: look at the first sample of each item alone.")
]
ToolFormat = Annotated[Tool, typer.Option("--format", "-f", help="The annotators' tool.")]
ExportFormat = Annotated[
    Tool | None,
    typer.Option("--format", "-f", help="The tool that wrote them. [default: found from the content]"),
]
