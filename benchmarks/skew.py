"""Evaluate the default scale on skewed and few-valued columns: groups found, cells ignored, errors
ignored, and the rides of a table of taxi rides.

    python benchmarks/skew.py            # all tables in docs/defaults.md about long tails
    python benchmarks/skew.py skewed     # one of skewed, ignored, taxi, few

The groups are measured by the mean adjusted Rand index, for one call of fit with the true number of
clusters. Run it with an earlier version of rekmeans to compare scales: it needs only `fit`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from rekmeans import RectifiedEulerKMeans
from rekmeans.scales import robust_scale
from rekmeans.table import MemoryTable

Table = tuple[np.ndarray, np.ndarray]
ROWS = 1500
TABLES = 12  # of each kind
FIRST_SEED = 1000
ERROR_SIGMAS = 15.0


def rek(X: np.ndarray, k: int) -> np.ndarray:
    return RectifiedEulerKMeans(k, random_state=0, n_threads=1).fit_predict(X)


def rek_clip(X: np.ndarray, k: int) -> np.ndarray:
    return RectifiedEulerKMeans(k, beyond="clip", random_state=0, n_threads=1).fit_predict(X)


def kmeans(X: np.ndarray, k: int) -> np.ndarray:
    return KMeans(k, n_init=10, random_state=0).fit_predict(StandardScaler().fit_transform(X))


METHODS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "REK": rek,
    'REK, beyond="clip"': rek_clip,
    "k-means z, best of 10": kmeans,
}


def skewed(kind: str, seed: int) -> Table:
    """Return 2-5 groups in 3-7 skewed columns, some of them reversed, and 1-2 normal columns."""
    random = np.random.default_rng([41, FIRST_SEED + seed, sum(map(ord, kind))])
    k = int(random.integers(2, 6))
    d = int(random.integers(3, 8))
    shares = random.dirichlet(np.full(k, 5.0))
    if kind == "tail":
        small = random.uniform(0.03, 0.1)
        shares = np.concatenate([[small], (1 - small) * shares[1:] / shares[1:].sum()])
    y = random.choice(k, ROWS, p=shares)
    factors = random.lognormal(0, 1.0, (k, d))
    if kind == "tail":  # the first group has large values in all columns
        factors = random.lognormal(0, 0.3, (k, d))
        factors[0] = random.uniform(4, 10, d)
    noise = {
        "lognormal": lambda: random.lognormal(0, random.uniform(0.4, 0.9, d), (ROWS, d)),
        "exponential": lambda: random.exponential(size=(ROWS, d)),
        "gamma": lambda: random.gamma(random.uniform(1.5, 4, d), size=(ROWS, d)),
        "Pareto": lambda: 1 + random.pareto(random.uniform(2, 4, d), (ROWS, d)),
        "Weibull": lambda: random.weibull(random.uniform(0.8, 1.5, d), (ROWS, d)),
        "tail": lambda: random.lognormal(0, 0.6, (ROWS, d)),
    }[kind]()
    X = factors[y] * noise * np.where(random.random(d) < 0.2, -1, 1)
    n_normal = int(random.integers(1, 3))
    normal = random.normal(0, 1.5, (k, n_normal))[y] + random.normal(size=(ROWS, n_normal))
    X = np.hstack([X, normal])
    return X * 10 ** random.uniform(-2, 4, X.shape[1]), y


SKEWED = ("lognormal", "exponential", "gamma", "Pareto", "Weibull", "tail")


def add_errors(X: np.ndarray, seed: int, sides: str, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return X with errors in a share of its cells, and a mask of these cells."""
    random = np.random.default_rng([43, seed])
    z = random.normal(size=X.shape)
    errors = X.mean(axis=0) + ERROR_SIGMAS * X.std(axis=0) * (np.abs(z) if sides == "one" else z)
    is_error = random.random(X.shape) < share
    return np.where(is_error, errors, X), is_error


CONDITIONS = (
    ("clean", "two", 0.0),
    *((f"{share:.0%} errors, {sides} side{'s' * (sides == 'two')}", sides, share)
      for share in (0.05, 0.1, 0.2) for sides in ("two", "one")),
)  # fmt: skip


def score(method: str, table: Table) -> float:
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(adjusted_rand_score(y, METHODS[method](X, len(np.unique(y)))))


def print_scores(name: str, tables: list[Table]) -> None:
    jobs = [(method, table) for method in METHODS for table in tables]
    found = np.array(Parallel(n_jobs=2)(delayed(score)(*job) for job in jobs))
    means = found.reshape(len(METHODS), -1).mean(axis=1)
    print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |", flush=True)


def print_skewed() -> None:
    print("\n| skewed | " + " | ".join(METHODS) + " |")
    drawn = [skewed(kind, seed) for kind in SKEWED for seed in range(TABLES)]
    for name, sides, share in CONDITIONS:
        print_scores(
            name, [(add_errors(X, seed, sides, share)[0], y) for seed, (X, y) in enumerate(drawn)]
        )


def print_ignored() -> None:
    """Print the share of ignored cells of skewed columns, and the share of errors ignored."""
    print("\n| columns | ignored, clean | far errors ignored, 5 % | 20 % |")
    for kind in SKEWED:
        clean, recalls = [], {0.05: [], 0.2: []}
        for seed in range(TABLES):
            X, _ = skewed(kind, seed)
            X = X[:, : max(3, X.shape[1] - 2)]  # without normal columns
            clean.append(1 - robust_scale(MemoryTable(X).column_summary()).inside(X).mean())
            for share, recall in recalls.items():
                dirty, is_error = add_errors(X, seed, "two", share)
                scale = robust_scale(MemoryTable(dirty).column_summary())
                far = 10 * X.std(axis=0)
                is_far = is_error & ((dirty > X.max(axis=0) + far) | (dirty < X.min(axis=0) - far))
                recall.append((~scale.inside(dirty))[is_far].mean() if is_far.any() else np.nan)
        means = [np.mean(clean), *(np.nanmean(values) for values in recalls.values())]
        print(f"| {kind} | " + " | ".join(f"{mean:.1%}" for mean in means) + " |", flush=True)


def taxi(seed: int) -> np.ndarray:
    """Return the distance, fare, tip, tolls, total and passengers of 6000 rides."""
    random = np.random.default_rng([47, seed])
    n = 6000
    is_airport = random.random(n) < 0.01
    distance = np.where(is_airport, random.normal(17, 3, n).clip(8), random.lognormal(0.5, 0.85, n))
    fare = np.where(is_airport, 52, 4 + 2.6 * distance) + random.gamma(2, 0.6, n)
    tip = np.where(random.random(n) < 0.35, 0, fare * random.normal(0.2, 0.05, n).clip(0))
    tolls = np.where(random.random(n) < 0.02 + 0.6 * is_airport, random.choice([5.76, 6.12], n), 0)
    tolls = np.where((tolls > 0) & (random.random(n) < 0.3), random.lognormal(2, 0.6, n), tolls)
    passengers = random.choice([1, 2, 3, 4, 5, 6], n, p=[0.7, 0.15, 0.05, 0.02, 0.05, 0.03])
    return np.column_stack([distance, fare, tip, tolls, fare + tip + tolls, passengers])


def print_taxi() -> None:
    print("\n| rides over 60 in their largest cluster, k = 3 | " + " | ".join(METHODS) + " |")
    shares = []
    for seed in range(10):
        X = taxi(seed)
        expensive = X[:, 4] > 60
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = [method(X, 3)[expensive] for method in METHODS.values()]
        shares.append([np.bincount(own).max() / len(own) for own in labels])
    for name, values in (
        ("mean", np.mean(shares, axis=0)),
        ("least of 10 tables", np.min(shares, axis=0)),
    ):
        print(f"| {name} | " + " | ".join(f"{value:.1%}" for value in values) + " |")


def few_valued(kind: str, seed: int) -> Table:
    """Return groups in three normal columns, and one or two columns of 2-6 values without groups
    ("noise") or with them.
    """
    random = np.random.default_rng([53, seed, len(kind)])
    k = int(random.integers(2, 6))
    y = random.integers(0, k, 800)
    columns = [random.normal(0, 1.8, (k, 3))[y] + random.normal(size=(800, 3))]
    for _ in range(int(random.integers(1, 3))):
        n_values = int(random.integers(2, 7))
        shares = (
            random.dirichlet(np.full(n_values, 0.6), k)
            if kind == "groups"
            else np.full((k, n_values), 1 / n_values)
        )
        columns.append(np.array([[random.choice(n_values, p=shares[group])] for group in y], float))
    return np.hstack(columns), y


def print_few() -> None:
    print("\n| few values | " + " | ".join(METHODS) + " |")
    for kind in ("noise", "groups"):
        print_scores(kind, [few_valued(kind, FIRST_SEED + seed) for seed in range(72)])


PARTS = {
    "skewed": print_skewed,
    "ignored": print_ignored,
    "taxi": print_taxi,
    "few": print_few,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
