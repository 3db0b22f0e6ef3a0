"""Decision surfaces between two clusters: hyperplanes in (cos, sin).

Lemma 1 of the paper is for mean centroids, Lemma 2 for rectified ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._grid import Array


@dataclass(frozen=True)
class Surface:
    """The hyperplane `normal @ f = offset` of mapped points f = (cos, sin) between two clusters.

    Points with a larger `normal @ f` belong to the first cluster.

    Parameters
    ----------
    normal : array of shape (2 * n_features,)
        The normal of the hyperplane.
    offset : float
        The value of `normal @ f` on the hyperplane.
    """

    normal: Array  # (2d,)
    offset: float

    def side(self, mapped: ArrayLike) -> Array:
        """Return `normal @ f - offset` for mapped rows f.

        Parameters
        ----------
        mapped : array of shape (n_samples, 2 * n_features)
            Mapped rows [cos | sin].

        Returns
        -------
        array of shape (n_samples,)
            Positive on the side of the first cluster, zero on the surface.
        """
        return np.asarray(mapped) @ self.normal - self.offset


def mean_surface(p: ArrayLike, q: ArrayLike) -> Surface:
    """Return the surface between two mean centroids (Lemma 1, with its factor 2).

    Its equation is `2(a_p - a_q).a + 2(b_p - b_q).b = |a_p|^2 - |a_q|^2 + |b_p|^2 - |b_q|^2`.

    Parameters
    ----------
    p : complex array of shape (n_features,)
        The centroid of the first cluster.
    q : complex array of shape (n_features,)
        The centroid of the second cluster.

    Returns
    -------
    Surface
        The hyperplane; the first cluster lies on its positive side.

    Examples
    --------
    >>> from rekmeans.surfaces import mean_surface
    >>> surface = mean_surface([0.5 + 0j], [0 + 0j])
    >>> surface.side([[0.25, 0.0], [1.0, 0.0]])
    array([0.  , 0.75])
    """
    p = np.asarray(p)
    q = np.asarray(q)
    return Surface(2 * _parts(p - q), float((np.abs(p) ** 2).sum() - (np.abs(q) ** 2).sum()))


def rectified_surface(p: ArrayLike, q: ArrayLike) -> Surface:
    """Return the surface between two rectified centroids (Lemma 2).

    Its equation is `(a_p - a_q).a + (b_p - b_q).b = 0`, because both centroids have the same
    length.

    Parameters
    ----------
    p : complex array of shape (n_features,)
        The centroid of the first cluster.
    q : complex array of shape (n_features,)
        The centroid of the second cluster.

    Returns
    -------
    Surface
        The hyperplane; the first cluster lies on its positive side.

    Examples
    --------
    >>> from rekmeans.surfaces import rectified_surface
    >>> rectified_surface([1 + 0j], [-1 + 0j]).side([[0.0, 1.0], [1.0, 0.0]])
    array([0., 2.])
    """
    return Surface(_parts(np.asarray(p) - np.asarray(q)), 0.0)


def _parts(m: Array) -> Array:
    """Return the real and the imaginary parts, (2d,)."""
    return np.concatenate([m.real, m.imag])
