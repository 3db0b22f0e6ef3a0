"""Where clusters come from: settings, versions and the lines of Python that give them again."""

from __future__ import annotations

import inspect
import platform
from typing import Any

import numpy as np
import scipy
import sklearn

from .. import __version__


def provenance(model: Any, is_fit_table: bool) -> dict[str, Any]:
    """Settings, versions and Python: a fit again for the table of the fit, the model's file for
    another table.
    """
    settings = {name: json_setting(value) for name, value in model.get_params(deep=False).items()}
    has_fixed_start = model.random_state is not None and isinstance(model.init, str)
    return {
        "settings": settings,
        "python": fit_lines(model, settings) if is_fit_table else load_lines(),
        "exact": has_fixed_start if is_fit_table else True,
        "versions": library_versions(),
    }


def fit_lines(model: Any, settings: dict[str, Any]) -> list[str]:
    """Python that fits again, naming the settings that are not the defaults."""
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
    """Python that labels rows by the model's file."""
    return [
        "from rekmeans import load",
        "",
        'model = load("model.safetensors")',
        "labels = model.predict(X)",
    ]


def library_versions() -> dict[str, str]:
    """What runs here."""
    return {
        "rekmeans": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


def json_setting(value: Any) -> Any:
    """A setting that JSON can hold; any other by the name of its type."""
    if isinstance(value, np.generic):
        return value.item()
    return (
        value
        if value is None or isinstance(value, bool | int | float | str)
        else f"<{type(value).__name__}>"
    )
