"""Compare k-means, EulerK and REK on half-moons and wine, with and without gross errors."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_moons
from sklearn.preprocessing import StandardScaler

from rekmeans import (
    CircleDisplay,
    EulerKMeans,
    RectifiedEulerKMeans,
    clustering_accuracy,
    normalized_mutual_info,
)

OUT = Path("demo")
SHARE = 0.10  # of cells with gross errors
WIDTH = 15  # of gross errors, in standard deviations


def add_errors(X: np.ndarray) -> np.ndarray:
    """Add gross errors to a share of the cells."""
    random = np.random.default_rng(0)
    noise = X.mean(axis=0) + WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    return np.where(random.random(X.shape) < SHARE, noise, X)


def row(data: str, method: str, X: np.ndarray, y: np.ndarray) -> str:
    """Return one line of the table."""
    k = len(np.unique(y))
    started = perf_counter()
    if method == "k-means":
        model = KMeans(k, n_init=10, random_state=0).fit(StandardScaler().fit_transform(X))
        kappa = "-"
    else:
        model = {"EulerK": EulerKMeans, "REK": RectifiedEulerKMeans}[method](k, random_state=0).fit(
            X
        )
        kappa = f"{abs(model.deviation_.mean()):.4f}"
    seconds = perf_counter() - started
    accuracy, nmi = clustering_accuracy(y, model.labels_), normalized_mutual_info(y, model.labels_)
    return (
        f"{data:<24}{method:<9}{accuracy:>7.3f}{nmi:>7.3f}{kappa:>9}"
        f"{model.inertia_:>12.2f}{model.n_iter_:>8}{seconds:>9.3f}"
    )


def picture(X: np.ndarray, path: Path) -> None:
    """Draw the mapped half-moons and the centroids of EulerK and REK, one circle per feature."""
    figure = plt.figure(figsize=(7, 7.8), layout="constrained")
    methods = {
        "EulerK: centroids off the circle": EulerKMeans,
        "REK: centroids on the circle": RectifiedEulerKMeans,
    }
    for row, (title, method) in zip(figure.subfigures(2, 1), methods.items(), strict=True):
        model = method(2, random_state=0).fit(X)
        CircleDisplay.from_estimator(
            model, X, features=[0, 1], names=["x", "y"], ax=row.subplots(1, 2)
        )
        row.suptitle(title)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    moons = make_moons(300, noise=0.08, random_state=0)
    wine = load_wine(return_X_y=True)
    print(
        f"{'data':<24}{'method':<9}{'ACC':>7}{'NMI':>7}{'kappa':>9}"
        f"{'objective':>12}{'passes':>8}{'seconds':>9}"
    )
    with warnings.catch_warnings(record=True) as notes:  # printed below the table
        for name, (X, y) in {"half-moons": moons, "wine": wine}.items():
            for data, table in {name: X, f"{name}, {SHARE:.0%} errors": add_errors(X)}.items():
                for method in ("k-means", "EulerK", "REK"):
                    print(row(data, method, table, y))
    print(*("", *dict.fromkeys(f"note: {note.message}" for note in notes)), sep="\n")
    picture(moons[0], OUT / "half-moons.png")
    print(f"picture: {OUT / 'half-moons.png'}")
    print(
        "kappa is the mean deviation degree, which is 0 for centroids on the circle. The "
        "objectives of k-means and of the other methods are not comparable."
    )
    print("Half-moons are curved, so none of the three methods separates them with two centroids.")


if __name__ == "__main__":
    main()
