"""A Gaussian mixture from outside the package, with a kernel and an assignment rule.

The objective is the negative log-likelihood, which may be negative.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import KernelKMeans, checkpoint, watch_passes
from rekmeans._grid import Array, mass_of, product
from rekmeans.kernels import KERNELS, Kernel
from rekmeans.lloyd import relative_fall
from rekmeans.model import Centroids, Shares, Sums

K = 3
RANDOM = np.random.default_rng(5)
ROWS = (
    RANDOM.normal(size=(300, 2)) * [1.0, 0.6]
    + np.array([[0, 0], [3.5, 1], [-1, 3]])[RANDOM.integers(0, K, 300)]
)


@dataclass(frozen=True, eq=False)
class Gaussians(Centroids):
    """Gaussians with independent columns: means and variances (k, d), and proportions (k,)."""

    means: Array
    variances: Array
    proportions: Array


@dataclass(frozen=True, kw_only=True)
class GaussianSums(Sums):
    """The weighted sums (k, d) of x - m and (x - m)^2, where m is the current mean."""

    steps: Array
    squares: Array


@dataclass(frozen=True)
class Gaussian(Kernel):
    """A Gaussian with the distance -log(proportion * density), which may be negative."""

    name: ClassVar[str] = "gaussian"
    centroid_rules: ClassVar[tuple[str, ...]] = ("mean",)

    def embed(self, X):
        return self.coordinates(X)

    def distance(self, F, C):
        squares = (F[:, None] - C.means) ** 2 / C.variances  # (n, k, d)
        normalizers = np.log(2 * np.pi * C.variances).sum(axis=1) / 2
        return squares.sum(axis=2) / 2 + normalizers - np.log(C.proportions)

    def loss(self, D):
        return D

    def accumulate(self, F, C, D, W):
        mass = mass_of(W)
        steps = product(W, F) - mass[:, None] * C.means
        squares = np.einsum("ik,ikl->kl", W, (F[:, None] - C.means) ** 2)
        return GaussianSums(mass=mass, steps=steps, squares=squares)

    def mean(self, sums, C):
        step = sums.steps / sums.mass[:, None]
        variances = sums.squares / sums.mass[:, None] - step**2
        return Gaussians(C.means + step, variances, sums.mass / sums.mass.sum())

    def preimage(self, C, near):
        return self.scale.from_units(C.means)

    def from_rows(self, F, fallback=None):
        variances = np.broadcast_to(F.var(axis=0), F.shape)
        return Gaussians(F, variances, np.full(len(F), 1 / K))

    def to_public(self, C):
        return {
            "centroids_": C.means,
            "variances_": C.variances,
            "proportions_": C.proportions,
        }

    def from_public(self, attributes):
        names = ("centroids_", "variances_", "proportions_")
        return Gaussians(*(attributes[name] for name in names))


@dataclass(frozen=True)
class Mixture:
    """Weight rows by their posterior probabilities; the loss of a row is -log density."""

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = False

    def __call__(self, D, loss, w):
        labels = D.argmin(axis=1).astype(np.int32)
        log_density = np.logaddexp.reduce(-D, axis=1)
        posteriors = np.exp(-D - log_density[:, None])
        return Shares(labels, w[:, None] * posteriors, -log_density)


class GaussianMixture(KernelKMeans):
    """A Gaussian mixture, fitted by the loop."""

    def _assignment_rule(self):
        return Mixture()


def mixture(start, **parameters):
    parameters = {"max_iter": 5000, "tol": 0, "scale": None, "init": start} | parameters
    return GaussianMixture(K, kernel="gaussian", centroids="mean", **parameters)


@pytest.fixture(autouse=True)
def gaussian(monkeypatch):
    monkeypatch.setitem(KERNELS, "gaussian", Gaussian)


def posteriors_and_loss(X, means, variances, proportions):
    """Return the posterior probabilities (E step) and the negative log-likelihood."""
    densities = np.ones((len(X), K))
    for c in range(K):
        for column in range(X.shape[1]):
            variance = variances[c, column]
            step = X[:, column] - means[c, column]
            normalizer = np.sqrt(2 * np.pi * variance)
            densities[:, c] *= np.exp(-(step**2) / (2 * variance)) / normalizer
    joint = densities * proportions
    total = joint.sum(axis=1)
    return joint / total[:, None], -np.log(total).sum()


def plain_em(X, means, n_iter):
    """Return parameters of a plain EM, and the losses before each M step and after the last."""
    variances = np.broadcast_to(means.var(axis=0), means.shape)
    proportions = np.full(K, 1 / K)
    losses = []
    for _ in range(n_iter):
        posteriors, loss = posteriors_and_loss(X, means, variances, proportions)
        losses.append(loss)
        mass = posteriors.sum(axis=0)
        means = (posteriors.T @ X) / mass[:, None]
        deviations = (X[:, None] - means) ** 2  # (n, k, d)
        variances = (posteriors[:, :, None] * deviations).sum(axis=0) / mass[:, None]
        proportions = mass / len(X)
    losses.append(posteriors_and_loss(X, means, variances, proportions)[1])
    return (means, variances, proportions), losses


def unit_of_sign_change():
    """Return the unit of the rows for which the objective changes its sign during the fit.

    Multiplying the unit by u decreases every loss by n d log(u).
    """
    losses = plain_em(ROWS, ROWS[:K], 100)[1]
    return np.exp((losses[5] + losses[-1]) / 2 / ROWS.size)


UNITS = {"positive": 1.0, "negative": 100.0, "through zero": unit_of_sign_change()}
SIGNS = {"positive": (1, 1), "negative": (-1, -1), "through zero": (1, -1)}


@pytest.mark.parametrize("sign", UNITS)
def test_a_mixture_reaches_the_fixed_point_of_a_plain_em(sign):
    X = ROWS / UNITS[sign]
    model = mixture(X[:K]).fit(X)
    losses = model.history_["inertia"]
    n_passes = len(losses)
    assert model.engine_ == "reference"
    assert n_passes > 20
    assert model.n_iter_ < model.max_iter
    assert tuple(np.sign(losses[[0, -1]])) == SIGNS[sign]
    assert (np.diff(losses) < 0).all()
    found = model.centroids_, model.variances_, model.proportions_

    same_length, em_losses = plain_em(X, X[:K], n_passes - 1)
    assert_allclose(losses, em_losses, rtol=1e-10, atol=1e-9)
    for ours, theirs in zip(found, same_length, strict=True):
        assert_allclose(ours, theirs, rtol=1e-10)

    # Near a minimum, parameters that differ by 1.5e-8 change the loss by less than its rounding
    # error, 2^-52.
    fixed_point, em_losses = plain_em(X, X[:K], 10 * n_passes)
    assert_allclose(losses[-1], em_losses[-1], rtol=1e-12, atol=1e-11)
    for ours, theirs in zip(found, fixed_point, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_a_tolerance_is_relative_to_the_size_of_a_negative_objective():
    X = ROWS / UNITS["negative"]
    losses = mixture(X[:K], tol=1e-5).fit(X).history_["inertia"]
    falls = -np.diff(losses) / np.abs(losses[:-1])
    assert (losses < 0).all()
    assert (falls[:-1] > 1e-5).all()
    assert falls[-1] <= 1e-5


def test_a_fit_with_a_negative_objective_resumes_from_its_checkpoint(monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    X = ROWS / UNITS["negative"]
    whole = mixture(X[:K]).fit(X)
    model = mixture(X[:K], checkpoint=tmp_path / "fit.checkpoint")

    def interrupt(event):
        if event.number == 12:
            assert event.inertia < 0
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watch_passes(interrupt):
        model.fit(X)
    assert model.checkpoint.exists()
    model.fit(X)
    assert_array_equal(model.centroids_, whole.centroids_)
    assert_array_equal(model.history_["inertia"], whole.history_["inertia"])


@pytest.mark.parametrize(
    ("before", "after", "fall"),
    [
        (4.0, 3.0, 0.25),
        (-2.0, -3.0, 0.5),
        (1.0, -1.0, 2.0),
        (0.0, -1e-300, np.inf),
        (np.inf, 1.0, np.inf),
        (1 << 70, (1 << 70) - 1, 2.0**-70),
        (0, -1, np.inf),
    ],
)
def test_the_fall_of_a_loss_is_relative_to_its_absolute_value(before, after, fall):
    assert relative_fall(before, after) == fall
