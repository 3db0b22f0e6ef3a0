"""Kernels compute offsets in 64 bits if a number of rows or centroids times a number of columns
requires it.
"""

import ast
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import rekmeans.engines.torch  # noqa: E402
from rekmeans.engines.torch.mapped_rows import (  # noqa: E402
    MAX_PACKED_ROWS,
    GridStore,
    choose_store,
)

KERNELS = Path(rekmeans.engines.torch.__file__).parent / "kernels"
# factors of offsets that may exceed 2^31
STRIDES = {"P", "LP", "G", "K", "n", "plane", "wide", "DIGITS"}
BOUNDED = {"small_fit.py"}  # SmallPass limits the size of each array
FUNCTIONS = [
    pytest.param(node, id=f"{path.stem}.{node.name}")
    for path in sorted(KERNELS.glob("*.py"))
    if path.name not in BOUNDED
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.FunctionDef)
]


def is_cast(node):
    """Return whether a syntax node is x.to(tl.int64) or tl.cast(x, tl.int64)."""
    return isinstance(node, ast.Call) and any(
        ast.unparse(argument) == "tl.int64" for argument in node.args
    )


def names_where(function, is_wanted):
    """Return the names in a function for which all assigned values satisfy the condition."""
    values = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
    return {name for name, assigned in values.items() if all(map(is_wanted, assigned))}


def is_arange(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.arange"


def names_arange_pairs(function):
    """Return the names that are assigned in lines like `kc, pc = tl.arange(0, BK), tl.arange(0,
    BP)`.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            for target, value in zip(
                node.targets[0].elts, getattr(node.value, "elts", ()), strict=False
            ):
                if is_arange(value):
                    yield target.id


def names_in(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} - {"tl"}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_offsets_with_a_stride_have_64_bits(function):
    """Check that the other factor of a stride is cast to 64 bits, or is a tile index."""
    wide = names_where(function, lambda value: any(map(is_cast, ast.walk(value))))
    in_tile = names_where(function, is_arange) | set(names_arange_pairs(function))
    narrow = []
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for stride, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(stride, ast.Name) and stride.id in STRIDES:
                    is_wide = any(map(is_cast, ast.walk(other))) or names_in(other) & wide
                    if not is_wide and not (names_in(other) and names_in(other) <= in_tile):
                        narrow.append(f"line {node.lineno}: {ast.unparse(node)}")
    assert narrow == []


def test_more_rows_than_32_bits_can_number_are_not_packed():
    """Check the limit: kernels keep two entries for each row, numbered in int32."""
    pytest.importorskip("triton")
    largest_tile = 4096
    assert 2 * MAX_PACKED_ROWS + largest_tile < 1 << 31
    device = torch.device("cuda", 0)
    assert choose_store(device, MAX_PACKED_ROWS, 4) is not GridStore
    assert choose_store(device, MAX_PACKED_ROWS + 1, 4) is GridStore
