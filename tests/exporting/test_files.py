import json

import pyarrow as pa
import pytest

from budgetplan.errors import BudgetplanError
from budgetplan.exporting.files import write_file

DATES = pa.table({"answer": pa.array(["2024-01-30", None, "1999-12-31"])})


def test_answers_that_json_lines_would_turn_into_times_are_refused_and_kept_by_parquet(loaded, tmp_path):
    with pytest.raises(BudgetplanError, match='"answer" holds dates like "2024-01-30"') as caught:
        write_file(DATES, tmp_path / "a.jsonl")
    assert "train.parquet" in caught.value.hint
    write_file(DATES, tmp_path / "a.parquet")
    assert list(loaded(tmp_path / "a.parquet")["answer"]) == ["2024-01-30", None, "1999-12-31"]


@pytest.mark.parametrize("answer", ["2024-01-30 10:20", "2024-01-30T10:20:30Z", "2024-01-30"])
def test_what_is_refused_is_what_datasets_would_change(loaded, tmp_path, answer):
    (tmp_path / "b.jsonl").write_text(json.dumps({"answer": answer}) + "\n")
    assert loaded(tmp_path / "b.jsonl")["answer"][0] != answer
    with pytest.raises(BudgetplanError):
        write_file(pa.table({"answer": [answer]}), tmp_path / "a.jsonl")


@pytest.mark.parametrize("answers", [["2024-01-30", "in May"], ["007", "1"], ["10:20"], ["true"], [""], ["30/01/2024"]])
def test_all_other_texts_come_back_from_json_lines(loaded, tmp_path, answers):
    write_file(pa.table({"answer": answers}), tmp_path / "a.jsonl")
    assert list(loaded(tmp_path / "a.jsonl")["answer"]) == answers


def test_line_separators_inside_a_text_do_not_end_the_line(loaded, tmp_path):
    texts = ["one\u2028two\x85three\r\nfour", 'quote " and \\ and 🎈']
    write_file(pa.table({"prompt": texts}), tmp_path / "a.jsonl")
    assert list(loaded(tmp_path / "a.jsonl")["prompt"]) == texts
