"""Export a fitted estimator to ONNX: labels and distances, or mapped rows."""

from __future__ import annotations

import os
from typing import Any

from ..atomic import atomic_write
from ..estimators import EulerKMeans, EulerMap, RectifiedEulerKMeans
from ..estimators.fitted_state import reject_other_models

WITH_GRAPH = (EulerKMeans, RectifiedEulerKMeans, EulerMap)


def to_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as an ONNX graph. The write is atomic.

    The input `X` (n, d) is double, with NaN for missing values. The graph computes on the grid in
    64-bit integers, like the estimator. For a clusterer, the outputs are `label` (n,), which equals
    `predict`, and `distance` (n, k), which equals `transform` up to a unit in the last place. For
    :class:`EulerMap`, the output is `mapped` (n, 2d). A runtime may round a cosine differently
    if it is almost halfway between two grid points. A label can differ only if the
    squared distances of the two nearest centroids are within d 2**-21 of each other. A row without
    an observed value gets the label -1 and NaN distances.

    Parameters
    ----------
    model : EulerKMeans, RectifiedEulerKMeans or EulerMap
        A fitted estimator.
    path : str or path
        The path of the file. An existing file is replaced.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from onnxruntime import InferenceSession
    >>> from rekmeans import RectifiedEulerKMeans, to_onnx
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(model, os.path.join(folder, "model.onnx"))
    ...     session = InferenceSession(os.path.join(folder, "model.onnx"))
    >>> label, distance = session.run(["label", "distance"], {"X": X})
    >>> np.array_equal(label, model.predict(X)), np.array_equal(distance, model.transform(X))
    (True, True)
    """
    reject_other_models(model)
    if not isinstance(model, WITH_GRAPH):
        names = ", ".join(kind.__name__ for kind in WITH_GRAPH)
        raise ValueError(
            f"only {names} can be exported to ONNX, got {type(model).__name__}. Pass one of "
            f"these, or use rekmeans.save."
        )
    from .onnx_graph import onnx_bytes

    with atomic_write(path) as part:
        part.write_bytes(onnx_bytes(model))
