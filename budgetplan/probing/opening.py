"""Which engine samples, by name. Loads neither engine's libraries before one is opened."""

from importlib import import_module
from importlib.util import find_spec

from budgetplan.errors import ConfigError
from budgetplan.probing.engine import Engine
from budgetplan.probing.models import ResolvedModel, fetch_weights, has_cuda
from budgetplan.records import Sampling

ENGINES = {
    "transformers": ("budgetplan.probing.transformers_engine", "TransformersEngine"),
    "vllm": ("budgetplan.probing.vllm_engine", "VllmEngine"),
}


def open_engine(
    name: str, resolved: ResolvedModel, sampling: Sampling, *, trust_remote_code: bool = False, dtype: str | None = None
) -> Engine:
    """Load a model into an engine; downloads its weights where they are not here yet.

    Raises ConfigError for an engine that does not exist, ModelError where the model or the engine cannot be had.
    """
    if name not in ENGINES:
        raise ConfigError(f"engine {name} is not known.", hint=f"Use --engine {' or --engine '.join(ENGINES)}.")
    module, engine = ENGINES[name]
    opened: Engine = getattr(import_module(module), engine)(
        fetch_weights(resolved), sampling, dtype=dtype, trust_remote_code=trust_remote_code
    )
    return opened


def default_engine() -> str:
    """VLLM where it is installed beside a GPU that torch can use, else transformers."""
    return "vllm" if find_spec("vllm") is not None and has_cuda() else "transformers"
