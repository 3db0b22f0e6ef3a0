"""What the tensor cores of a card lose when they add up, on inputs built to lose the most; see
error_bound.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

from .error_bound import MARGIN, step_loss
from .kernels.probe import multiply
from .launches import launch_kernel

TILES = ((128, 256, 64, 8), (128, 128, 64, 4), (64, 16, 32, 2))  # rows, centroids, columns, warps
PROBE_COLUMNS = 2048  # of the products
# log2 of factors: what is dropped
TINY = [exponent + part for exponent in range(-16, -8) for part in (0.0, -0.001)]


def hostile_operands(rows: int, device: torch.device) -> Iterator[Tensor]:
    """Rows (rows, PROBE_COLUMNS) whose products with themselves and their negatives are hard to add
    up.
    """
    draw = torch.Generator(device="cpu").manual_seed(0)
    for tiny in TINY:  # a large first term, then many that lie just below what the alignment keeps
        x = torch.full((rows, PROBE_COLUMNS), 2.0**tiny)
        x[:, 0] = 1.0
        yield x.half().to(device)
        x[:, ::16] = 1.0  # one in each step
        yield x.half().to(device)
        # large sums that cancel again
        signs = torch.where(torch.arange(PROBE_COLUMNS) % 32 < 16, 1.0, -1.0)
        yield (x * signs).half().to(device)
    exponents = torch.rand(rows, PROBE_COLUMNS, generator=draw) * 14 - 14  # all sizes at once
    signs = torch.randint(0, 2, (rows, PROBE_COLUMNS), generator=draw) * 2 - 1
    yield (2.0**exponents).half().to(device)
    yield (2.0**exponents * signs).half().to(device)
    yield torch.randn(rows, PROBE_COLUMNS, generator=draw).half().to(device)


def largest_share_of_bound(device: torch.device, major: int) -> float:
    """The largest error seen over the doubled bound MARGIN P u sum |x c|; the model allows up to 1
    / MARGIN.
    """
    worst = 0.0
    for n_rows, n_centroids, columns, n_warps in TILES:
        for x in hostile_operands(n_rows, device):
            C = x[torch.arange(n_centroids, device=device) % n_rows] * torch.linspace(
                0.5, 1.0, n_centroids, device=device
            ).half().unsqueeze(1)
            out = torch.empty(n_rows, n_centroids, device=device)
            tile = {"P": PROBE_COLUMNS, "BN": n_rows, "BK": n_centroids, "BP": columns}
            launch_kernel(multiply, 1, x, C, out, num_warps=n_warps, **tile)
            size = x.double().abs() @ C.double().abs().T
            error = (out.double() - x.double() @ C.double().T).abs()
            worst = max(
                worst, float((error / (MARGIN * PROBE_COLUMNS * step_loss(major) * size)).max())
            )
    return worst


@cache
def check_accumulator(device: torch.device) -> None:
    """Refuse a card whose tensor cores lose more than the model of error_bound.py says."""
    major = torch.cuda.get_device_properties(device).major
    if (share := largest_share_of_bound(device, major)) > 1 / MARGIN:
        name = torch.cuda.get_device_name(device)
        raise RuntimeError(
            f"engine='torch' proves its labels by a bound on what tensor cores lose; {name} takes "
            f"{share:.2f} of it, "
            f"{1 / MARGIN} is allowed: use engine='native'."
        )
