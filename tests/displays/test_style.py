"""Numbers and names as text."""

import pytest

from rekmeans._text import shorten_name
from rekmeans.displays._style import format_number


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (3.0, 2.95, "3.00"),
        (1103.2, 943, "1,103"),
        (0.29, 0.41, "0.290"),
        (-2.5, None, "\N{MINUS SIGN}2.5"),
        (-0.001, 3.0, "0.00"),
        (12345.6, None, "12,346"),
        (None, 1.0, "\N{EN DASH}"),
        (1e-9, 1e-9, "1e\N{MINUS SIGN}09"),
    ],
)
def test_numbers_as_text(value, width, text):
    assert format_number(value, width) == text


def test_long_names_keep_both_ends():
    assert shorten_name("a rather long column name number 17", 20) == "a rather long…ber 17"
    assert shorten_name("short", 20) == "short"
