"""Random tables of every supported type, and random fits of every clusterer, for the attacks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

import rekmeans

Array = np.ndarray[Any, Any]
Generator = np.random.Generator
MAX_CELLS = 40_000  # per table, so that a fit takes milliseconds
KERNELS = ("euler", "linear", "rbf", "laplace", "laplace-l2")
EXACT = {"rek": rekmeans.RectifiedEulerKMeans, "eulerk": rekmeans.EulerKMeans}
FORMS: dict[str, Callable[..., Any]] = EXACT | {
    f"{name} {kernel} {rule}": partial(kind, kernel=kernel, centroids=rule)
    for name, kind in {
        "kernel": rekmeans.KernelKMeans,
        "fuzzy": rekmeans.FuzzyCMeans,
        "gas": rekmeans.NeuralGas,
    }.items()
    for kernel in KERNELS
    for rule in ("rectified", "mean")
}
FORMS |= {
    f"map {kernel} {rule}": lambda k, kernel=kernel, rule=rule, **options: (
        rekmeans.SelfOrganizingMap((1, k), kernel=kernel, centroids=rule, **options)
    )
    for kernel in KERNELS
    for rule in ("rectified", "mean")
}
FORMS |= {
    "several": rekmeans.MultipleKernelKMeans,
    "several mean": partial(rekmeans.MultipleKernelKMeans, centroids="mean"),
    "several shared": partial(rekmeans.MultipleKernelKMeans, kernels=(0.4, 0.9), shared=True),
    "several mixed": partial(
        rekmeans.MultipleKernelKMeans, kernels=(0.5, ("rbf", 2.0), ("laplace", 1.0))
    ),
    "shapes": rekmeans.MahalanobisFuzzyCMeans,
    "shapes mean": partial(rekmeans.MahalanobisFuzzyCMeans, kernel="linear", centroids="mean"),
}


@dataclass(frozen=True)
class FitCase:
    """A fit of a clusterer with its options to a table with weights."""

    form: str
    k: int
    options: dict[str, Any]
    recipe: str  # description of the values
    make: str  # type of the table
    X: Array = field(repr=False)
    weights: Array | None = field(repr=False, default=None)
    starts: Array | None = field(repr=False, default=None)

    def model(self, **options: Any) -> Any:
        """Return the unfitted clusterer."""
        own = {"init": self.starts} if self.starts is not None else {}
        return FORMS[self.form](self.k, **self.options | own | options)

    def fit(self, **options: Any) -> Any:
        """Return the fitted clusterer. RuntimeWarning is an error; other warnings are ignored."""
        with warnings.catch_warnings(action="ignore"):
            warnings.simplefilter("error", RuntimeWarning)
            return self.model(**options).fit(self.table(), sample_weight=self.weights)

    def table(self) -> Any:
        """Return the values as a table of the type `make`."""
        return MAKES[self.make](self.X)

    def without_empty_columns(self) -> FitCase:
        """Return the case without columns that have no value. Files and data frames skip them."""
        return self.change(X=self.X[:, ~np.isnan(self.X).all(axis=0)])

    def change(self, **fields: Any) -> FitCase:
        """Return the case with some fields replaced."""
        return replace(self, **fields)


# numbers


def _magnitudes(rng: Generator, n: int, d: int) -> Array:
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-170, 150, d)


def _offsets(rng: Generator, n: int, d: int) -> Array:
    return 10.0 ** rng.integers(0, 17) + rng.normal(size=(n, d))


def _groups(rng: Generator, n: int, d: int) -> Array:
    return rng.normal(size=(4, d))[rng.integers(0, 4, n)] * 3 + rng.normal(size=(n, d))


def _repeated_rows(rng: Generator, n: int, d: int) -> Array:
    return rng.normal(size=(max(1, n // 4), d))[rng.integers(0, max(1, n // 4), n)]


def _mostly_zero(rng: Generator, n: int, d: int) -> Array:
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.1)


NUMBERS: dict[str, Callable[[Generator, int, int], Array]] = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "groups": _groups,
    "lattice": lambda rng, n, d: rng.integers(-2, 3, (n, d)) / 2,
    "constant": lambda rng, n, d: np.full((n, d), rng.normal()),
    "constant columns": lambda rng, n, d: np.where(
        rng.random(d) < 0.5, 7.0, rng.normal(size=(n, d))
    ),
    "magnitudes": _magnitudes,
    "offsets": _offsets,
    "heavy tails": lambda rng, n, d: rng.standard_cauchy((n, d)),
    "repeated rows": _repeated_rows,
    "mostly zero": _mostly_zero,
    "subnormal": lambda rng, n, d: rng.integers(-9, 9, (n, d)) * 5e-324,
}
DTYPES = ("float32", "float16", "int8", "int64", "uint16", "bool", ">f8", "longdouble", "object")


def draw_numbers(rng: Generator, is_hostile: bool) -> tuple[Array, str]:
    """Draw a table and its description.

    A hostile table may have infinities, rows without a value, or another dtype.
    """
    n = int(10 ** rng.uniform(0, 3.5))
    d = min(int(10 ** rng.uniform(0, 2.5)), max(1, MAX_CELLS // n))
    recipe = str(rng.choice(list(NUMBERS)))
    X = NUMBERS[recipe](rng, n, d)
    recipe = f"{n} x {d} {recipe}"
    if rng.random() < 0.3:
        share = rng.choice([0.02, 0.3, 0.8])
        X = np.where((rng.random((n, d)) < share) & (np.arange(d) != rng.integers(d)), np.nan, X)
        recipe += f", {share:.0%} missing"
    if is_hostile and rng.random() < 0.1:
        X[rng.integers(n), rng.integers(d)] = rng.choice([np.inf, -np.inf, 1e151, -1.7e308])
        recipe += ", one too large"
    if is_hostile and rng.random() < 0.05:
        X[rng.integers(n)] = np.nan
        recipe += ", a row without values"
    if is_hostile and rng.random() < 0.3 and not np.isnan(X).any() and np.abs(X).max() < 100:
        dtype = str(rng.choice(DTYPES))
        X = X.astype(dtype)
        recipe = f"{recipe}, {dtype}"
    return X, recipe


# tables


def _strided(X: Array) -> Array:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


def _record_field(X: Array) -> Array:
    """Return an array with a stride that is not a multiple of the item size."""
    records = np.zeros(X.shape, [("flag", np.int8), ("value", X.dtype)])
    records["value"] = X
    return records["value"]


def _read_only(X: Array) -> Array:
    X = X.copy()
    X.setflags(write=False)
    return X


def _columns(X: Array) -> dict[str, Array]:
    return {f"c{j}": x for j, x in enumerate(X.T)}


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "array": np.asarray,
    "Fortran order": np.asfortranarray,
    "strided": _strided,
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "record field": _record_field,
    "read only": _read_only,
    "list": lambda X: X.tolist(),
}
FRAMES: dict[str, Callable[[Array], Any]] = {
    "pandas": lambda X: pd.DataFrame(_columns(X)),
    "polars": lambda X: pl.DataFrame(_columns(X)),
    "pyarrow": lambda X: pa.table({name: pa.array(x) for name, x in _columns(X).items()}),
}
SPARSE: dict[str, Callable[[Array], Any]] = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_matrix,
}
MAKES = LAYOUTS | FRAMES | SPARSE
PLAIN_MAKES = tuple(LAYOUTS)


def draw_make(rng: Generator, X: Array) -> str:
    """Draw a table type that supports these values."""
    makes = PLAIN_MAKES if X.dtype not in (np.float64, np.float32, np.int64) else tuple(MAKES)
    return str(rng.choice(makes))


# fits


def draw_weights(rng: Generator, n: int, is_hostile: bool) -> Array | None:
    kinds = ["none", "none", "whole", "real", "one"]
    if is_hostile and rng.random() < 0.1:
        kinds = ["far apart", "negative", "none counts", "text"]
    weights = {
        "none": None,
        "whole": rng.integers(0, 4, n) + (np.arange(n) == 0),
        "real": rng.uniform(0.1, 9, n) * 10.0 ** rng.integers(-300, 290),
        "one": (np.arange(n) == rng.integers(n)) * 1.0,
        "far apart": 10.0 ** rng.uniform(-20, 20, n),
        "negative": rng.normal(size=n),
        "none counts": np.zeros(n),
        "text": np.full(n, "heavy"),
    }
    return weights[str(rng.choice(kinds))]


def _start_names(rng: Generator, form: str) -> list[str]:
    """Return the values of `init` that the form supports, and sometimes one that it does not."""
    has_circles = not {"linear", "rbf", "laplace", "laplace-l2", "mixed"} & set(form.split())
    circle = ["circle"] if has_circles or rng.random() < 0.05 else []
    return ["k-means++", "random", *circle, *(["plane"] if form.startswith("map") else [])]


def draw_options(rng: Generator, form: str) -> dict[str, Any]:
    options = {
        "scale": rng.choice(np.array(["robust", "range", "global", None], object)),
        "beyond": str(
            rng.choice(["clip", "wrap"] if "shapes" in form else ["ignore", "clip", "wrap"])
        ),
        "alpha": float(rng.choice([0.9, 0.3, 1e-4, 7.0])),
        "init": str(rng.choice(_start_names(rng, form))),
        "max_iter": int(rng.integers(1, 8)),
        "n_init": int(rng.integers(1, 3)),
        "tol": float(rng.choice([0.0, 1e-6, 0.1])),
        "random_state": int(rng.integers(100)),
    }
    return {
        name: value for name, value in options.items() if name != "alpha" or "several" not in form
    }


def draw_fit(
    rng: Generator, forms: tuple[str, ...] = tuple(FORMS), is_hostile: bool = True
) -> FitCase:
    """Draw a fit of one of these forms.

    A fit that is not hostile has at least k rows. Only its kernel may raise an error.
    """
    X, recipe = draw_numbers(rng, is_hostile)
    form = str(rng.choice(forms))
    k = int(rng.integers(1, 9))
    k = k if is_hostile and rng.random() < 0.1 else min(k, len(X))
    make = draw_make(rng, X)
    return FitCase(
        form, k, draw_options(rng, form), recipe, make, X, draw_weights(rng, len(X), is_hostile)
    )


def draw_given_starts(rng: Generator) -> FitCase:
    """Draw a hard Euler fit that starts from rows of the table, with missing cells set to 0."""
    case = draw_fit(rng, tuple(EXACT), is_hostile=False).change(make="array")
    numbers = rng.choice(len(case.X), case.k, replace=False)
    return case.change(starts=np.nan_to_num(case.X[numbers]))
