"""Sums in limbs on a device equal sums of Python integers, also if they need more than 64 bits."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rekmeans.engines.torch.exact import ExactSummation, RunningSums, fetch_integers  # noqa: E402
from rekmeans.engines.torch.mapped_rows import PackedRows  # noqa: E402

LARGE = [1, 24, 50, 63]  # numbers of bits of a value


def drawn_integers(count, bits, seed=0):
    """Return positive and negative integers below 2^bits, including the largest ones."""
    values = np.random.default_rng(seed).integers(0, 1 << (bits - 1), count, dtype=np.int64) * 2
    values[: count // 3] = (1 << bits) - 1
    return values


@pytest.mark.parametrize("bits", LARGE)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", [1, 3, 1000])
def test_sums_by_label_equal_those_of_python_integers(bits, weighted, signed, n):
    values = drawn_integers(2 * n, bits).reshape(n, 2) * (
        np.where(np.arange(n) % 4, 1, -1)[:, None] if signed else 1
    )
    w = (
        np.append(np.random.default_rng(1).integers(0, 1 << 31, n - 1), 1 << 31)
        if weighted
        else np.ones(n, np.int64)
    )
    labels = np.random.default_rng(2).integers(0, 3, n)
    summation = ExactSummation(1 << 27, 32)
    tensor = torch.from_numpy(w) if weighted else None
    by_label, total = fetch_integers(
        summation.by_label(torch.from_numpy(values), tensor, torch.from_numpy(labels), 4, bits),
        summation.total(torch.from_numpy(values), tensor, bits),
    )
    products = values.astype(object) * w.astype(object)[:, None]
    for c in range(4):
        assert by_label[c].tolist() == [sum(products[labels == c, j]) for j in range(2)]
    assert total.tolist() == [sum(products[:, j]) for j in range(2)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 20_000])
def test_a_search_in_running_sums_equals_that_of_python_integers(weighted, n):
    values = drawn_integers(n, 63, seed=n)
    values[n // 2 : n // 2 + n // 5] = 0  # a range of equal running sums
    w = np.random.default_rng(1).integers(0, 1 << 31, n) if weighted else np.ones(n, np.int64)
    ends = np.cumsum(values.astype(object) * w.astype(object))
    some = [int(end) + step for end in ends[:: max(1, n // 50)] for step in (-1, 0, 1)]
    goals = [goal for goal in [0, int(ends[-1]) - 1, *some] if 0 <= goal < max(1, ends[-1])]
    found = RunningSums(
        torch.from_numpy(values), torch.from_numpy(w) if weighted else None
    ).first_above(goals)
    assert found.tolist() == [
        min(int(np.searchsorted(ends, goal, side="right")), n - 1) for goal in goals
    ]


def test_the_objective_of_more_than_2_26_rows_equals_that_of_python_integers():
    """Use the largest squares and weights of so many rows that sums of fixed limbs with 21 and 16
    bits overflow int64.
    """
    n = (1 << 26) + (1 << 12)
    square = (1 << 63) - 1
    weight = (1 << 31) - 1
    rows = SimpleNamespace(n=n, squares=torch.tensor([square]).expand(n))
    assert PackedRows.total_square(rows, torch.tensor([weight]).expand(n)) == n * square * weight
