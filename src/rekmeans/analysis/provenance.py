"""The provenance of clusters: settings, versions, and Python code that reproduces them."""

from __future__ import annotations

import inspect
import platform
from typing import Any

import numpy as np
import scipy
import sklearn

from .. import __version__


def provenance(model: Any, is_fit_table: bool) -> dict[str, Any]:
    """Return the settings, the versions, and Python code that reproduces the clusters."""
    settings = {name: json_setting(value) for name, value in model.get_params(deep=False).items()}
    has_fixed_start = model.random_state is not None and isinstance(model.init, str)
    return {
        "settings": settings,
        "python": fit_lines(model, settings) if is_fit_table else load_lines(),
        "exact": has_fixed_start if is_fit_table else True,
        "versions": library_versions(),
    }


def fit_lines(model: Any, settings: dict[str, Any]) -> list[str]:
    """Return Python code that repeats the fit, with all settings that are not defaults."""
    defaults = {
        name: json_setting(p.default)
        for name, p in inspect.signature(type(model)).parameters.items()
    }
    arguments = ", ".join(
        f"{name}={value!r}" for name, value in settings.items() if defaults[name] != value
    )
    estimator = type(model).__name__
    return [
        f"from rekmeans import {estimator}",
        "",
        f"model = {estimator}({arguments}).fit(X)",
        "model.labels_",
    ]


def load_lines() -> list[str]:
    """Return Python code that labels rows with a model file."""
    return [
        "from rekmeans import load",
        "",
        'model = load("model.safetensors")',
        "labels = model.predict(X)",
    ]


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries, and the system."""
    return {
        "rekmeans": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


def json_setting(value: Any) -> Any:
    """Return a setting in a type that JSON supports, or else the name of its type."""
    if isinstance(value, np.generic):
        return value.item()
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else f"<{type(value).__name__}>"
