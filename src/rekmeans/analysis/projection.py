"""The mapped rows in a plane: their first two principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._grid import GRID, Array
from .fit_analysis import FitAnalysis

SMALLEST_DIVISOR = 1e-300  # keeps a division by a length or a trace of zero finite


def principal_projection(analysis: FitAnalysis) -> dict[str, Any]:
    """The first two principal components of the rows to draw, mapped; a missing value counts as its
    centroid's.
    """
    numbers = analysis.rows_to_draw()
    F = analysis.mapped_rows(numbers)  # (m, 2d)
    mean = F.mean(axis=0)
    axes, shares = principal_axes(F - mean)
    return {
        "labels": analysis.labels[numbers],
        "points": np.round((F - mean) @ axes, 4),
        "centroids": np.round((analysis.C.f / GRID - mean) @ axes, 4),
        "share": shares,
    }


def principal_axes(A: Array) -> tuple[Array, Array]:
    """The two principal axes (p, 2) of centred rows A (m, p), and their shares of the variance;
    zeros where p < 2.
    """
    # the smaller of the two; their eigenvalues are the same
    S = A @ A.T if len(A) < A.shape[1] else A.T @ A
    values, vectors = eigh(S, subset_by_index=[max(len(S) - 2, 0), len(S) - 1])
    axes = (vectors if len(S) == A.shape[1] else A.T @ vectors)[:, ::-1]  # (p, 2)
    axes = axes / np.maximum(np.linalg.norm(axes, axis=0), SMALLEST_DIVISOR)
    # of two mirror images always the same
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    shares = np.maximum(values[::-1], 0) / max(np.trace(S), SMALLEST_DIVISOR)
    lacking = 2 - len(shares)
    return np.pad(axes, ((0, 0), (0, lacking))), np.pad(shares, (0, lacking))
