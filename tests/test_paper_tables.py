"""The paper's tables come out of its runs to the printed digit, through the project's own statistics."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "paper_tables.py"

# As printed in the paper, columns in the order easy, middle, hard, random; ** best, _ second best.
TABLE_1 = """
GSM8K, Qwen3-4B 3.49 26.69 **34.19** _29.49_
GSM8K, Qwen3-14B 8.26 24.34 **39.42** _34.87_
GSM8K, phi-4 14.94 28.51 **37.30** _36.16_
Shuffled objects, Qwen3-4B _0.80_ -3.20 **13.60** -1.60
Shuffled objects, Qwen3-14B 3.20 10.12 **22.40** _12.52_
Shuffled objects, phi-4 _29.60_ 28.80 **32.80** 28.80
"""
TABLE_2 = """
GSM8K, Qwen3-4B 3.70 _24.50_ **34.10** 19.00
GSM8K, Qwen3-14B 7.80 _18.90_ **29.50** 18.40
GSM8K, phi-4 6.60 _23.30_ **40.20** 21.50
Shuffled objects, Qwen3-4B 9.00 5.70 **14.40** _11.50_
Shuffled objects, Qwen3-14B 2.30 7.20 **13.50** _8.00_
Shuffled objects, phi-4 14.20 15.30 _19.10_ **19.30**
"""
TABLE_3 = """
easiest 36.54 20.90
middle _39.42_ _42.00_
hardest **40.33** **55.20**
random 39.35 39.30
"""
OVER_ONE_BASE = """
GSM8K, Qwen3-4B 3.49 26.69 **34.19** _29.49_ 0.4845
GSM8K, Qwen3-14B 8.26 24.34 **39.42** _34.87_ 0.5171
GSM8K, phi-4 15.47 29.04 **37.83** _34.57_ 0.5163, 0.5375
Shuffled objects, Qwen3-4B 0.80 _1.60_ **13.60** _1.60_ 0.5520, 0.5840, 0.6000
Shuffled objects, Qwen3-14B 4.48 9.28 **22.88** _11.68_ 0.7228, 0.7360, 0.7440
Shuffled objects, phi-4 27.20 **31.20** _30.40_ **31.20** 0.6400, 0.6880
"""


@pytest.fixture(scope="module")
def sections(shared_data) -> dict[str, list[str]]:
    """The rows of every printed table by the first words of its title."""
    command = [sys.executable, EXAMPLE, shared_data / "paper" / "final_runs_48.csv"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    parts = [[" ".join(line.split()) for line in part.splitlines()] for part in printed.strip().split("\n\n")]
    return {title.split(":")[0]: rows for title, *rows in parts}


@pytest.mark.parametrize(
    ("title", "table"),
    [
        ("Table 1", TABLE_1),
        ("Table 2", TABLE_2),
        ("Table 3", TABLE_3),
        ("Table 1 over one base for all arms of a model", OVER_ONE_BASE),
    ],
)
def test_tables_come_out_to_the_printed_digit(sections, title, table):
    assert sections[title][1:] == table.strip().splitlines()


def test_r_squared_of_learnable_against_gain(sections):
    assert sections["Figure 3"] == ["R² = 0.67 over 24 runs", "R² = 0.25 over 48 runs"]
