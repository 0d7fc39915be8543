"""vLLM's queue while one stream of requests is sampled: it never runs dry, and never holds the whole stream.

Every sample that goes in comes out once, as a completion or as an error.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from vllm import SamplingParams
from vllm.inputs import tokens_input
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.exceptions import EngineDeadError
from zmq import ZMQError

from budgetplan.errors import ModelError
from budgetplan.probing.engine import failed_sample
from budgetplan.probing.rendering import decode_batch, render_batch
from budgetplan.records import Completion, FinishReason, SampleRequest, Sampling

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from vllm.outputs import CompletionOutput, RequestOutput

RENDER_BATCH = 64
QUEUED_PER_RUNNING = 3
GREEDY_BELOW = 1e-5
FINISH: dict[str | None, FinishReason] = {"stop": "stop", "length": "length"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request with its prompt's tokens, or with what is wrong with the prompt."""

    request: SampleRequest
    tokens: list[int]
    fault: str = ""


@dataclass(slots=True)
class Flight:
    """A request in vLLM's queue: how many of its samples have not ended, and the tokens already handed over."""

    request: SampleRequest
    open_samples: int
    heads: dict[int, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """A sample that has ended."""

    request: SampleRequest
    output: "CompletionOutput"
    tokens: list[int]


class SampleQueue:
    """One stream of requests through vLLM's engine, at most `cap` tokens a sample."""

    # vLLM notices a dead process on a thread of its own, which closes the sockets under a call in flight.
    engine_dead = (EngineDeadError, ZMQError)
    names = count()

    def __init__(self, engine: Any, tokenizer: "PreTrainedTokenizerBase", sampling: Sampling, cap: int) -> None:
        self._engine = engine
        self._tokenizer = tokenizer
        self._sampling = sampling
        self._cap = cap
        self._context: int = engine.model_config.max_model_len
        self._limit: int = QUEUED_PER_RUNNING * engine.vllm_config.scheduler_config.max_num_seqs
        self._flights: dict[str, Flight] = {}

    def run(self, requests: Iterable[SampleRequest]) -> Iterator[list[Completion]]:
        """Yield completions as they end; raises `engine_dead` where the engine is gone."""
        waiting = self._prepare(iter(requests))
        while True:
            if refused := self._fill(waiting):
                yield refused
            if not self._flights:
                if not refused:
                    return
                continue
            if ended := self._step():
                yield self._completions(ended)

    def abort(self) -> None:
        """Take what has not ended out of the queue, after an interrupt or when the caller has enough."""
        with suppress(*self.engine_dead):
            self._engine.abort_request(list(self._flights))
        self._flights.clear()

    def _prepare(self, requests: Iterator[SampleRequest]) -> Iterator[Prepared]:
        """Tokenise a few requests at a time, so that a million of them are never in memory."""
        while batch := list(islice(requests, RENDER_BATCH)):
            try:
                prompts = self._render(batch)
            except ModelError:
                yield from map(self._prepare_one, batch)
                continue
            for request, tokens in zip(batch, prompts, strict=True):
                yield Prepared(request, tokens, self._fault(tokens))

    def _prepare_one(self, request: SampleRequest) -> Prepared:
        try:
            tokens = self._render([request])[0]
        except ModelError as error:
            return Prepared(request, [], error.message)
        return Prepared(request, tokens, self._fault(tokens))

    def _render(self, requests: list[SampleRequest]) -> list[list[int]]:
        prompts = [request.messages for request in requests]
        return render_batch(self._tokenizer, prompts, thinking=self._sampling.thinking)

    def _fault(self, tokens: list[int]) -> str:
        if not tokens:
            return "the prompt has no tokens"
        if len(tokens) >= self._context:
            return f"the prompt has {len(tokens)} tokens, the model's context holds {self._context}"
        return ""

    def _fill(self, waiting: Iterator[Prepared]) -> list[Completion]:
        """Queue requests until enough samples wait; return the completions of those that cannot be queued."""
        refused: list[Completion] = []
        while self._engine.get_num_unfinished_requests() < self._limit and len(refused) < self._limit:
            prepared = next(waiting, None)
            if prepared is None:
                break
            if fault := prepared.fault or self._add(prepared):
                refused += [failed_sample(prepared.request, offset, fault) for offset in range(prepared.request.count)]
        return refused

    def _add(self, prepared: Prepared) -> str:
        """Hand a request to vLLM, its samples together; return what vLLM has against it."""
        # vLLM refuses several greedy samples of one request.
        together = self._sampling.temperature >= GREEDY_BELOW
        try:
            for part in [prepared.request] if together else _one_by_one(prepared.request):
                name = f"{next(self.names)}"
                self._engine.add_request(name, tokens_input(prepared.tokens), self._params(part))
                self._flights[name] = Flight(part, part.count)
        except ValueError as error:
            return str(error)
        return ""

    def _params(self, request: SampleRequest) -> SamplingParams:
        """Sample j of a request with n = count is drawn with seed + j: vLLM's own rule for parallel sampling."""
        return SamplingParams(
            n=request.count,
            seed=request.seed,
            temperature=self._sampling.temperature,
            top_p=self._sampling.top_p,
            max_tokens=self._cap,
            logprobs=0,  # of the sampled token alone
            flat_logprobs=True,
            detokenize=False,  # a whole completion is decoded at its end
            output_kind=RequestOutputKind.DELTA,
        )

    def _step(self) -> list[Ended]:
        """Wait for the engine's next step and return the samples that ended in it."""
        ended: list[Ended] = []
        outputs: list[RequestOutput] = self._engine.step()
        for output in outputs:
            flight = self._flights[output.request_id]
            for sample in output.outputs:
                tokens = [*flight.heads.pop(sample.index, []), *sample.token_ids]
                if sample.finish_reason is None:
                    flight.heads[sample.index] = tokens
                else:
                    ended.append(Ended(flight.request, sample, tokens))
                    flight.open_samples -= 1
            if not flight.open_samples:
                del self._flights[output.request_id]
        return ended

    def _completions(self, ended: list[Ended]) -> list[Completion]:
        bodies = [sample.tokens[:-1] if sample.output.finish_reason == "stop" else sample.tokens for sample in ended]
        texts = decode_batch(self._tokenizer, bodies)
        return [_completion(sample, text) for sample, text in zip(ended, texts, strict=True)]


def _one_by_one(request: SampleRequest) -> list[SampleRequest]:
    return [
        replace(request, first_index=request.first_index + j, seed=request.seed + j, count=1)
        for j in range(request.count)
    ]


def _completion(ended: Ended, text: str) -> Completion:
    request, output = ended.request, ended.output
    reason = FINISH.get(output.finish_reason)
    if reason is None:
        return failed_sample(request, output.index, f"vLLM ended the sample: {output.finish_reason}")
    total: float = output.cumulative_logprob
    if not math.isfinite(total):
        return failed_sample(request, output.index, "the model's probabilities are not finite")
    return Completion(
        item_id=request.item_id,
        sample_index=request.first_index + output.index,
        seed=request.seed + output.index,
        text=text,
        n_tokens=len(ended.tokens),
        finish_reason=reason,
        mean_logprob=total / len(ended.tokens),
    )
