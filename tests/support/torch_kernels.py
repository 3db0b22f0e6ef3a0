"""Kernels of the torch engine on synthetic arrays, which may have more than 2^31 cells."""

import pytest

torch = pytest.importorskip("torch")

from rekmeans.engines.torch.kernels.assignment import (  # noqa: E402
    assign,
    list_candidates,
    list_groups_to_score,
    score_groups,
)
from rekmeans.engines.torch.launches import launch_kernel  # noqa: E402

ROWS_OF_TILE = 128
GROUP = 256
COLUMNS_OF_TILE = 64
TILE = {"BN": ROWS_OF_TILE, "BP": COLUMNS_OF_TILE}


def assert_last_centroid_is_found(K, P, device):
    """Check every kernel that multiplies rows by centroids (K, P).

    Only the last centroid is not 0, so every kernel must find it.
    """
    n = ROWS_OF_TILE
    G = K // GROUP

    def full(value, *shape, dtype=torch.float32):
        return torch.full(shape, value, dtype=dtype, device=device)

    def integers(*shape, value=0):
        return full(value, *shape, dtype=torch.int32)

    X = full(0.0, n, P, dtype=torch.float16)
    C = full(0.0, K, P, dtype=torch.float16)
    X[:, -1] = 1.0
    C[-1, -1] = 1.0
    bias = full(0.0, K)
    lengths = full(1.0, n)
    AB = full(0.0, 2)
    halt = integers(1)
    numbers = torch.arange(n, dtype=torch.int32, device=device)
    last = integers(n, value=K - 1)

    labels = integers(n)
    counters = integers(8)
    launch_kernel(
        assign, 1,
        X, C, bias, lengths, AB, labels, full(0.0, n), full(0.0, n), full(0.0, K), numbers,
        counters, halt, n, -1, 0,
        K=K, P=P, BK=GROUP, NPROG=1, GATHER=False, BOUND=False, STAGES=1, num_warps=8,
        num_stages=3, **TILE,
    )  # fmt: skip
    assert labels.tolist() == last.tolist()

    slot = integers(n)
    centroid = integers(n)
    counters[1] = n
    launch_kernel(
        list_candidates, 2,
        X, C, bias, numbers, full(0.5, n), slot, centroid, full(0, n, dtype=torch.int8), counters,
        halt, n,
        K=K, P=P, BK=GROUP, NPROG=2, num_warps=8, num_stages=3, **TILE,
    )  # fmt: skip
    assert (int(counters[2]), sorted(slot.tolist())) == (n, numbers.tolist())
    assert centroid.tolist() == last.tolist()

    own_score = full(0.0, n)
    lists = integers(G, n)
    list_counts = integers(G)
    launch_kernel(
        list_groups_to_score, 1,
        X, C, bias, lengths, AB, last, own_score, full(0.0, n), full(-1e30, n, G), full(0.0, G),
        lists, list_counts,
        integers(n), counters, halt, n, P=P, G=G, **TILE,
    )  # fmt: skip
    assert own_score.tolist() == [1.0] * n
    assert list_counts.tolist() == [n] * G

    best, second = full(-1.0, n, G), full(-1.0, n, G)
    launch_kernel(
        score_groups, 2,
        X, C, bias, lists, list_counts, best, second, halt, n, P=P, KG=GROUP, G=G, NPROG=2,
        num_warps=8, num_stages=3,
        **TILE,
    )  # fmt: skip
    assert (best > 0.5).nonzero().tolist() == [[row, G - 1] for row in range(n)]
