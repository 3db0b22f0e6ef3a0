"""Upgrade model files of format versions 1 and 2 (Euler models only) to version 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._grid import Array

EARLIER_VERSIONS = (1, 2)
FIRST_ANSWER_VERSION = 1  # for files without an answer version
FIRST_NAMES = {  # array names in files of version 1
    "centre": "shift",
    "history.objective": "history.inertia",
    "history.moved": "history.n_changed",
    "history.refilled": "history.n_relocated",
}
SCALE = ("low", "high", "shift", "unit", "period")
HISTORY = ("inertia", "n_changed", "n_relocated", "seconds")
SHARED = (
    "format",
    "version",
    "answer_version",
    "estimator",
    "parameters",
    "alpha",
    "beyond",
    "feature_names",
)
OF_CLUSTERERS = ("n_iter", "inertia", "engine")


def upgrade(
    header: dict[str, Any], arrays: Mapping[str, Array]
) -> tuple[dict[str, Any], Mapping[str, Array]]:
    """Convert the header and arrays to format version 3. Values are checked later."""
    is_map = header["estimator"] == "EulerMap"
    if header["version"] == 1:
        header = {"answer_version": FIRST_ANSWER_VERSION, "engine": ""} | header
        if is_map:
            del header["engine"]
        arrays = _upgrade_first_arrays(arrays)
    known = {*SHARED, *(() if is_map else OF_CLUSTERERS)}
    if header.keys() != known:
        other = sorted(header.keys() ^ known)[0]
        raise ValueError(
            f"{other:.40} is missing from the header or not a field of its format version"
        )
    if not isinstance(header["parameters"], dict):
        raise ValueError("parameters must be a JSON object")

    def array(name: str) -> dict[str, str]:
        return {"array": name}

    left_out = ["left_out"] if "left_out" in arrays else []
    scale = {"record": "Scale", "fields": {name: array(name) for name in (*SCALE, *left_out)}}
    map_fields = {"scale": scale, "beyond": header["beyond"], "alpha": header["alpha"]}
    attributes: dict[str, Any] = {"middle_": array("middle")}
    parameters = dict(header["parameters"])
    if not is_map:
        attributes = {
            "n_iter_": header["n_iter"],
            "inertia_": header["inertia"],
            "engine_": header["engine"],
            "cluster_centers_": array("cluster_centers"),
            "history_": {"table": {name: array(f"history.{name}") for name in HISTORY}},
        }
        attributes |= {"labels_": array("labels")} if "labels" in arrays else {}
        parameters |= {"init": array("init")} if "init" in arrays else {}
    centroids = {"record": "OnCircles", "fields": {"f": array("centroids")}}
    return {
        **{name: header[name] for name in ("format", "version", "answer_version", "estimator")},
        "parameters": parameters,
        "n_features": arrays["unit"].size,
        "feature_names": header["feature_names"],
        "kernel": {"record": "Euler", "fields": map_fields},
        "centroids": None if is_map else centroids,
        "attributes": attributes,
    }, arrays


def _upgrade_first_arrays(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Convert the arrays of a version-1 file, which has one interval per column and no periods."""
    renamed = {FIRST_NAMES.get(name, name): values for name, values in arrays.items()}
    intervals = {name: renamed[name].reshape(-1, 1) for name in ("low", "high", "shift")}
    return renamed | intervals | {"period": np.zeros(renamed["unit"].size)}
