from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.verifying import numerals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18", "18"),
        ("-3", "-3"),
        ("−3", "-3"),
        ("+7", "7"),
        ("1,234.50", "1234.5"),
        ("12,345,678", "12345678"),
        ("150 000", "150000"),
        (r"10{,}000", "10000"),
        (r"10,\!000", "10000"),
        (r"18\,000", "18000"),
        (".5", "0.5"),
        ("5.", "5"),
        ("08", "8"),
        ("$18.00", "18"),
        (r"\$18", "18"),
        ("-$110,000", "-110000"),
        ("$-5", "-5"),
        ("€77", "77"),
        ("430$", "430"),
        ("5%", "5"),
        (r"12\%", "12"),
        ("7 percent", "7"),
        ("3/4", "0.75"),
        ("2/9", "2/9"),
        (r"\frac12", "0.5"),
        (r"\frac{3}4", "0.75"),
        (r"\dfrac{3}{4}", "0.75"),
        (r"-\frac{1}{3}", "-1/3"),
        (r"\frac{-1}{3}", "-1/3"),
        ("45 1/3", "136/3"),
        (r"1\frac{1}{2}", "1.5"),
        ("10^{3}", "1000"),
        ("10^-2", None),
        ("10^{-2}", "0.01"),
        (r"1.5 \times 10^{3}", "1500"),
        ("1e5", "100000"),
        ("3 million dollars", "3000000"),
        ("18 dollars", "18"),
        ("80 miles per day", "80"),
        ("287 calories/day", "287"),
        ("29 q/hr", "29"),
        ("762 M&Ms", "762"),
        ("5 miles a day", "5"),
        ("1/4 (fish)", "0.25"),
        ("18 (rounded)", "18"),
        (r"5 \text{ apples}", "5"),
        (r"5\text{ cm}^2", "5"),
        (r"8\ \text{m/s}", "8"),
        ("12 cm^2", "12"),
        ("10 km/h", "10"),
        ("260GB", "260"),
        ("6th", "6"),
        ("3 m", "3"),
        (r"90^\circ", "90"),
        ("-30°C", "-30"),
        ("x = 5", "5"),
        (r"\text{18}", "18"),
        ("$18$", "18"),
        ("about 5", "5"),
        ("≈ 3.14", "3.14"),
        ("five", "5"),
    ],
)
def test_plain_numbers_are_read(text, expected):
    number = numerals.read(text)
    assert (numerals.spelled(number) if number else None) == expected


@pytest.mark.parametrize(
    "text",
    [
        *["", "x", "5x", "2ab", r"2\pi", "2 pi", "5x+2", "1,2", "1,23", "1,000,00", "3 or 4", "2 and 3", "1/0", "0^0"],
        *["3:30", "05/01/2021", "1/2/3", "8 hours, 11 miles", "5 feet 3", "105 - 90", r"\sqrt{2}", "[0, 1]", "2 sin 3"],
    ],
)
def test_what_is_not_plainly_a_number_is_none(text):
    assert numerals.read(text) is None


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("1/2", "0.5", True),
        ("0.1", "1/10", True),
        ("5%", "5", True),
        ("5%", "0.05", True),
        ("500%", "5", True),
        ("5%", "0.5", False),
        ("3 million", "3", True),
        ("0.333333", "1/3", True),
        ("0.33", "1/3", False),
        ("43333.33", "43333", False),
        ("9007199254740993", "9007199254740992", False),
        ("0.1234567", "0.1234568", True),
        ("18", "18.0", True),
    ],
)
def test_equality_is_exact_to_six_places(left, right, equal):
    assert numerals.same(numerals.read(left), numerals.read(right)) is equal
    assert numerals.same(numerals.read(right), numerals.read(left)) is equal


@given(st.fractions(max_denominator=10**6))
def test_spelling_and_reading_are_inverse(value):
    number = numerals.Number(value, value, decimal=False)
    assert numerals.read(numerals.spelled(number)).value == value


@given(st.integers(-(10**30), 10**30))
def test_thousands_separators_change_nothing(value):
    assert numerals.read(f"{value:,}").value == Fraction(value)


@given(st.text("0123456789.,/%$-+ \\{}^()‹›msa'", max_size=40))
def test_any_text_is_read_or_refused(text):
    number = numerals.read(text)
    assert number is None or numerals.same(number, number)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She saves $15 if she hires the 3rd accountant.", ["$15"]),
        ("18 + 6 + 4 = 28", ["18", "6", "4", "28"]),
        ("from 4,000 and 1/2 to -3.5.", ["4,000", "1/2", "-3.5"]),
        ("x2 and F1", []),
        ("45 1/3 fries, 5% off", ["45 1/3", "5%"]),
    ],
)
def test_numbers_in_a_sentence(text, expected):
    assert numerals.numbers_in(text) == expected


def test_a_long_run_of_units_does_not_take_for_ever():
    assert numerals.read("5" + " m" * 90 + " !?") is None
