"""A plain product in the tensor cores, tiled as the passes tile it, for looking at what the
accumulator loses.
"""

import triton
import triton.language as tl


@triton.jit
def multiply(X, C, out, P: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BP: tl.constexpr):
    """out f32 (BN, BK) = X fp16 (BN, P) times C' fp16 (BK, P)."""
    r, c, pc = tl.arange(0, BN), tl.arange(0, BK), tl.arange(0, BP)
    acc = tl.zeros([BN, BK], tl.float32)
    for pt in tl.range(0, P, BP):
        x = tl.load(X + r[:, None] * P + pt + pc[None, :])
        acc = tl.dot(x, tl.load(C + c[None, :] * P + pt + pc[:, None]), acc)
    tl.store(out + r[:, None] * BK + c[None, :], acc)
