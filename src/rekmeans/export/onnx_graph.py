"""The ONNX graph of a fitted estimator: t = (x - shift) rate, F = 2^23 (cos, sin) pi t, argmin
|m|^2 - 2 F.m.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from .._grid import GRID, grid_centroids
from ..estimators import EulerMap
from ..kernels.euler import MAX_INT64_COLUMNS, Euler
from ..scales import Scale
from ..table.empty_rows import NO_LABEL

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    raise ImportError("ONNX export requires onnx: pip install 'rekmeans[export]'.") from None

# released in 2022; all current runtimes support them
OPSET = 17
IR = 8


class GraphBuilder:
    """The nodes and constants of a graph under construction.

    Each method adds nodes and returns the names of their outputs.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(
        self, operator: str, *inputs: Any, name: str | None = None, **attributes: Any
    ) -> str:
        """Add an operator and return its output. Inputs are names or constants."""
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        out = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [out], **attributes))
        return out

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def onnx_bytes(model: Any) -> bytes:
    """Return the ONNX model of a fitted estimator, checked by onnx."""
    kernel, d = model.kernel_, model.n_features_in_
    g = GraphBuilder()
    F, observed = _add_map(g, kernel)
    if isinstance(model, EulerMap):
        g("Div", g("Cast", F, to=TensorProto.DOUBLE), float(GRID), name="mapped")
        outputs = [helper.make_tensor_value_info("mapped", TensorProto.DOUBLE, ["n", 2 * d])]
    else:
        if d > MAX_INT64_COLUMNS:
            raise ValueError(
                f"ONNX export (64-bit integers) supports at most {MAX_INT64_COLUMNS} columns, "
                f"got {d}. Drop some columns."
            )
        C = grid_centroids(model.centroids_).astype(np.int64)
        _add_nearest(g, F, observed, C)
        outputs = [
            helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
            helper.make_tensor_value_info("distance", TensorProto.DOUBLE, ["n", len(C)]),
        ]
    inputs = [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", d])]
    proto = helper.make_model(
        helper.make_graph(g.nodes, type(model).__name__, inputs, outputs, g.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="rekmeans",
    )
    names = getattr(model, "feature_names_in_", np.empty(0)).tolist()
    helper.set_model_props(proto, {"feature_names": json.dumps(names)} if names else {})
    onnx.checker.check_model(proto, full_check=True)
    return proto.SerializeToString(deterministic=True)


def _add_map(g: GraphBuilder, kernel: Euler) -> tuple[str, str]:
    """Add the mapped rows (n, 2d) on the grid, int64, and the observed cells (n, d), bool."""
    steps, rate = BEYOND_NODES[kernel.beyond](g, kernel)
    steps = _add_period(g, steps, kernel.scale)
    t = g("Mod", g("Mul", steps, rate), 2.0, fmod=1)  # (n, d) half-turns
    observed = g("Not", g("IsNaN", t))
    turns = g("Where", observed, t, 0.0)
    # older runtimes do not support Cos for double
    cos, sin = (_add_sine(g, turn) for turn in (g("Add", turns, 0.5), turns))
    # (n, 2d); (0, 0) for missing cells
    F = g("Concat", g("Where", observed, cos, 0.0), sin, axis=1)
    return g("Cast", F, to=TensorProto.INT64), observed


def _add_sine(g: GraphBuilder, t: str) -> str:
    """Add 2^23 sin(pi t), rounded to integers."""
    return g("Round", g("Mul", g("Sin", g("Mul", t, np.pi)), float(GRID)))


def _add_nearest(g: GraphBuilder, F: str, observed: str, C: Any) -> None:
    """Add `label` and `distance` from |f - m|^2 over the observed cells, in integers."""
    d = C.shape[1] // 2
    squares = C[:, :d] ** 2 + C[:, d:] ** 2  # (k, d)
    lengths = g("MatMul", g("Cast", observed, to=TensorProto.INT64), squares.T)  # (n, k)
    scores = g("Sub", lengths, g("MatMul", F, 2 * C.T))
    # older runtimes do not support ArgMin for int64
    above = g("Sub", scores, g("ReduceMin", scores, axes=[1], keepdims=1))
    nearest = g("ArgMin", g("Cast", above, to=TensorProto.DOUBLE), axis=1, keepdims=0)
    counts = g("Cast", observed, to=TensorProto.INT64)  # (n, d)
    # (n, 1); an ignored value is clipped if its row has no other, so only NaN leaves none
    is_empty = g("Equal", g("ReduceSum", counts, np.array([1]), keepdims=1), 0)
    is_unlabelled = g("Squeeze", is_empty, np.array([1]))
    g("Where", is_unlabelled, np.array(NO_LABEL, np.int64), nearest, name="label")
    squares = g("ReduceSum", g("Mul", F, F), np.array([1]), keepdims=1)  # (n, 1)
    D = g("Cast", g("Add", scores, squares), to=TensorProto.DOUBLE)
    g("Where", is_empty, np.nan, g("Sqrt", g("Mul", D, Euler.loss_unit)), name="distance")


def _add_period(g: GraphBuilder, steps: str, scale: Scale) -> str:
    """Add the offsets from the shift, modulo the period in periodic columns."""
    has_period = scale.period > 0
    if not has_period.any():
        return steps
    return g(
        "Where", has_period, g("Mod", steps, np.where(has_period, scale.period, 1.0), fmod=1), steps
    )


def _clip(g: GraphBuilder, kernel: Euler) -> tuple[str, Any]:
    """Add the offsets of clipped values from the shifts of their intervals, and the rates.

    Comparisons instead of Min and Max keep missing cells missing in every runtime.
    """
    scale = kernel.scale
    lacks = np.isnan(scale.low)
    # the largest possible distance
    low, high = (np.where(lacks, np.inf, ends) for ends in (scale.low, scale.high))
    shift, rate = (np.where(lacks, 0.0, values) for values in (scale.shift, kernel.rates))
    value = _add_nearest_end(g, low[:, 0], high[:, 0])
    gap = ""
    own_shift: Any = shift[:, 0]
    own_rate: Any = rate[:, 0]
    for i in range(1, low.shape[1]):
        gap = gap or g("Abs", g("Sub", "X", value))
        other = _add_nearest_end(g, low[:, i], high[:, i])
        other_gap = g("Abs", g("Sub", "X", other))
        closer = g("Less", other_gap, gap)
        value, gap = g("Where", closer, other, value), g("Where", closer, other_gap, gap)
        own_shift = g("Where", closer, shift[:, i], own_shift)
        own_rate = g("Where", closer, rate[:, i], own_rate)
    return g("Sub", value, own_shift), own_rate


def _add_nearest_end(g: GraphBuilder, low: Any, high: Any) -> str:
    capped = g("Where", g("Greater", "X", high), high, "X")
    return g("Where", g("Less", "X", low), low, capped)


def _ignore(g: GraphBuilder, kernel: Euler) -> tuple[str, Any]:
    """Replace values outside the intervals with NaN, or clip a row that has no other values."""
    inside = ""
    for low, high in zip(kernel.scale.low.T, kernel.scale.high.T, strict=True):
        in_interval = g("And", g("GreaterOrEqual", "X", low), g("LessOrEqual", "X", high))
        inside = g("Or", inside, in_interval) if inside else in_interval
    # (n, 1)
    n_inside = g("ReduceSum", g("Cast", inside, to=TensorProto.INT64), np.array([1]), keepdims=1)
    steps, rate = _clip(g, kernel)
    return g("Where", g("Or", inside, g("Equal", n_inside, 0)), steps, np.nan), rate


def _wrap(g: GraphBuilder, kernel: Euler) -> tuple[str, Any]:
    return g("Sub", "X", kernel.scale.origin), kernel.rates[:, 0]


# the offsets (n, d) of values from the shifts of their intervals, and the rates of the intervals
BEYOND_NODES: dict[str, Callable[[GraphBuilder, Euler], tuple[str, Any]]] = {
    "ignore": _ignore,
    "clip": _clip,
    "wrap": _wrap,
}
