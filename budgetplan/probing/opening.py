"""Which engine samples, by name. Loads neither engine's libraries before one is opened."""

from importlib.util import find_spec

from budgetplan.errors import ConfigError
from budgetplan.probing.engine import Engine
from budgetplan.probing.models import ResolvedModel, fetch_weights, has_cuda
from budgetplan.records import Sampling


def open_engine(
    name: str, resolved: ResolvedModel, sampling: Sampling, *, trust_remote_code: bool = False, dtype: str | None = None
) -> Engine:
    """Load a model into an engine; downloads its weights where they are not here yet.

    Raises ConfigError for an engine that does not exist, ModelError where the model or the engine cannot be had.
    """
    if name not in ENGINES:
        raise ConfigError(f"engine {name} is not known.", hint=f"Use --engine {' or --engine '.join(ENGINES)}.")
    return ENGINES[name](fetch_weights(resolved), sampling, trust_remote_code, dtype)


def default_engine() -> str:
    """Name vLLM where it is installed beside a GPU that torch can use, else transformers."""
    return "vllm" if find_spec("vllm") is not None and has_cuda() else "transformers"


def _transformers(resolved: ResolvedModel, sampling: Sampling, trust_remote_code: bool, dtype: str | None) -> Engine:
    from budgetplan.probing.transformers_engine import TransformersEngine

    return TransformersEngine(resolved, sampling, dtype=dtype, trust_remote_code=trust_remote_code)


def _vllm(resolved: ResolvedModel, sampling: Sampling, trust_remote_code: bool, dtype: str | None) -> Engine:
    from budgetplan.probing.vllm_engine import VllmEngine

    return VllmEngine(resolved, sampling, dtype=dtype, trust_remote_code=trust_remote_code)


ENGINES = {"transformers": _transformers, "vllm": _vllm}
