"""What every test may ask for: tiny models of real families, and the real data where it is at hand."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tiny_models import Family, build_tiny_model

SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"

# All from importing and starting vLLM 0.31 beside torch 2.13.
THIRD_PARTY_WARNINGS = (
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning",
    "ignore:`torch.distributed.reduce_op` is deprecated:FutureWarning",
    "ignore:Unclosed context <zmq:ResourceWarning",  # left by a start that fails
)


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")
    for warning in THIRD_PARTY_WARNINGS:
        config.addinivalue_line("filterwarnings", warning)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Build `tiny_model(family, **options)` once per session and return its folder; see `build_tiny_model`."""
    built: dict[tuple[object, ...], Path] = {}

    def build(family: Family = "qwen3", **options: object) -> Path:
        key = (family, *sorted(options.items()))
        if key not in built:
            built[key] = build_tiny_model(tmp_path_factory.mktemp(family), family, **options)  # type: ignore[arg-type]
        return built[key]

    return build


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project; tests that need it are skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real data in ../shared/data")
    return SHARED_DATA.resolve()
