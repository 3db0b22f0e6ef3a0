"""Convert a fitted estimator to values that the codec stores, and back.

Attributes that follow from the kernel and the centroids, such as `deviation_`, are recomputed.
"""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _parameters
from .._grid import Array
from .._text import caller_stacklevel
from ..codec import Codec
from ..engines import host_values
from ..half_life import Clock
from ..kernels import Kernel
from ..model import Centroids, Sums, check_like
from ..scales import SCALES, Scale
from ..table.recent_rows import RecentRows
from ._partial_fit import CellCounts, PartialFitMixin, Stream, check_stream
from .euler import EulerKMeans, RectifiedEulerKMeans
from .euler_map import EulerMap
from .fuzzy import FuzzyCMeans
from .kernel_kmeans import KernelKMeans
from .mahalanobis import MahalanobisFuzzyCMeans
from .multiple_kernel import MultipleKernelKMeans
from .neural_gas import NeuralGas
from .placement import fitted_centroids
from .som import SelfOrganizingMap

ESTIMATORS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        EulerKMeans,
        RectifiedEulerKMeans,
        EulerMap,
        KernelKMeans,
        FuzzyCMeans,
        SelfOrganizingMap,
        NeuralGas,
        MultipleKernelKMeans,
        MahalanobisFuzzyCMeans,
    )
}
CODEC = Codec((Scale, Stream, Clock, CellCounts, RecentRows), families=(Kernel, Centroids, Sums))
OF_ONE_MACHINE = ("checkpoint",)  # parameters that other machines cannot use
MAX_TEXT = 200  # characters of a parameter or an engine name
MAX_STAGES = 100_000  # predict loops over all stages
HISTORY = {"inertia": "f", "n_changed": "i", "n_relocated": "i", "seconds": "f"}  # kinds of dtypes
STAGE_HISTORY = {"stage": "i", "reach": "f"}
NUMBERS = {"f": "real numbers", "i": "integers"}
OF_CLUSTERERS = ("inertia_", "n_iter_", "history_", "engine_", "cluster_centers_")
OF_ROWS = ("labels_", "memberships_")  # arrays with a row for each row of the fit
OF_STREAMS = ("stream_", "n_steps_", "n_samples_seen_")
OWN_ATTRIBUTES = {
    EulerMap: ("middle_",),
    FuzzyCMeans: ("memberships_",),
    MahalanobisFuzzyCMeans: ("memberships_",),
    SelfOrganizingMap: ("u_matrix_", "topographic_error_"),
    NeuralGas: ("graph_",),
    MultipleKernelKMeans: ("kernel_centers_",),
}


@dataclass(frozen=True)
class FittedState:
    """The state of a fitted estimator that a file stores."""

    estimator: str  # a name in ESTIMATORS
    parameters: Mapping[str, Any]
    n_features: int
    feature_names: list[str] | None
    kernel: Any
    centroids: Any  # None for EulerMap
    attributes: Mapping[str, Any]
    # column schema or None; its `feature_names` name the columns of the kernel
    schema: Any = None


def fitted_state(model: Any, *, labels: bool = True, stream: bool = True) -> FittedState:
    """Return the state of a fitted estimator.

    Raise ValueError if its parameters were changed after the fit in a way that prevents loading.
    """
    kind = type(model)
    excluded = (() if labels else OF_ROWS) + (() if stream else OF_STREAMS)
    names = [name for name in _attribute_names(kind) if name not in excluded]
    attributes = {name: getattr(model, name) for name in names if hasattr(model, name)}
    attributes |= {name: host_values(attributes[name]) for name in OF_ROWS if name in attributes}
    feature_names = getattr(model, "feature_names_in_", None)
    state = FittedState(
        kind.__name__,
        _plain_parameters(model),
        int(model.n_features_in_),
        None if feature_names is None else feature_names.tolist(),
        model.kernel_,
        None if kind is EulerMap else fitted_centroids(model),
        attributes,
        getattr(model, "schema_", None),
    )
    restore_estimator(state)  # check that the file can be read again
    return state


def restore_estimator(state: FittedState) -> Any:
    """Return the estimator with this state, after checking each value."""
    kind = ESTIMATORS[state.estimator]
    model = _make_estimator(kind, state.parameters)
    kernel = state.kernel
    d = state.n_features if state.schema is None else len(state.schema.feature_names)
    _check_kernel(model, kernel, d)
    init = state.parameters.get("init")
    if init is not None and not isinstance(init, str):
        model.init = _parameters.check_starting_points(init, model._n_centroids(), d)
    fitted = {"kernel_": kernel, "n_features_in_": state.n_features, **_feature_names(state)}
    fitted |= {} if state.schema is None else {"schema_": state.schema}
    known = _attribute_names(kind)
    unknown = sorted(state.attributes.keys() - set(known))
    optional = {*OF_ROWS, *OF_STREAMS, *(["cluster_centers_"] if kernel.is_pairwise else [])}
    required = [name for name in known if name not in optional]
    missing = [name for name in required if name not in state.attributes]
    if unknown or missing:
        raise ValueError(
            f"its attributes must be those of {kind.__name__}; unknown: "
            f"{', '.join(unknown) or 'none':.60}; missing: {', '.join(missing) or 'none'}"
        )
    C = state.centroids
    if kind is not EulerMap:
        check_like("centroids", C, _example_centroids(kernel, len(C), d))
        fitted |= kernel.to_public(C) | kernel.fitted_parameters
        fitted |= {"deviation_": kernel.deviation(C), "scale_": kernel.scale}
    parts = FittedModel(model, kernel, C, 0 if C is None else len(C), kernel.scale.n_columns)
    for name, value in state.attributes.items():
        try:
            CHECKS[name](value, parts)
        except (TypeError, AttributeError, KeyError):
            raise ValueError(f"{name} must not be a {type(value).__name__}") from None
    if kind is not EulerMap:
        n = state.attributes["history_"]["n_changed"].size
        n_iter = state.attributes["n_iter_"]
        if n_iter > n:
            raise ValueError(f"n_iter_={n_iter} requires at least as many history entries, got {n}")
    vars(model).update(fitted | dict(state.attributes))
    model.scale = state.parameters.get("scale", model.scale)
    return model


def _attribute_names(kind: type) -> tuple[str, ...]:
    """Return the fitted attributes that a file may contain."""
    own = OWN_ATTRIBUTES.get(kind, ())
    if kind is EulerMap:
        return own
    streams = OF_STREAMS if issubclass(kind, PartialFitMixin) else ()
    return ("labels_", *OF_CLUSTERERS, *own, *streams)


def _feature_names(state: FittedState) -> dict[str, Any]:
    names = state.feature_names
    d = state.n_features
    if names is None:
        return {}
    if len(names) != d or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names must be {d} strings")
    if len(set(names)) < d:
        raise ValueError("feature_names must be unique")
    return {"feature_names_in_": np.array(names, dtype=object)}


# parameters


def default_parameters(kind: type) -> dict[str, Any]:
    """Return the parameters of an estimator and their defaults."""
    return {name: entry.default for name, entry in inspect.signature(kind).parameters.items()}


def _plain_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters that can be stored. Replace others by their defaults and warn."""
    model._check_parameters()
    given = model.get_params(deep=False)
    defaults = default_parameters(type(model))
    given |= {name: defaults[name] for name in OF_ONE_MACHINE if name in given}
    init = given.get("init")
    if init is not None and not isinstance(init, str) and not callable(init):
        k = model._n_centroids()
        given["init"] = _parameters.check_starting_points(init, k, model.kernel_.scale.n_columns)
    lost = [name for name, value in given.items() if not _is_plain(value)]
    if lost:
        kept = ", ".join(f"{name}={defaults[name]!r}" for name in lost)
        warnings.warn(
            f"A model file can only store numbers and text. Stored the "
            f"{'default' if len(lost) == 1 else 'defaults'} instead: {kept}.",
            stacklevel=caller_stacklevel(),
        )
    return {
        name: defaults[name] if name in lost else _plain_value(value)
        for name, value in given.items()
    }


def _is_plain(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iuf"
    if isinstance(value, list | tuple):
        return all(_is_plain(one) for one in value)
    return isinstance(value, numbers.Real | str | None)


def _plain_value(value: Any) -> Any:
    """Convert a number or text of any class to a built-in Python type."""
    if value is None or isinstance(value, bool | np.ndarray):
        return value
    if isinstance(value, list | tuple):
        plain = [_plain_value(one) for one in value]
        return tuple(plain) if isinstance(value, tuple) else plain
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _make_estimator(kind: Any, parameters: Mapping[str, Any]) -> Any:
    """Return an unfitted estimator whose parameters were checked.

    The kernel contains the scale, because its name may not be registered on this machine.
    """
    for name, value in parameters.items():
        if not _is_plain(value) or _longest_text(value) > MAX_TEXT:
            raise ValueError(
                f"{name} must be a number, an array or text of at most {MAX_TEXT} characters"
            )
    scale = parameters.get("scale")
    known_scale = scale if isinstance(scale, str) and scale in SCALES else None
    model = kind(**({**parameters, "scale": known_scale} if "scale" in parameters else parameters))
    model._check_parameters()
    if getattr(model, "stages", 0) > MAX_STAGES:
        raise ValueError(f"stages must be at most {MAX_STAGES}")
    return model


def _longest_text(value: Any) -> int:
    if isinstance(value, list | tuple):
        return max(map(_longest_text, value), default=0)
    return len(value) if isinstance(value, str) else 0


# the kernel and the centroids


def _check_kernel(model: Any, kernel: Any, d: int) -> None:
    """Raise ValueError unless the kernel is of the type that the parameters select."""
    if not hasattr(kernel, "scale"):
        raise ValueError(f"the kernel is a {type(kernel).__name__}")
    kernel.check_record()
    expected = model._make_kernel(kernel.scale)
    if _kinds(kernel) != _kinds(expected):
        raise ValueError(
            f"its parameters select the kernel {_kinds(expected)}, but it was fitted with "
            f"{_kinds(kernel)}. Restore the parameters of the fit"
        )
    n = kernel.scale.n_columns - kernel.is_pairwise  # the last column is k(x, x)
    if not 1 <= n == d:
        raise ValueError(f"the scale has {n} columns, but the model has {d}")


def _kinds(kernel: Any) -> str:
    """Return the types of a kernel and of its parts."""
    parts = [getattr(kernel, "base", None), *getattr(kernel, "parts", ())]
    inner = ", ".join(_kinds(part) for part in parts if part is not None)
    return f"{type(kernel).__name__}({inner})" if inner else type(kernel).__name__


def _example_centroids(kernel: Any, k: int, d: int) -> Any:
    """Return k example centroids of this kernel, with the expected types and shapes."""
    one = (
        kernel.from_rows(np.zeros((1, d + 1)))
        if kernel.is_pairwise
        else kernel.from_points(kernel.scale.middle[None])
    )
    if k < 1:
        raise ValueError("it has no centroids")
    return one.take(np.zeros(k, int))


# attributes


@dataclass(frozen=True)
class FittedModel:
    """The parts of a model with which its attributes must be consistent."""

    estimator: Any  # with its parameters
    kernel: Any
    centroids: Any  # None for EulerMap
    k: int  # of centroids
    d: int  # of columns of the scale


def _check_array(name: str, values: Array, kind: str, shape: tuple[int, ...] | None = None) -> None:
    """Raise ValueError unless an array has this kind of dtype and this shape, and no NaN."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != kind:
        raise ValueError(f"{name} must be an array of {NUMBERS[kind]}")
    if shape is not None and values.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {values.shape}")
    if kind == "f" and np.isnan(values).any():
        raise ValueError(f"{name} must not contain NaN")


def _check_points(name: str, values: Any, shape: tuple[int, ...]) -> None:
    _check_array(name, values, "f", shape)
    if np.isinf(values).any():
        raise ValueError(f"{name} must be finite")


def _check_cluster_centers(values: Any, fitted: FittedModel) -> None:
    _check_points("cluster_centers_", values, (fitted.k, fitted.d))


def _check_kernel_centers(values: Any, fitted: FittedModel) -> None:
    n_kernels = len(fitted.kernel.parts)
    _check_points("kernel_centers_", values, (n_kernels, fitted.k, fitted.d))


def _check_middle(values: Any, fitted: FittedModel) -> None:
    _check_points("middle_", values, (fitted.d,))


def _check_labels(values: Any, fitted: FittedModel) -> None:
    _check_array("labels_", values, "i")
    if values.ndim != 1 or values.max(initial=0) >= fitted.k or values.min(initial=0) < -1:
        raise ValueError(f"labels_ must be between -1 and {fitted.k - 1}")


def _check_memberships(values: Any, fitted: FittedModel) -> None:
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind == "f":
        values = values[~np.isnan(values).all(axis=1)]  # rows without an observed value have NaN
    _check_array("memberships_", values, "f", (len(values), fitted.k))
    if values.min(initial=0) < 0 or values.max(initial=0) > 1:
        raise ValueError("memberships_ must be between 0 and 1")


def _check_inertia(value: Any, fitted: FittedModel) -> None:
    # a log-likelihood may be negative
    least = 0 if fitted.kernel.has_exact_arithmetic else -np.inf
    _parameters.check_real("inertia_", value, minimum=least)


def _check_n_iter(value: Any, fitted: FittedModel) -> None:
    _parameters.check_int("n_iter_", value)


def _check_history(history: Any, fitted: FittedModel) -> None:
    known = HISTORY | STAGE_HISTORY
    if not set(HISTORY) <= history.keys() <= known.keys():
        raise ValueError(f"history_ must have the entries {', '.join(known)}")
    n = history["n_changed"].size
    for name, values in history.items():
        _check_array(f"history_.{name}", values, known[name], (n,))


def _check_engine(value: Any, fitted: FittedModel) -> None:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ValueError(f"engine_ must be text of at most {MAX_TEXT} characters")


def _check_u_matrix(values: Any, fitted: FittedModel) -> None:
    grid = tuple(fitted.estimator.grid)
    if grid[0] * grid[1] != fitted.k:
        raise ValueError(f"grid={grid} must have one node per centroid ({fitted.k})")
    _check_array("u_matrix_", values, "f", grid)


def _check_topographic_error(value: Any, fitted: FittedModel) -> None:
    _parameters.check_real("topographic_error_", value, minimum=0, maximum=1)


def _check_graph(graph: Any, fitted: FittedModel) -> None:
    if graph.shape != (fitted.k, fitted.k):
        raise ValueError(f"graph_ must have shape {(fitted.k, fitted.k)}, got {graph.shape}")
    _check_array("graph_", graph.data, "f")


def _check_stream(stream: Any, fitted: FittedModel) -> None:
    if not isinstance(stream, Stream):
        raise ValueError(f"stream_ must be a Stream, got a {type(stream).__name__}")
    check_stream(stream, fitted.estimator._make_stages(fitted.kernel)[-1], fitted.centroids)


def _check_n_steps(value: Any, fitted: FittedModel) -> None:
    _parameters.check_int("n_steps_", value)


def _check_n_samples_seen(value: Any, fitted: FittedModel) -> None:
    _parameters.check_int("n_samples_seen_", value)


CHECKS: dict[str, Callable[[Any, FittedModel], None]] = {
    "labels_": _check_labels,
    "memberships_": _check_memberships,
    "inertia_": _check_inertia,
    "n_iter_": _check_n_iter,
    "history_": _check_history,
    "engine_": _check_engine,
    "cluster_centers_": _check_cluster_centers,
    "kernel_centers_": _check_kernel_centers,
    "middle_": _check_middle,
    "u_matrix_": _check_u_matrix,
    "topographic_error_": _check_topographic_error,
    "graph_": _check_graph,
    "stream_": _check_stream,
    "n_steps_": _check_n_steps,
    "n_samples_seen_": _check_n_samples_seen,
}


def reject_other_models(model: Any) -> None:
    """Raise TypeError for anything but an estimator of this package, or NotFittedError."""
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        names = ", ".join(ESTIMATORS)
        got = type(model).__name__
        raise TypeError(f"only a fitted {names} can be saved, got {got}. Pass one, or use pickle.")
    check_is_fitted(model)
