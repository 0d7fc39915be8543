"""Which configuration a probe run is: everything that shapes its samples, and nothing else."""

import hashlib
import json
from textwrap import shorten
from typing import Any

from budgetplan.records import ModelIdentity, Sampling


def run_config(
    model: ModelIdentity, engine: str, template: str, system: str | None, sampling: Sampling, seed: int
) -> dict[str, Any]:
    """The settings whose change makes another run; K is not among them, so samples can be added."""
    return {
        "model": model.name,
        "revision": model.revision,
        "engine": engine,
        "template": template,
        "system": system,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "thinking": sampling.thinking,
        "seed": seed,
    }


def run_id_of(config: dict[str, Any]) -> str:
    """`run-` and a digest of the configuration. The revision names the weights, so where they lie does not matter."""
    named = {name: value for name, value in config.items() if name != "model" or not config.get("revision")}
    text = json.dumps(named, sort_keys=True, ensure_ascii=False)
    return "run-" + hashlib.sha256(text.encode()).hexdigest()[:10]


def differences(config: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What tells two runs apart, as `name: before → after`."""
    names = sorted(config.keys() | other.keys())
    return [
        f"{name}: {_short(other.get(name))} → {_short(config.get(name))}"
        for name in names
        if config.get(name) != other.get(name)
    ]


def _short(value: Any) -> str:
    return shorten(str(value), 60, placeholder=" …")
