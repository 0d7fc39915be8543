import json
import subprocess
import sys
from pathlib import Path

import bench_transformers as bench
import pytest

SCRIPT = Path(bench.__file__)


@pytest.mark.slow
def test_the_benchmark_runs() -> None:
    command = [sys.executable, SCRIPT, "--pairs", "2", "--prompts", "6", "--k", "3"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)
    assert (report["prompts"], report["k"], len(report["ratios"])) == (6, 3, 2)
    assert report["ratio_median"] > 0


def test_both_sides_answer_at_the_lengths_the_benchmark_says(tmp_path: Path) -> None:
    bench.make_model(tmp_path)
    prompts = bench.make_prompts(20)
    ours = bench.Ours(tmp_path, k=8, slots=16)
    lengths = {}
    for batch in ours.engine.sample(ours._requests(prompts)):
        for completion in batch:
            kind = int(prompts[int(completion.item_id.removeprefix("bench-"))].rpartition("k")[2])
            assert completion.finish_reason == "stop"
            assert completion.n_tokens in bench.lengths_of(kind)
            lengths[completion.item_id, completion.sample_index] = completion.n_tokens
    assert min(lengths.values()) >= bench.SHORTEST
    assert max(lengths.values()) <= bench.LONGEST
    theirs = bench.PaperLoop(tmp_path, batch=5, k=8).tokens(prompts)
    assert theirs == pytest.approx(sum(lengths.values()), rel=0.1)
