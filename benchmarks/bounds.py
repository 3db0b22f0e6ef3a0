"""Count the rows that a pass must score with chord bounds and with angle bounds, in plain NumPy.

    python benchmarks/bounds.py

Angles on the sphere also satisfy the triangle inequality, and give tighter bounds than chords. The
native engine nevertheless uses chords for rectified centroids, because angles save too few scores
to justify one arcsine per row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grid import CASES
from rekmeans import EulerMap

ROWS = 20_000
CAP = 100
SETTINGS = (("range", 1.0), ("robust", 0.9))  # scale, alpha
RACED = ("letter-26", "covtype-7", "mnist-10", "drawn-1M-16-10", "drawn-200k-36-100")


class Bounds:
    """Bounds for each row in one measure: `upper` on the distance to its own centroid, `lower` to
    all others.
    """

    def __init__(self, n: int, measure: Callable[[np.ndarray], np.ndarray]) -> None:
        self.measure = measure
        self.upper = np.zeros(n)
        self.lower = np.zeros(n)
        self.n_scored = 0

    def loosen(self, labels: np.ndarray, drift: np.ndarray) -> None:
        way = self.measure(drift)
        second, first = np.argsort(way)[-2:]
        self.upper += way[labels]
        self.lower -= np.where(labels == first, way[second], way[first])

    def update(self, D: np.ndarray) -> None:
        open_ = ~(self.upper < self.lower)
        self.n_scored += int(open_.sum())
        two = self.measure(np.partition(D[open_], 1, axis=1))
        self.upper[open_] = two[:, 0]
        self.lower[open_] = two[:, 1]


def count_scored_rows(F: np.ndarray, C: np.ndarray) -> tuple[int, float, float]:
    """Return the number of passes, and the scored rows as multiples of n with chords and with
    angles, for a rectified fit from C.
    """
    n = len(F)
    d = F.shape[1] // 2
    chord = Bounds(n, lambda D: D)
    angle = Bounds(n, lambda D: 2 * np.arcsin(np.clip(D / (2 * np.sqrt(d)), 0, 1)))
    labels = None
    before = C
    passes = 0
    for passes in range(1, CAP + 1):  # noqa: B007
        if labels is not None:
            for bounds in (chord, angle):
                bounds.loosen(labels, np.linalg.norm(C - before, axis=1))
        D = np.sqrt(np.maximum(0, (F**2).sum(axis=1)[:, None] - 2 * F @ C.T + (C**2).sum(axis=1)))
        for bounds in (chord, angle):
            bounds.update(D)
        now = D.argmin(axis=1)
        if labels is not None and np.array_equal(now, labels):
            break
        labels = now
        before = C
        C = rectified_centroids(F, labels, C)
    return passes, chord.n_scored / n, angle.n_scored / n


def rectified_centroids(F: np.ndarray, labels: np.ndarray, C: np.ndarray) -> np.ndarray:
    d = C.shape[1] // 2
    S = np.zeros_like(C)
    np.add.at(S, labels, F)
    length = np.hypot(S[:, :d], S[:, d:])
    return np.where(np.tile(length, 2) > 0, S / np.tile(np.maximum(length, 1e-30), 2), C)


def main() -> None:
    print(
        "| case | scale, alpha | passes | scores per row, chords | angles | saved "
        "|\n|---|---|---|---|---|---|"
    )
    for case in CASES:
        if case.name not in RACED or not case.available():
            continue
        X = case.table()
        X = X[:: max(1, len(X) // ROWS)]
        for scale, alpha in SETTINGS:
            F = EulerMap(alpha=alpha, scale=scale, beyond="clip").fit_transform(X)
            start = F[np.random.default_rng(0).choice(len(F), case.k, replace=False)]
            passes, chord, angle = count_scored_rows(F, start)
            saved = 1 - angle / chord
            print(
                f"| {case.name} | {scale}, {alpha} | {passes} | {chord:.2f} | {angle:.2f} | "
                f"{saved:.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
