"""Formatted numbers are read back exactly; dates, phone numbers and versions stay text."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekmeans.io.number_text import NUMBER_FORMATS, may_have_numbers, tidy_cells

STYLES = {  # grouping mark, decimal mark
    "English": (",", "."),
    "German": (".", ","),
    "French": ("\u202f", ","),
    "typed French": (" ", ","),
    "Swiss": ("\u2019", "."),
    "plain": ("", "."),
    "plain comma": ("", ","),
}
UNITS = ["{}", "${}", "€ {}", "{} €", "{} %", "{}%", "  {} ", "₹{}"]


def values(texts, decimal):
    return NUMBER_FORMATS[decimal].values(tidy_cells(pa.array(texts))).to_pylist()


def format_number(number, places, style, unit):
    """Return a number as formatted text."""
    group, decimal = STYLES[style]
    digits = f"{abs(number):,.{places}f}".translate({ord(","): group, ord("."): decimal})
    return (
        ("-" if number < 0 else "") + unit.format(digits).strip()
        if unit != "  {} "
        else f"  {digits} "
    )


@given(
    st.lists(st.integers(-(10**12), 10**12), min_size=1),
    st.integers(0, 4),
    st.sampled_from(list(STYLES)),
    st.sampled_from(UNITS),
)
def test_a_formatted_number_is_the_number(integers, places, style, unit):
    numbers = [(abs(i) if unit == "  {} " else i) / 10**places for i in integers]
    expected = [float(f"{number:.{places}f}") for number in numbers]
    texts = [format_number(number, places, style, unit) for number in numbers]
    assert values(texts, STYLES[style][1]) == expected
    assert all(may_have_numbers(tidy_cells(pa.array([text]))) for text in texts)


def test_minus_is_written_in_several_ways():
    texts = ["-5", "\u22125", "(5)", "($5)", "$(5)", "-$5", "$-5", "(5 %)", "(5.0)"]
    assert values(texts, ".") == [-5.0] * len(texts)


NOT_NUMBERS = {
    "dates": ["2020-01-31", "31.01.2020", "1/2/2020", "31.1.20", "Jan 5"],
    "times": ["12:30", "12:30:05", "5 pm"],
    "phones": ["555-1234", "+49 301 234", "030 123 456", "(555) 123-4567", "+1 555 123 4567"],
    "versions": ["1.2.3", "v1.2", "1.2.3.4", "1.10.200"],
    "words": ["unknown", "n/a?", "Total", "x1", "1x", "twelve"],
    "wrong groups": ["1,23,4", "12,34,567", "1,2345.5", "0,123.5", "1 23", "1,234 567"],
    "signs alone": ["$", "%", "()", "+", ",", ".", "(-5)", "--5", "$$5", "5 % %", "$5 €"],
}


@pytest.mark.parametrize("kind", NOT_NUMBERS)
def test_what_is_not_a_number_stays_text(kind):
    for decimal in NUMBER_FORMATS:
        assert values(NOT_NUMBERS[kind], decimal) == [None] * len(NOT_NUMBERS[kind])


def test_a_text_may_be_a_number_with_one_mark_only():
    texts = ["1,5", "1.5", "1,234", "1.234", "1,234.5", "1.234,5", "1,234,567", "0,123", "1234,567"]
    assert values(texts, ".") == [None, 1.5, 1234, 1.234, 1234.5, None, 1234567, None, None]
    assert values(texts, ",") == [1.5, None, 1.234, 1234, None, 1234.5, None, 0.123, 1234.567]


def test_missing_marks_and_bytes_that_are_not_text_are_no_numbers():
    assert tidy_cells(pa.array(["", " ", "NA", " ? ", "null", " 5 "])).to_pylist() == [None] * 5 + [
        "5"
    ]
    assert tidy_cells(pa.array([b"5", b"gr\xfcn", None])).to_pylist() == ["5", "gr\ufffdn", None]


@given(st.lists(st.text(alphabet="aAeEfFiInNtTyY-+.,'()%$ "), min_size=1))
def test_text_that_is_dismissed_without_a_format_has_no_number(texts):
    tidy = tidy_cells(pa.array(texts, pa.string())).drop_null()
    if not may_have_numbers(tidy):
        for number_format in NUMBER_FORMATS.values():
            assert not any(number_format.are_numbers(tidy).to_pylist())


def test_infinity_may_be_a_number():
    for text in ("inf", "-Infinity", "NAN", "INF %"):
        assert may_have_numbers(pa.array(["word", text]))
