"""Settings: flags over the environment over `budgetplan.toml` over defaults, resolved once and frozen.

Invariant: every value knows where it came from, and a setting nobody knows is an error in the file and as a flag.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from budgetplan.errors import ConfigError

CONFIG_FILE = "budgetplan.toml"
PREFIX = "BUDGETPLAN_"


class Settings(BaseModel):
    """Every setting a command can take, with its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    db: Path = Field(Path("budgetplan.duckdb"), description="the store, one DuckDB file")
    model: str | None = Field(None, description="alias, hub name or local path; Qwen3-4B where none is named")
    revision: str | None = Field(None, description="hub revision; pinned to a commit in the store")
    engine: Literal["auto", "transformers", "vllm"] = Field(
        "auto", description="auto: vllm with a GPU, else transformers"
    )
    trust_remote_code: bool = Field(False, description="run code that comes with the model")
    k: int = Field(8, ge=1, le=1_000_000, description="samples per item")
    temperature: float = Field(1.0, ge=0, description="0 is greedy")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus of the distribution that is sampled from")
    max_tokens: int = Field(1024, ge=1, description="longest completion")
    thinking: bool = Field(False, description="let thinking models think first")
    template: str = Field("paper", description="paper, cot, none, or text or a file with {prompt}")
    system: str | None = Field(None, description="system prompt")
    seed: int = Field(0, ge=0, description="of sampling, tie breaks and shuffles")
    verifier: str | None = Field(
        None, description="auto, math, choice, exact, sequence or path.py:function; the run's where none is named"
    )
    prompt_field: str | None = Field(None, description="name of the prompt's field, where it is not found by itself")
    answer_field: str | None = Field(None, description="name of the known answer's field")
    id_field: str | None = Field(None, description="name of the id's field")
    completions_field: str | None = Field(None, description="name of the completions' field, for import-samples")
    group_size: int = Field(8, ge=2, description="G, completions in a GRPO group")
    passes_per_item: float = Field(
        40.0,
        ge=0,
        allow_inf_nan=False,
        description="how often the training will meet each bought item: steps × prompts per update / items",
    )
    policy: Literal["hard", "easy", "middle", "random", "base-wrong", "learnable", "horizon"] = Field(
        "hard", description="which items to buy"
    )
    cost_column: str | None = Field(None, description="column with each item's cost")
    cost_unit: str | None = Field(None, description="unit of that column: h, min, s or a currency")
    cost_per_item: str | None = Field(None, description="one cost for all items, such as 5min or 4usd; or measured")


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings and, by name, where each was taken from."""

    settings: Settings
    origins: Mapping[str, str]


def resolve(
    flags: Mapping[str, Any] | None = None, *, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Resolved:
    """Merge the sources; flags that are None were not given."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for origin, source in (
        (CONFIG_FILE, _from_file((folder or Path()) / CONFIG_FILE)),
        ("environment", _from_environment(environment)),
        ("flag", {name: value for name, value in (flags or {}).items() if value is not None}),
    ):
        values |= source
        origins |= dict.fromkeys(source, origin)
    try:
        return Resolved(Settings(**values), origins)
    except ValidationError as error:
        raise _named(error, origins) from error


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", hint="Make it readable, or move it away."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", hint="Correct it, or move it away.") from error
    return {name.replace("-", "_"): value for name, value in values.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: environment[PREFIX + name.upper()]
        for name in Settings.model_fields
        if environment.get(PREFIX + name.upper())
    }


def _named(error: ValidationError, origins: Mapping[str, str]) -> ConfigError:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        near = get_close_matches(name, Settings.model_fields, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        return ConfigError(
            f"{origins.get(name, CONFIG_FILE)}: there is no setting {name!r}.",
            hint=f"{meant}The settings are {', '.join(Settings.model_fields)}.",
        )
    place = {"environment": PREFIX + name.upper(), "flag": "--" + name.replace("_", "-")}.get(
        origins.get(name, ""), f"{CONFIG_FILE}: {name}"
    )
    reason = first["msg"][0].lower() + first["msg"][1:]
    return ConfigError(f"{place} = {first['input']!r}: {reason}.", hint="See every setting: budgetplan config")
