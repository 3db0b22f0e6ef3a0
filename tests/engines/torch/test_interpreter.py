"""Triton's interpreter runs a kernel on the CPU, which the kernel tests require."""

import os

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("TRITON_INTERPRET=1 is not set: run make test-gpu-logic", allow_module_level=True)

import triton.language as tl  # noqa: E402


@triton.jit
def double_values(values, doubled, n, BLOCK: tl.constexpr):
    """Compute doubled (n,) int64 = 2 values (n,) int64."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(doubled + at, 2 * tl.load(values + at, mask=at < n), mask=at < n)


def test_a_kernel_runs_and_masks_its_tail():
    values = torch.arange(10)
    doubled = torch.full((16,), -1)
    double_values[(2,)](values, doubled, 10, BLOCK=8)
    assert doubled.tolist() == [*range(0, 20, 2), *[-1] * 6]
