"""A user's own verifier: a function with TRL's reward signature, called as TRL calls it.

`def f(completions, answer, **columns) -> list[float | None]`: from 0.5 up is correct, less is wrong, None no verdict.
"""

import hashlib
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path
from types import ModuleType

from budgetplan.errors import VerifierError

Reward = Callable[..., list[float | None]]
_SIGNATURE = "def f(completions, answer, **columns) -> list[float | None]"


class RewardFunction:
    """The function `path.py:name`. Its file is executed by `load`, not before: only a worker should."""

    def __init__(self, name: str) -> None:
        path, _, self._attribute = name.rpartition(":")
        self._path = Path(path)
        if not self._path.is_file():
            raise VerifierError(f"{name}: there is no file {path}.", hint=f"Give path.py:function with {_SIGNATURE}.")
        self.name = name
        self.version = hashlib.sha256(self._path.read_bytes()).hexdigest()[:12]
        self.function: Reward | None = None
        self.needs_gold = True

    def load(self) -> None:
        """Execute the file; raises VerifierError if that fails or it holds no such function."""
        self.function = _function(self._path, self._attribute, self.name)
        answer = inspect.signature(self.function).parameters.get("answer")
        self.needs_gold = answer is not None and answer.default is inspect.Parameter.empty

    def rewards(
        self, completions: Sequence[str], answers: Sequence[str | None], columns: dict[str, list[object]]
    ) -> list[float | None]:
        """Call the function; its own exceptions pass through.

        Raises VerifierError where it does not return one number or None per completion.
        """
        if self.function is None:
            self.load()
        assert self.function is not None
        returned = self.function(completions=list(completions), answer=list(answers), **columns)
        if not isinstance(returned, (list, tuple)):
            raise _breach(self.name, f"returned {_described(returned)} instead of a list")
        if len(returned) != len(completions):
            raise _breach(self.name, f"returned {len(returned)} rewards for {len(completions)} completions")
        odd = [reward for reward in returned if reward is not None and not isinstance(reward, Real)]
        if odd:
            raise _breach(self.name, f"returned {_described(odd[0])} as a reward")
        return [None if reward is None or math.isnan(reward) else float(reward) for reward in returned]


def _function(path: Path, attribute: str, name: str) -> Reward:
    function = getattr(_module(path, name), attribute, None)
    if not callable(function):
        raise VerifierError(f"{name}: {path} has no function {attribute!r}.", hint=f"Write {_SIGNATURE}.")
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        raise VerifierError(
            f"{name} takes no **columns, but TRL passes every column of the data set by name.",
            hint=f"Write {_SIGNATURE}.",
        )
    return function  # type: ignore[no-any-return]


def _module(path: Path, name: str) -> ModuleType:
    path = path.resolve()
    spec = importlib.util.spec_from_file_location(f"budgetplan_verifier_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise VerifierError(f"{name}: {path} is not a Python file.", hint=f"Give path.py:function with {_SIGNATURE}.")
    module = importlib.util.module_from_spec(spec)
    # As when Python runs the file: its neighbours can be imported.
    sys.path.insert(0, str(path.parent))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise VerifierError(f"{name}: {path} cannot be loaded: {type(error).__name__}: {error}.") from error
    return module


def _breach(name: str, what: str) -> VerifierError:
    return VerifierError(f"{name} {what}.", hint=f"Return one number or None per completion: {_SIGNATURE}.")


def _described(value: object) -> str:
    return f"{type(value).__name__} {value!r}"[:120]
