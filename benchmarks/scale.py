"""Evaluate the default scale on synthetic tables: far groups, ordinary mixtures, tied columns, and
false detections of groups.

    python benchmarks/scale.py           # all tables in docs/defaults.md that need no dataset
    python benchmarks/scale.py mixtures  # one of groups, mixtures, ties, alarms

The measure is the mean adjusted Rand index with the true groups, for one call of fit with the true
number of clusters.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from rekmeans import RectifiedEulerKMeans
from rekmeans.scales import robust_scale
from rekmeans.table import MemoryTable

Table = tuple[np.ndarray, np.ndarray]
ROWS = 1000
ALARM_COLUMNS = 2000
ERRORS = 15.0  # distance of errors in standard deviations


def rekmeans_method(scale: str) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda X, k: RectifiedEulerKMeans(
        k, scale=scale, random_state=0, n_threads=1
    ).fit_predict(X)


def kmeans(n_init: int) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda X, k: KMeans(k, n_init=n_init, random_state=0).fit_predict(
        StandardScaler().fit_transform(X)
    )


METHODS = {
    "REK": rekmeans_method("robust"),
    "REK range": rekmeans_method("range"),
    "k-means z": kmeans(1),
    "k-means z, best of 10": kmeans(10),
}


def groups(
    seed: int, share: float, away: float, n_groups: int, columns: str, damage: float
) -> Table:
    """Return a large group and one or two groups of this share, `away` sigmas apart on all five
    columns or on one column each.
    """
    random = np.random.default_rng(
        [11, seed, int(share * 1000), int(away), n_groups, len(columns), int(damage * 100)]
    )
    y = random.choice(n_groups, ROWS, p=[1 - share * (n_groups - 1)] + [share] * (n_groups - 1))
    X = random.normal(size=(ROWS, 5))
    for group in range(1, n_groups):
        offsets = away * (1 + 0.5 * (group - 1)) * random.choice([-1, 1], 5)
        X[y == group] += (
            np.where(np.arange(5) == group - 1, offsets, 0) if columns == "one" else offsets
        )
    X = np.where(random.random(X.shape) < damage, ERRORS * random.normal(size=X.shape), X)
    return X * 10 ** random.uniform(-2, 3, 5), y


def mixture(seed: int) -> Table:
    """Return 2-12 groups of very unequal size and spread, in 2-10 columns with different units."""
    random = np.random.default_rng([7, seed])
    k, d, n = (
        int(random.integers(2, 13)),
        int(random.integers(2, 11)),
        int(random.integers(300, 3000)),
    )
    shares = random.lognormal(0, 1, k)
    shares = np.maximum(shares / shares.sum(), 0.02)
    centres = random.uniform(0, 1, (k, d))
    spreads = random.lognormal(np.log(0.02 if d < 4 else 0.045), 0.45, (k, 1)) * random.lognormal(
        0, 0.3, (k, d)
    )
    y = random.choice(k, n, p=shares / shares.sum())
    X = centres[y] + spreads[y] * random.normal(size=(n, d))
    return X * 10 ** random.uniform(-2, 3, d) + random.normal(0, 100, d), y


def tied(kind: str, seed: int, damage: tuple[str, float] | None = None) -> Table:
    """Return a table with one kind of columns, with codes or errors in a share of its cells."""
    random = np.random.default_rng([13, seed, sum(map(ord, kind))])
    k, d = int(random.integers(2, 6)), int(random.integers(6, 15))
    y = random.choice(k, ROWS, p=random.dirichlet(np.full(k, 5.0)))
    X = TIED[kind](random, y, k, d)
    if damage is None:
        return X, y
    what, share = damage
    errors = X.mean(axis=0) + ERRORS * X.std(axis=0) * random.normal(size=X.shape)
    return np.where(
        random.random(X.shape) < share, errors if what == "errors" else float(what), X
    ), y


def one_hot(random: np.random.Generator, y: np.ndarray, k: int, d: int) -> np.ndarray:
    parts = []
    for _ in range(d // 2):
        n_values = int(random.integers(3, 7))
        shares = random.dirichlet(np.full(n_values, 0.4), k)
        parts.append(np.eye(n_values)[[random.choice(n_values, p=shares[group]) for group in y]])
    return np.hstack(parts)


def yes_no(random: np.random.Generator, y: np.ndarray, k: int, d: int) -> np.ndarray:
    return (random.random((len(y), d)) < random.beta(0.4, 2, (k, d))[y]).astype(float)


def ordinal(random: np.random.Generator, y: np.ndarray, k: int, d: int) -> np.ndarray:
    return np.clip(
        np.rint(random.uniform(0.5, 5.5, (k, d))[y] + 0.9 * random.normal(size=(len(y), d))), 1, 5
    )


def counts(random: np.random.Generator, y: np.ndarray, k: int, d: int) -> np.ndarray:
    return random.poisson(random.gamma(0.6, 2.5, (k, d))[y]).astype(float)


def large_counts(random: np.random.Generator, y: np.ndarray, k: int, d: int) -> np.ndarray:
    means = random.gamma(1, 12, (k, d))[y]
    return random.negative_binomial(3, 3 / (3 + means)).astype(float)


def zero_inflated(random: np.random.Generator, y: np.ndarray, k: int, d: int) -> np.ndarray:
    shares, places = random.beta(0.7, 0.7, (k, d))[y], random.uniform(1, 6, (k, d))[y]
    return (random.random(shares.shape) < shares) * np.exp(
        places / 2 + 0.3 * random.normal(size=shares.shape)
    )


def mixed(random: np.random.Generator, y: np.ndarray, k: int, d: int) -> np.ndarray:
    numbers = random.normal(0, 2, (k, 3))[y] + random.normal(size=(len(y), 3))
    return np.hstack([yes_no(random, y, k, 3), counts(random, y, k, 3), numbers])


TIED = {
    "one-hot": one_hot,
    "yes/no": yes_no,
    "ordinal": ordinal,
    "counts": counts,
    "large counts": large_counts,
    "zero-inflated": zero_inflated,
    "mixed": mixed,
}


def scores(tables: Iterable[Table]) -> dict[str, np.ndarray]:
    """Return the adjusted Rand index of each method on each table."""
    drawn = list(tables)
    jobs = [(name, table) for name in METHODS for table in drawn]
    found = np.array(Parallel(n_jobs=2)(delayed(score)(*job) for job in jobs)).reshape(
        len(METHODS), len(drawn)
    )
    return dict(zip(METHODS, found, strict=True))


def score(method: str, table: Table) -> float:
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(adjusted_rand_score(y, METHODS[method](X, len(np.unique(y)))))


def print_row(name: str, found: dict[str, np.ndarray]) -> None:
    print(
        f"| {name} | " + " | ".join(f"{values.mean():.3f}" for values in found.values()) + " |",
        flush=True,
    )


def print_groups() -> None:
    for columns, n_groups, damage in [
        ("all", 2, 0),
        ("all", 2, 0.1),
        ("all", 3, 0),
        ("all", 3, 0.1),
        ("one", 2, 0),
        ("one", 3, 0),
    ]:
        cases = product(range(3), (0.2, 0.1, 0.05), (6, 10, 20, 50, 100))
        found = scores(
            groups(seed, share, away, n_groups, columns, damage) for seed, share, away in cases
        )
        print_row(
            f"{n_groups} groups, {columns} of five columns{', 10 % errors' if damage else ''}",
            found,
        )


def print_mixtures() -> None:
    found = scores(mixture(seed) for seed in range(150))
    print_row("mixtures", found)
    best = found["k-means z, best of 10"]
    print(
        "| more than .1 below the last | "
        + " | ".join(f"{np.mean(v < best - 0.1):.1%}" for v in found.values())
        + " |"
    )


def print_ties() -> None:
    for kind in TIED:
        print_row(kind, scores(tied(kind, seed) for seed in range(40)))
        for code in ("-999", "9999", "errors"):
            cases = product(range(8), (0.01, 0.05, 0.1))
            print_row(
                f"{kind}, {code}", scores(tied(kind, seed, (code, share)) for seed, share in cases)
            )


def alarm_columns(kind: str, n: int, count: int) -> np.ndarray:
    """Return columns without a far group, (n, count)."""
    random = np.random.default_rng([5, n, sum(map(ord, kind))])
    shares = random.choice([0.05, 0.1, 0.2, 0.3], count)
    bulk, z = random.normal(size=(n, count)), random.normal(size=(n, count))
    is_error = random.random((n, count)) < shares
    name, _, width = kind.partition(" ")
    shapes: dict[str, Callable[[], np.ndarray]] = {
        "normal": lambda: bulk,
        "t3": lambda: random.standard_t(3, (n, count)),
        "Cauchy": lambda: random.standard_cauchy((n, count)),
        "lognormal": lambda: random.lognormal(0, 1, (n, count)),
        "exponential": lambda: random.exponential(size=(n, count)),
        "Poisson": lambda: random.poisson(float(width), (n, count)).astype(float),
        "errors": lambda: np.where(is_error, float(width) * z, bulk),
        "uniform": lambda: np.where(
            is_error, random.uniform(-1, 1, (n, count)) * float(width), bulk
        ),
        "one-sided": lambda: np.where(is_error, float(width) * np.abs(z), bulk),
    }
    return shapes[name]()


ALARMS = (
    *(
        "normal",
        "t3",
        "Cauchy",
        "lognormal",
        "exponential",
        "Poisson 0.7",
        "Poisson 3",
        "Poisson 30",
    ),
    *(
        "errors 5",
        "errors 15",
        "errors 100",
        "uniform 20",
        "uniform 60",
        "one-sided 15",
        "one-sided 100",
    ),
)


def print_alarms() -> None:
    sizes = (150, 1000, 5000)
    print("| column | " + " | ".join(f"n = {n:,}" for n in sizes) + " |")
    for kind in ALARMS:
        rates = []
        for n in sizes:
            found = robust_scale(
                MemoryTable(alarm_columns(kind, n, ALARM_COLUMNS)).column_summary()
            )
            rates.append(np.mean(np.count_nonzero(~np.isnan(found.low), axis=1) > 1))
        print(f"| {kind} | " + " | ".join(f"{rate:.2%}" for rate in rates) + " |", flush=True)


PARTS = {
    "groups": print_groups,
    "mixtures": print_mixtures,
    "ties": print_ties,
    "alarms": print_alarms,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        if name != "alarms":
            print(f"\n| {name} | " + " | ".join(METHODS) + " |")
        PARTS[name]()
