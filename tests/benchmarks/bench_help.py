"""`budgetplan --help` against `python -c "import typer, rich"`: whole processes, in turn.

Run: python tests/benchmarks/bench_help.py
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from pairs import interleaved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    arguments = parser.parse_args()
    script = Path(sys.executable).with_name("budgetplan")

    def ours() -> None:
        subprocess.run([script, "--help"], check=True, stdout=subprocess.DEVNULL)

    def theirs() -> None:
        subprocess.run([sys.executable, "-c", "import typer, rich"], check=True)

    figures = interleaved(ours, theirs, arguments.pairs)
    slower = 1 / figures["ratio_median"]
    print(json.dumps({"benchmark": "help", **figures, "help_over_import": round(slower, 3), "target_at_most": 1.5}))


if __name__ == "__main__":
    main()
