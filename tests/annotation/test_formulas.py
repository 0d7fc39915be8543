import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.formulas import guarded, unguarded


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@A1", "\tx", "\rx", "'=1", "''-x"])
def test_what_a_spreadsheet_would_run_gets_a_quote_in_front(text):
    assert guarded(pa.array([text])).to_pylist() == ["'" + text]


@pytest.mark.parametrize("text", ["", "1-1", "a=b", "'quoted'", " =1", "\n=1", "é"])
def test_what_it_would_show_as_it_is_stays(text):
    assert guarded(pa.chunked_array([[text], [None]])).to_pylist() == [text, None]


@settings(deadline=None)
@given(st.lists(st.text(alphabet="'=+-@\t\ra1 ", max_size=6)))
def test_it_is_taken_off_again(texts):
    assert [unguarded(text) for text in guarded(pa.array(texts, pa.string())).to_pylist()] == texts
