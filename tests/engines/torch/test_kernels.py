"""The Triton kernels of a pass, each with arrays made for the test, in Triton's interpreter."""

import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("TRITON_INTERPRET=1 is not set: run make test-gpu-logic", allow_module_level=True)

from rekmeans.engines.torch.kernels.assignment import list_candidates  # noqa: E402
from rekmeans.engines.torch.kernels.update import place_clusters  # noqa: E402
from rekmeans.engines.torch.launches import launch_kernel  # noqa: E402
from support.torch_kernels import assert_last_centroid_is_found  # noqa: E402


def test_the_last_centroid_is_found():
    """Find the last centroid. On a GPU, test_cuda.py does the same with more than 2^31 cells."""
    assert_last_centroid_is_found(768, 192, torch.device("cpu"))


@pytest.mark.parametrize("n_programs", [1, 3])
@pytest.mark.parametrize("max_pairs", [0, 7, 16, 64, 200, 330])
@pytest.mark.parametrize("candidates", [1, 3, 33])
def test_candidates_that_do_not_fit_are_marked_and_not_counted(candidates, max_pairs, n_programs):
    """Check the limit of the counter, which would exceed 32 bits for millions of rows with
    thousands of equal candidates.
    """
    n = 100
    K = 64
    P = 16
    BN = 16
    X = torch.ones(n, P, dtype=torch.float16)
    C = torch.zeros(K, P, dtype=torch.float16)
    C[torch.arange(candidates) * 7 % K] = 1.0
    doubt_row = torch.arange(n, dtype=torch.int32).flip(0)
    threshold = torch.full((n,), 8.0)
    slot, centroid = (torch.full((max_pairs + 1,), -1, dtype=torch.int32) for _ in range(2))
    overflow = torch.zeros(n, dtype=torch.int8)
    halt = torch.zeros(1, dtype=torch.int32)
    counters = torch.tensor([0, n, 0, 0, 0, 0, 0, 0], dtype=torch.int32)
    launch_kernel(
        list_candidates, n_programs,
        X, C, torch.zeros(K), doubt_row, threshold, slot, centroid, overflow, counters, halt,
        max_pairs,
        K=K, P=P, BN=BN, BK=16, BP=16, NPROG=n_programs,
    )  # fmt: skip
    n_pairs = n * candidates
    counted = int(counters[2])
    assert (counted > max_pairs) == (n_pairs > max_pairs) == bool(overflow.any())
    assert counted <= min(n_pairs, max_pairs + n_programs * BN)
    assert (slot[max_pairs], centroid[max_pairs]) == (-1, -1)
    found = set(zip(slot[:counted].tolist(), centroid[:counted].tolist(), strict=True))
    every = {
        (row, c)
        for row in range(n)
        if not overflow[row]
        for c in (torch.arange(candidates) * 7 % K).tolist()
    }
    assert every <= found


def test_offsets_of_clusters_are_computed_tile_by_tile():
    """Use more clusters than the 2^20 numbers that a Triton tile can hold."""
    k = 50
    counts = torch.randint(
        0, 9, (2 * k,), dtype=torch.int32, generator=torch.Generator().manual_seed(0)
    )
    offsets = torch.zeros_like(counts)
    counters = torch.zeros(8, dtype=torch.int32)
    ends = counts.cumsum(0)
    starts = (ends - counts).tolist()
    launch_kernel(place_clusters, 1, counts, offsets, counters, k, B=16)
    assert offsets.tolist() == starts
    assert counters.tolist() == [0, 0, 0, 0, int(ends[-1]), 0, 0, 0]
    assert not counts.any()
