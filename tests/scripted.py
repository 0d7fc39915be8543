"""A pool with known answers, and an engine that answers as it is told: the steps without a model."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from budgetplan import Project
from budgetplan.probing.models import ResolvedModel
from budgetplan.records import Completion, Message, ModelIdentity, SampleRequest
from budgetplan.steps import probe as probe_step
from budgetplan.steps import probe_check

Answer = Callable[[SampleRequest, int], Completion]


def reply(request: SampleRequest, index: int, text: str, **changes: Any) -> Completion:
    """One completion of a request."""
    values = {"text": text, "n_tokens": 3, "finish_reason": "stop", "mean_logprob": -0.1, "error": None} | changes
    return Completion(
        item_id=request.item_id, sample_index=index, seed=request.seed + index - request.first_index, **values
    )


class ScriptedEngine:
    """Answers by a rule; keeps what it was asked."""

    name = "transformers"
    identity = ModelIdentity("scripted", "rev-1")
    context_tokens = 100
    on_gpu = False

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[SampleRequest] = []
        self.closed = False

    def sample(self, requests: Iterable[SampleRequest], *, max_tokens: int | None = None) -> Iterator[list[Completion]]:
        for request in requests:
            self.asked.append(request)
            places = range(request.first_index, request.first_index + request.count)
            yield [self.answer(request, index) for index in places]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], ScriptedEngine]:
    """Put a scripted engine where a model would be loaded; prompts over 50 characters do not fit it."""

    def install(answer: Answer) -> ScriptedEngine:
        engine = ScriptedEngine(answer)
        monkeypatch.setattr(
            probe_check,
            "resolve_model",
            lambda name, revision: ResolvedModel(ModelIdentity(name, f"rev-{name}"), name, None),
        )

        def too_long(_: ResolvedModel, requests: Iterable[SampleRequest], **__: Any) -> Iterator[tuple[str, int, int]]:
            for request in requests:
                if len(request.messages[-1].content) > 50:
                    yield request.item_id, 51, 50

        monkeypatch.setattr(probe_check, "longer_than_context", too_long)
        monkeypatch.setattr(probe_step, "open_engine", lambda *_, **__: engine)
        return engine

    return install


@pytest.fixture
def write_pool(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as JSON lines."""

    def write(rows: Sequence[dict[str, Any]], name: str = "pool.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def sums(write_pool: Callable[..., Path]) -> Path:
    """Ten sums, ids q0 to q9, the answer of qN is 2N."""
    return write_pool(
        [{"id": f"q{n}", "question": f"{n}+{n}=?", "answer": str(2 * n), "topic": f"t{n % 2}"} for n in range(10)]
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project in a store of its own, its model called `tiny`."""
    return Project(db=tmp_path / "store.duckdb", model="tiny", engine="transformers", template="none", k=4)


def number_in(messages: tuple[Message, ...]) -> int:
    """The N of the question N+N."""
    return int(messages[-1].content.removeprefix("Q: ").split("+")[0])


def right_below(limit: int) -> Answer:
    """Answer right when the sample index is below `limit - N`: item N has p̂ = clip(limit - N, 0, K) / K."""

    def answer(request: SampleRequest, index: int) -> Completion:
        number = number_in(request.messages)
        return reply(request, index, f"The answer is {2 * number if index < limit - number else 999}.")

    return answer


@pytest.fixture
def probe_sums(
    project: Project,
    write_pool: Callable[..., Path],
    scripted: Callable[[Answer], ScriptedEngine],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., Project]:
    """Probe `n` sums, with or without their answers; by default right on qN with the first 4 - N of 4 samples."""

    def probe(n: int, *, answers: bool = False, answer: Answer | None = None, **columns: Any) -> Project:
        rows = [{"id": f"q{i}", "question": f"{i}+{i}=?", **columns} for i in range(n)]
        pool = write_pool([row | {"answer": str(2 * i)} for i, row in enumerate(rows)] if answers else rows)
        scripted(answer or right_below(4))
        project.probe(pool)
        monkeypatch.chdir(tmp_path)
        return project

    return probe
