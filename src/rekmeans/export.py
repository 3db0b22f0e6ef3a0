"""Models that travel: a safetensors file that gives the same bits back, and an ONNX graph of labels and distances."""

from __future__ import annotations

import os
from typing import Any

from . import _model_file
from ._files import whole


def save(model: Any, path: str | os.PathLike[str], *, labels: bool = True) -> None:
    """Write a fitted estimator to a safetensors file, whole or not at all.

    The file holds numbers and text only. Parameters that are neither (a callable `init`, a RandomState) are stored as
    their defaults, with a warning; the fitted state does not depend on them.

    Parameters
    ----------
    model : EulerKMeans, RectifiedEulerKMeans or EulerMap
        Fitted.
    path : str or path
        The file; an earlier one is replaced.
    labels : bool
        Whether `labels_`, 4 bytes for each row of the fit, goes into the file.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from rekmeans import RectifiedEulerKMeans, load, save
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.safetensors"))
    ...     same = load(os.path.join(folder, "model.safetensors"))
    >>> np.array_equal(same.transform(X), model.transform(X))
    True
    """
    safetensors = _safetensors()
    header, arrays = _model_file.written(model, labels)
    with whole(path) as beside:  # one key: the order of several is not kept
        beside.write_bytes(safetensors.numpy.save(arrays, {_model_file.FORMAT: header}))


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator that :func:`save` wrote: it predicts, transforms and scores with the same bits.

    Nothing in the file is run. A file that is damaged, foreign or of a newer format is a ValueError that says so.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    EulerKMeans, RectifiedEulerKMeans or EulerMap

    Examples
    --------
    >>> import os, tempfile
    >>> from rekmeans import EulerMap, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(EulerMap(alpha=0.5, scale="range").fit([[0.0], [4.0]]), os.path.join(folder, "map.safetensors"))
    ...     load(os.path.join(folder, "map.safetensors")).transform([[4.0]])
    array([[0., 1.]])
    """
    safetensors = _safetensors()
    with open(path, "rb"):  # absent, a directory, forbidden: Python's own words
        pass
    place = os.fspath(path)
    try:
        with safetensors.safe_open(place, framework="numpy") as file:
            header = _model_file.header_of((file.metadata() or {}).get(_model_file.FORMAT))
            kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
            _model_file.refuse_other_arrays(header, kinds)
            arrays = {name: file.get_tensor(name) for name in kinds}
        return _model_file.estimator(header, arrays)
    except (safetensors.SafetensorError, OSError) as error:
        raise ValueError(f"{place} is no safetensors file, or damaged ({error}): save the model anew.") from None
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{place} holds no model that can be loaded: {str(error).removesuffix('.')}.") from None


def to_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as an ONNX graph, whole or not at all.

    The graph takes `X` (n, d) of double, NaN where a value is missing, and works on the grid in 64-bit integers as the
    estimator does. A clusterer gives `label` (n,) as `predict`, and `distance` (n, k) as `transform` to a unit in the
    last place; :class:`EulerMap` gives `mapped` (n, 2d). A runtime's cosine may round the other way where it all but
    ties between two points of the grid: a label can differ only where the squared distances of the two nearest
    centroids are within d 2**-21 of each other. A row without any value gets label 0.

    Parameters
    ----------
    model : EulerKMeans, RectifiedEulerKMeans or EulerMap
        Fitted.
    path : str or path
        The file; an earlier one is replaced.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from onnxruntime import InferenceSession
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.export import to_onnx
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(model, os.path.join(folder, "model.onnx"))
    ...     session = InferenceSession(os.path.join(folder, "model.onnx"))
    >>> label, distance = session.run(["label", "distance"], {"X": X})
    >>> np.array_equal(label, model.predict(X)), np.array_equal(distance, model.transform(X))
    (True, True)
    """
    _model_file.refuse_other_models(model)
    from . import _onnx

    with whole(path) as beside:
        beside.write_bytes(_onnx.graph(model))


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError("saving and loading models needs safetensors: pip install 'rekmeans[export]'.") from None
    return safetensors
