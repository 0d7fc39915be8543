"""Sampling through vLLM: the model is loaded once, and its processes are gone when the engine is closed.

Every sample has its own seed, so which samples share a batch changes nothing but the last bits of floating point.
"""

import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from multiprocessing import active_children
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from queue import Queue
from threading import Thread
from typing import Any

from budgetplan.errors import ModelError
from budgetplan.probing.models import ResolvedModel, load_tokenizer
from budgetplan.probing.vllm_process import EngineProcesses, interruptible
from budgetplan.records import Completion, SampleRequest, Sampling

GIB = 1 << 30
CLOSE_SECONDS = 20.0  # vLLM's own 5 are too few for a clean end; what is left then is killed


class VllmEngine:
    """One model loaded with vLLM; implements `Engine`. Made for a GPU; vLLM's CPU build works too.

    `mean_logprob` is the mean over all `n_tokens` drawn tokens, the end token included, under the model's own
    distribution: at temperature 1, before top-p.
    """

    name = "vllm"

    def __init__(
        self,
        resolved: ResolvedModel,
        sampling: Sampling,
        *,
        dtype: str | None = None,
        gpu_memory_utilization: float | None = None,
        max_model_len: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """Load the model: float32 on the CPU, the weights' own type on a GPU unless `dtype` says otherwise.

        `max_model_len` None is the model's context as far as it fits into the memory. Raises ModelError where vLLM is
        missing or does not start, with the cause.
        """
        if find_spec("vllm") is None:
            raise ModelError("the engine vllm is not installed.", hint="Run: pip install 'budgetplan[vllm]'")
        self.identity = resolved.identity
        self._sampling = sampling
        self._tokenizer = load_tokenizer(resolved, trust_remote_code=trust_remote_code)
        choices = {
            "dtype": dtype,
            "gpu_memory_utilization": gpu_memory_utilization,
            "max_model_len": max_model_len,
        }
        given = {name: value for name, value in choices.items() if value is not None}
        self._processes = EngineProcesses()
        self._llm: Any = self._start(resolved, given | {"trust_remote_code": trust_remote_code})
        self.on_gpu = _on_gpu()
        self.context_tokens: int = self._llm.model_config.max_model_len

    def sample(self, requests: Iterable[SampleRequest], *, max_tokens: int | None = None) -> Iterator[list[Completion]]:
        """Yield completions as they finish; a request's samples come one by one, not when the last of them ends.

        Reads ahead what vLLM can run three times over. Raises ModelError where the engine is gone.
        """
        from budgetplan.probing.vllm_queue import SampleQueue

        cap = min(max_tokens or self._sampling.max_tokens, self._sampling.max_tokens)
        queue = SampleQueue(self._llm.llm_engine, self._tokenizer, self._sampling, cap)
        try:
            yield from queue.run(requests)
        except queue.engine_dead as error:
            cause = self._processes.cause() or "its process is gone"
            raise ModelError(
                f"the vLLM engine stopped: {cause}", hint="Run the same command again to go on."
            ) from error
        finally:
            queue.abort()

    def close(self) -> None:
        """End vLLM's processes and free the model; a second call does nothing."""
        if self._llm is None:
            return
        core, self._llm = self._llm.llm_engine.engine_core, None
        try:
            with self._processes.quiet():
                core.shutdown(timeout=CLOSE_SECONDS)
                if self._children:
                    core.output_queue_thread.join()
                    core.ctx.destroy(linger=0)  # vLLM leaves it to the garbage collector
        finally:
            self._processes.close()

    def _start(self, resolved: ResolvedModel, given: dict[str, Any]) -> Any:
        before = set(active_children())
        try:
            with self._processes.quiet(), interruptible():
                llm = _load(resolved, self._sampling, given)
        except Exception as error:
            cause = self._processes.cause() or _first_line(error)
            self._processes.close()
            raise ModelError(
                f"model {resolved.identity.name}: vLLM does not start: {cause}", hint="Try: --engine transformers"
            ) from error
        except BaseException:
            self._processes.close()
            raise
        self._children = set(active_children()) - before
        if self._children:
            _wake_when_gone(self._children, llm.llm_engine.engine_core.outputs_queue)
        return llm


def _wake_when_gone(children: set[BaseProcess], outputs: "Queue[Any]") -> None:
    """Wake the client when an engine process is gone: vLLM 0.31 waits for one that was killed for ever."""
    from vllm.v1.engine.exceptions import EngineDeadError

    def watch() -> None:
        wait([child.sentinel for child in children])
        outputs.put(EngineDeadError())

    Thread(target=watch, daemon=True, name="budgetplan-vllm-watch").start()


def _load(resolved: ResolvedModel, sampling: Sampling, given: dict[str, Any]) -> Any:
    from vllm import LLM

    settings: dict[str, Any] = {
        "model": resolved.location,
        "revision": resolved.hub_revision,
        "tokenizer_revision": resolved.hub_revision,
        "max_model_len": -1,  # the model's context, or what fits into the memory
        "enable_prefix_caching": True,
        # Two messages a sample, its first token and its end: no work per token, no waiting for siblings.
        "stream_interval": sampling.max_tokens + 1,
        "disable_log_stats": True,
    }
    if not _on_gpu():
        settings |= _cpu_settings(memory_given="gpu_memory_utilization" in given)
    return LLM(**(settings | given))


def _cpu_settings(*, memory_given: bool) -> dict[str, Any]:
    """Settings for vLLM's CPU build: exact arithmetic, and no prefill in chunks.

    With chunks, vLLM 0.31 rewinds a seeded generator, which torch's CPU generator cannot do: the engine would die.
    """
    settings: dict[str, Any] = {"dtype": "float32", "enforce_eager": True, "enable_chunked_prefill": False}
    if not memory_given and not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        settings["kv_cache_memory_bytes"] = min(4 * GIB, max(GIB, memory // 8))
    return settings


def _on_gpu() -> bool:
    from vllm.platforms import current_platform

    return not current_platform.is_cpu()


def _first_line(error: Exception) -> str:
    """The first line of an error; of pydantic's, what it says about the first field."""
    details = getattr(error, "errors", None)
    text = str(details()[0]["msg"]) if callable(details) else str(error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__
