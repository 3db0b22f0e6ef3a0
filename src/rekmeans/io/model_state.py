"""The state of a fitted estimator as a header of plain values and named arrays, and the estimator
back from both.
"""

from __future__ import annotations

import inspect
import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _parameters
from .._grid import Array, complex_centroids, grid_centroids
from ..engines import host_values
from ..estimators import EulerKMeans, EulerMap, RectifiedEulerKMeans
from ..estimators.placement import check_parameters
from ..kernels.euler import Euler, check_within_circles, deviation_from_circle
from ..scales import BEYOND, MAX_INTERVALS, SCALES, Scale

ESTIMATORS: dict[str, type] = {
    kind.__name__: kind for kind in (EulerKMeans, RectifiedEulerKMeans, EulerMap)
}
SCALE_ARRAYS = {"low": "F64", "high": "F64", "shift": "F64", "unit": "F64", "period": "F64"}
HISTORY = {"inertia": "F64", "n_changed": "I64", "n_relocated": "I64", "seconds": "F64"}
MAP_ARRAYS = SCALE_ARRAYS | {"middle": "F64"}
CLUSTER_ARRAYS = (
    SCALE_ARRAYS
    | {"centroids": "I32", "cluster_centers": "F64"}
    | {f"history.{t}": kind for t, kind in HISTORY.items()}
)
POINTS = ("cluster_centers", "middle")  # of the table's space
SCALE_OPTIONS = {"left_out": "F64"}
OPTIONAL_ARRAYS = SCALE_OPTIONS | {"init": "F64", "labels": "I32"}
OF_ONE_MACHINE = ("checkpoint",)  # parameters that no other can use
Header = dict[str, Any]


def model_state(model: Any, labels: bool) -> tuple[Header, dict[str, Array]]:
    """Header and arrays of a fitted estimator, with its labels where they are wanted and the model
    has them.
    """
    refuse_other_models(model)
    parameters, init = _plain_parameters(model)
    header: Header = {
        "estimator": type(model).__name__,
        "parameters": parameters,
        "alpha": model.kernel_.alpha,
        "beyond": model.kernel_.beyond,
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist() or None,
    }
    scale = model.kernel_.scale
    arrays: dict[str, Array] = {name: getattr(scale, name) for name in SCALE_ARRAYS}
    arrays |= {} if scale.left_out is None else {"left_out": scale.left_out}
    if isinstance(model, EulerMap):
        arrays["middle"] = model.middle_
    else:
        header |= {
            "n_iter": int(model.n_iter_),
            "inertia": float(model.inertia_),
            "engine": model.engine_,
        }
        arrays |= {
            "centroids": grid_centroids(model.centroids_),
            "cluster_centers": model.cluster_centers_,
        }
        arrays |= {f"history.{name}": model.history_[name] for name in HISTORY}
        arrays |= {} if init is None else {"init": init}
        arrays |= (
            {"labels": host_values(model.labels_)} if labels and hasattr(model, "labels_") else {}
        )
    return header, {name: np.ascontiguousarray(values) for name, values in arrays.items()}


def _plain_parameters(model: Any) -> tuple[dict[str, Any], Array | None]:
    """The parameters as plain values, those that have none as their defaults; and the array given
    as `init`, if any.
    """
    check_parameters(model)
    given = model.get_params(deep=False)
    defaults = default_parameters(type(model))
    given |= {name: defaults[name] for name in OF_ONE_MACHINE if name in given}
    init = given.get("init")
    if init is not None and not isinstance(init, str) and not callable(init):
        init = _parameters.check_starting_points(
            given.pop("init"), model.n_clusters, model.n_features_in_
        )
    lost = [
        name for name, value in given.items() if not isinstance(value, numbers.Real | str | None)
    ]
    if lost:
        kept = ", ".join(f"{name}={defaults[name]!r}" for name in lost)
        warnings.warn(
            f"a file holds only numbers and text: stored {kept} instead of what the model has.",
            stacklevel=4,
        )
    values = {
        name: defaults[name] if name in lost else _plain_value(value)
        for name, value in given.items()
    }
    return values, init if isinstance(init, np.ndarray) else None


def _plain_value(value: Any) -> Any:
    """A number or text of any class as Python's own."""
    if value is None or isinstance(value, bool):
        return value
    return (
        str(value)
        if isinstance(value, str)
        else int(value)
        if isinstance(value, numbers.Integral)
        else float(value)
    )


def default_parameters(kind: type) -> dict[str, Any]:
    """The parameters of an estimator and their defaults."""
    return {name: entry.default for name, entry in inspect.signature(kind).parameters.items()}


def model_of_state(header: Header, arrays: dict[str, Array]) -> Any:
    """The estimator of a header and its arrays; each value is checked before use."""
    d = arrays["unit"].size
    scale = _scale(arrays, d)
    _parameters.check_one_of("beyond", header["beyond"], BEYOND)
    alpha = _parameters.check_real("alpha", header["alpha"], above=0, maximum=_parameters.MAX_ALPHA)
    names = header["feature_names"]
    if names is not None and (len(names) != d or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"feature_names must be {d} texts")
    if names is not None and len(set(names)) < d:
        raise ValueError("feature_names must differ")
    parameters = header["parameters"]
    known_scale = (
        parameters.get("scale") if parameters.get("scale") in SCALES else None
    )  # that of a registered scale is in the arrays
    model = ESTIMATORS[header["estimator"]](**(parameters | {"scale": known_scale}))
    fitted = {"kernel_": Euler(scale, header["beyond"], alpha), "n_features_in_": d}
    fitted |= {} if names is None else {"feature_names_in_": np.array(names, dtype=object)}
    check_parameters(model)
    if isinstance(model, EulerMap):
        fitted["middle_"] = _array_of_shape(arrays, "middle", (d,))
    else:
        fitted |= {"alpha_": alpha, "scale_": scale, "engine_": header["engine"]}
        fitted |= _cluster_attributes(header, arrays, d)
        if "init" in arrays:
            model.init = _parameters.check_starting_points(arrays["init"], model.n_clusters, d)
    model.__dict__.update(fitted | {"scale": parameters.get("scale", model.scale)})
    return model


def _cluster_attributes(header: Header, arrays: dict[str, Array], d: int) -> dict[str, Any]:
    """The fitted attributes of a clusterer besides its map."""
    k = (arrays["centroids"].shape or (0,))[0]
    n_iter = _parameters.check_int("n_iter", header["n_iter"])
    C = _array_of_shape(arrays, "centroids", (k, 2 * d))
    if k == 0:
        raise ValueError("it has no centroids")
    check_within_circles(C)
    passes = arrays["history.n_changed"].size
    if n_iter > passes:
        raise ValueError(f"n_iter={n_iter} needs a history as long, got {passes} entries")
    centroids = complex_centroids(C)
    attributes = {
        "centroids_": centroids,
        "cluster_centers_": _array_of_shape(arrays, "cluster_centers", (k, d)),
        "deviation_": deviation_from_circle(centroids),
        "history_": {
            name: _array_of_shape(arrays, f"history.{name}", (passes,)) for name in HISTORY
        },
        "n_iter_": n_iter,
        "inertia_": _parameters.check_real("inertia", header["inertia"], minimum=0),
    }
    if "labels" in arrays:
        attributes["labels_"] = labels = _array_of_shape(arrays, "labels", (arrays["labels"].size,))
        if labels.max(initial=0) >= k or labels.min(initial=0) < 0:
            raise ValueError(f"labels must be numbers of its {k} clusters")
    return attributes


def _scale(arrays: dict[str, Array], d: int) -> Scale:
    """The scale of d columns; a column has at least one interval, and NaN in place of those it
    lacks.
    """
    m = arrays["low"].shape[-1] if arrays["low"].ndim == 2 else 0
    if d == 0 or not 1 <= m <= MAX_INTERVALS:
        raise ValueError(f"its scale must have a column, and 1 to {MAX_INTERVALS} intervals")
    lacks = np.isnan(arrays["low"])
    parts = {
        name: _array_of_shape(arrays, name, (d, m), lacks) for name in ("low", "high", "shift")
    }
    by_column = ["unit", "period", *(["left_out"] if "left_out" in arrays else [])]
    return Scale(**parts, **{name: _array_of_shape(arrays, name, (d,)) for name in by_column})


def _array_of_shape(
    arrays: dict[str, Array], name: str, shape: tuple[int, ...], may_lack: Array | bool = False
) -> Array:
    """An array of the file, which must have this shape and NaN only where it may lack a number."""
    values = arrays[name]
    if values.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {values.shape}")
    if (np.isnan(values) & ~np.asarray(may_lack)).any():
        raise ValueError(f"{name} must have no NaN")
    if name in POINTS and np.isinf(values).any():
        raise ValueError(f"{name} must be finite")
    return values


def refuse_other_models(model: Any) -> None:
    """Refuse what has no model file: other estimators, and those not fitted."""
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        names = ", ".join(ESTIMATORS)
        got = type(model).__name__
        raise TypeError(
            f"only a fitted {names} can be written, got {got}: pass one, or pickle this."
        )
    check_is_fitted(model)
