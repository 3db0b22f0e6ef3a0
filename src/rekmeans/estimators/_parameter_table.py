"""The parameters, attributes and method arguments of the estimators, each declared once.

The parameters are checked against this table before every fit. `make docstrings` writes the
constructors and the docstring sections of the estimators from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self, TypeAlias

from .._parameters import (
    MAX_ALPHA,
    MAX_EXPONENT,
    check_bool,
    check_bytes,
    check_grid,
    check_int,
    check_kernels,
    check_one_of,
    check_path,
    check_random_state,
    check_real,
)
from ..centroids import CENTROIDS
from ..engines import ENGINES
from ..kernels import KERNELS
from ..kernels.euler import Euler
from ..scales import BEYOND, SCALES

Check: TypeAlias = Callable[[str, Any], object]  # (name, value); raises ValueError


@dataclass(frozen=True)
class Entry:
    """An entry of a docstring section: a type and a text."""

    type: str
    text: str

    def but(self, **changes: Any) -> Self:
        """Return the entry with some fields replaced."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Parameter(Entry):
    """A constructor parameter, with its default and its check.

    Parameters that predictions use are checked again before each prediction.
    """

    default: Any
    check: Check
    used_in_prediction: bool = False


@dataclass(frozen=True)
class Interface:
    """The parameters and the fitted attributes of an estimator, in the order of its docstring."""

    parameters: Mapping[str, Parameter]
    attributes: Mapping[str, Entry] = field(default_factory=dict)
    n_positional: int = 1

    def check(self, estimator: object, *, for_prediction: bool = False) -> None:
        """Raise ValueError for a parameter that is invalid whatever the others are.

        Before a prediction, only the parameters that predictions use are checked.
        """
        for name, parameter in self.parameters.items():
            if parameter.used_in_prediction or not for_prediction:
                parameter.check(name, getattr(estimator, name))


def parse_entries(section: str) -> dict[str, Entry]:
    """Return the entries of a section in numpydoc's format."""
    parts = re.split(r"^(\S+) : (.*)\n", section.strip() + "\n", flags=re.MULTILINE)[1:]
    return {
        name: Entry(kind, text)
        for name, kind, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


# Parameters. A name after a slash marks a variant for some estimators.

PARAMETER_TEXTS = """
n_clusters : int, default=8
    Number of clusters.
grid : (int, int), default=(6, 6)
    Numbers of rows and columns of the grid of nodes.
kernel : {"euler", "rbf", "laplace", "laplace-l2", "linear"}, default="euler"
    Kernel that defines distances between rows `x` and points `v`:

    - "euler": each feature is mapped to a circle; see `alpha`.
    - "rbf": `exp(-gamma |x - v|^2)`.
    - "laplace": `exp(-gamma |x - v|)` with the L1 norm.
    - "laplace-l2": `exp(-gamma |x - v|)` with the L2 norm.
    - "linear": Euclidean distance, as in k-means.
kernel/covariance : {"euler", "linear"}, default="euler"
    Space in which clusters are ellipsoidal:

    - "euler": each feature is mapped to a circle; see `alpha`.
    - "linear": the scaled features, as in the method of Gustafson and Kessel.
kernels : sequence, default=(0.5, 0.75, 1.0, 1.25)
    Kernels to combine. Each is a number, the `alpha` of an Euler kernel, or a pair (name, width),
    such as `("rbf", "auto")` or `("laplace", 2.0)`.
power : float, default=2.0
    Exponent p > 1 of the kernel weights. If it is close to 1, a single kernel gets all the weight.
    The larger it is, the more equal the weights are.
shared : bool, default=False
    Whether all kernels share one pre-image of each centroid. If False, each kernel has its own.
    True requires Euler kernels and `centroids="rectified"`.
fuzziness : float, default=1.2
    Exponent m > 1 of the memberships. If it is close to 1, memberships are nearly 0 or 1. The
    larger it is, the closer they are to 1/n_clusters, especially if there are many features.
prior : float, default=0.1
    Weight of a spherical shape relative to the covariance of the cluster.
reach : float, default=0.0
    Reach of the last stage: how far a row also attracts the neighbors of its nearest prototype.
    With 0, a row attracts only its nearest prototype, as in k-means.
start_reach : float or None, default=None
    Reach of the first stage. None: half of n_clusters, or half of the longer side of the grid.
stages : int, default=10
    Number of stages. The reach decreases geometrically from `start_reach` to `reach`. With 1, the
    only stage runs at `reach`.
centroids : {"rectified", "mean"}, default="rectified"
    How centroids are computed:

    - "rectified": each centroid is the image of a point, so it has coordinates in the units of X.
    - "mean": means in the mapped space, which generally are not images of points. For the RBF and
      Laplace kernels they require the kernel values between all rows, so the cost grows with the
      square of n_samples.
centroids/explicit : {"rectified", "mean"}, default="rectified"
    How centroids are computed:

    - "rectified": each centroid is the image of a point, so it has coordinates in the units of X.
    - "mean": means in the mapped space, for Euler and linear kernels only.
gamma : float or "auto", default="auto"
    Width parameter of the RBF and Laplace kernels, in units of the scaled features. "auto": half
    the inverse of the median distance (squared for RBF) from a row to the nearest of n_clusters
    rows spread over the table.
alpha : float, default=0.9
    Half-turns of the circle per unit of a scaled feature, for the Euler kernel. Values above 1 wrap
    around, so distant values can look close.
scale : {"robust", "range", "global"} or None, default="robust"
    How features are scaled before they are mapped:

    - "robust": by the bulk of each feature. Groups far from the bulk are kept, and the gaps between
      them are closed. Isolated values far from the bulk are outliers; see `beyond`.
    - "range": by the range of each feature.
    - "global": by the range of all features together.
    - None: not at all, as in the paper.
beyond : {"ignore", "clip", "wrap"}, default="ignore"
    How to treat values outside the range kept by `scale`:

    - "ignore": as missing values. Rows without any other value are clipped: they get a label, but
      do not influence the centroids.
    - "clip": as the nearest bound of the range.
    - "wrap": as they are; the Euler kernel wraps them around the circle.

    Has no effect if `scale` is None.
beyond/map : {"ignore", "clip", "wrap"}, default="ignore"
    How to treat values outside the range kept by `scale`:

    - "ignore": as missing values. Rows without any other value are clipped.
    - "clip": as the nearest bound of the range.
    - "wrap": as they are, wrapped around the circle.

    Has no effect if `scale` is None.
beyond/covariance : {"clip", "wrap"}, default="clip"
    How to treat values outside the range kept by `scale`:

    - "clip": as the nearest bound of the range.
    - "wrap": as they are; the Euler kernel wraps them around the circle.

    Has no effect if `scale` is None.
init : {"k-means++", "k-means||", "random", "circle"}, array or callable, default="k-means++"
    Method of initialization:

    - "k-means++": greedy k-means++ with swaps. For hard Euler clustering, the best of a few short
      fits started in this way.
    - "k-means||": k-means|| over all rows. Not available for kernels that need all rows at once
      (Laplace, and means of the RBF kernel).
    - "random": random rows.
    - "circle": random points of the circles, for the Euler kernel only.
    - array of shape (n_clusters, n_features): starting centroids in the units of X.
    - callable: called as `init(X, n_clusters, random_state=...)`, returns such an array.
n_init : int or "auto", default="auto"
    Number of starts. The one with the lowest objective is kept. "auto": 10 if `init` is "random" or
    "circle", otherwise 1.
n_init/covariance : int or "auto", default="auto"
    Number of starts. The one with the lowest objective is kept. "auto": 10 if `init` is "random" or
    "circle", 4 if it is "k-means++" or "k-means||", otherwise 1.
max_iter : int, default=300
    Maximum number of iterations of each start.
max_iter/stages : int, default=300
    Maximum number of iterations of the last stage. Earlier stages have at most 5 each.
tol : float, default=1e-6
    Relative tolerance: the fit stops if the objective decreases by at most this fraction. With 0,
    it stops only when nothing changes.
half_life : float or None, default=None
    Number of rows (or total weight) after which a row counts half as much in `partial_fit`. None:
    all rows count equally.
engine : {"auto", "native", "reference", "dask", "torch"}, default="auto"
    Where the computation runs:

    - "auto": depends on X and on what is installed; see `engine_`.
    - "native": compiled code on the CPU.
    - "reference": NumPy.
    - "dask": the workers that hold the partitions of a Dask collection.
    - "torch": a GPU. "auto" selects it if X is on a GPU.

    Hard Euler clustering gives bit-identical results on all engines. Other methods agree up to
    rounding, and only hard clustering runs on "dask" and "torch".
n_threads : int or None, default=None
    Number of CPU threads. None: the largest number that the CPU affinity, the container quota and
    OMP_NUM_THREADS allow. (joblib and Dask set OMP_NUM_THREADS in their workers.) Results do not
    depend on it, except for rounding in kernel means, kernel weights and covariances.
memory_limit : int, str or None, default=None
    Memory for the mapped rows (Euler kernel, native and torch engines) or for the kernel values
    between rows, in bytes or as text such as "2GB". If they do not fit, they are recomputed in
    every iteration. Other kernels always keep the scaled rows in memory.
checkpoint : str, path or None, default=None
    File to which the fit saves its progress, at most once per second. To resume an interrupted fit,
    call it again with the same arguments; the result is the same. The file is deleted when the fit
    ends.
random_state : int, RandomState or None, default=None
    Determines the random numbers of the initialization. Pass an int for reproducible results.
verbose : int, default=0
    If 1, print a line for each iteration.
"""


def _one_of(values: Iterable[str | None]) -> Check:
    """Return a check that the value is among the names, including those registered later."""
    return lambda name, value: check_one_of(name, value, list(values))


def _or_none(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _or_auto(check: Check) -> Check:
    return lambda name, value: (
        None if isinstance(value, str) and value == "auto" else check(name, value)
    )


def _check_kernel(name: str, value: Any) -> None:
    """Raise ValueError unless the kernel maps points."""
    check_one_of(name, value, [key for key, kernel in KERNELS.items() if not kernel.is_pairwise])


def _check_kernel_with_covariance(name: str, value: Any) -> None:
    """Raise ValueError unless the kernel has means with coordinates."""
    kernels = {key: kernel for key, kernel in KERNELS.items() if not kernel.is_pairwise}
    check_one_of(
        name, value, [key for key, kernel in kernels.items() if "mean" in kernel.centroid_rules]
    )


def _check_later(name: str, value: Any) -> None:
    """Accept any value, because valid starts depend on the kernel and on the columns of X."""


def _check_verbose(name: str, value: Any) -> None:
    check_int(name, int(value) if isinstance(value, bool) else value, minimum=0)


_POSITIVE = partial(check_real, above=0)
_NOT_NEGATIVE = partial(check_real, minimum=0)
_EXPONENT = partial(check_real, above=1, maximum=MAX_EXPONENT)

CHECKS: dict[str, Check] = {
    "n_clusters": check_int,
    "init": _check_later,
    "grid": check_grid,
    "kernel": _check_kernel,
    "kernel/covariance": _check_kernel_with_covariance,
    "kernels": partial(check_kernels, known=KERNELS, default=Euler.name),
    "power": _EXPONENT,
    "shared": check_bool,
    "fuzziness": _EXPONENT,
    "prior": _POSITIVE,
    "reach": _NOT_NEGATIVE,
    "start_reach": _or_none(_POSITIVE),
    "stages": check_int,
    "centroids": _one_of(CENTROIDS),
    "gamma": _or_auto(_POSITIVE),
    "alpha": partial(check_real, above=0, maximum=MAX_ALPHA),
    "scale": _one_of(SCALES),
    "beyond": _one_of(BEYOND),
    "beyond/covariance": _one_of(("clip", "wrap")),
    "n_init": _or_auto(check_int),
    "max_iter": check_int,
    "tol": _NOT_NEGATIVE,
    "half_life": _or_none(_POSITIVE),
    "engine": lambda name, value: check_one_of(name, value, ("auto", *reversed(ENGINES))),
    "n_threads": _or_none(partial(check_int, hint=" (None for all)")),
    "memory_limit": check_bytes,
    "checkpoint": check_path,
    "random_state": check_random_state,
    "verbose": _check_verbose,
}
USED_IN_PREDICTION = {
    *("n_clusters", "grid", "fuzziness", "reach", "start_reach", "stages", "centroids", "tol"),
    *("engine", "n_threads", "memory_limit"),
}


def _make_parameter(name: str, entry: Entry) -> Parameter:
    kind, default = entry.type.split(", default=")
    base = name.split("/")[0]
    return Parameter(
        kind,
        entry.text,
        ast.literal_eval(default),
        CHECKS.get(name) or CHECKS[base],
        base in USED_IN_PREDICTION,
    )


PARAMETERS = {
    name: _make_parameter(name, entry) for name, entry in parse_entries(PARAMETER_TEXTS).items()
}
PARAMETERS["kernel/precomputed"] = PARAMETERS["kernel"].but(
    default="rbf",
    check=_one_of(KERNELS),
    text=PARAMETERS["kernel"].text.rstrip()
    + """
    - "precomputed": X contains the kernel values between rows, of shape (n_samples, n_samples). In
      `predict`, X contains those between new and fitted rows. Requires `centroids="mean"`.
    """,
)
PARAMETERS["init/plane"] = PARAMETERS["init"].but(
    type='{"plane", "k-means++", "k-means||", "random", "circle"}, array, callable',
    default="plane",
    text=PARAMETERS["init"].text.rstrip().replace("n_clusters", "n_nodes")
    + """
    - "plane": a grid in the plane of the first two principal components; `n_init` has no effect.
    """,
)

# Fitted attributes

ATTRIBUTES = parse_entries("""
labels_ : array of shape (n_samples,)
    Label of each row; -1 for rows without an observed value.
cluster_centers_ : ndarray of shape (n_clusters, n_features)
    Centroids in the units of X (pre-images).
cluster_centers_/kernels : ndarray of shape (n_clusters, n_features)
    Centroids in the units of X (pre-images), for the kernel with the largest weight.
centroids_ : ndarray of shape (n_clusters, n_features)
    Centroids in the mapped space: complex numbers for the Euler kernel, points in scaled units for
    other kernels. For means of the RBF and Laplace kernels, the weights of the fitted rows, of
    shape (n_clusters, n_samples).
centroids_/euler : complex ndarray of shape (n_clusters, n_features)
    Centroids in the mapped space, one complex number per feature.
centroids_/covariance : ndarray of shape (n_clusters, n_features)
    Centroids in the mapped space: complex numbers for the Euler kernel, points in scaled units for
    the linear kernel.
centroids_/kernels : ndarray of shape (n_kernels, n_clusters, n_features)
    Centroids in the mapped space of each kernel.
kernel_weights_ : ndarray of shape (n_kernels,)
    Weight of each kernel.
kernel_centers_ : ndarray of shape (n_kernels, n_clusters, n_features)
    Centroids in the units of X (pre-images), for each kernel.
memberships_ : ndarray of shape (n_samples, n_clusters)
    Membership of each row in each cluster; each row sums to 1. NaN for rows without an observed
    value.
shapes_ : ndarray of shape (n_clusters, p, p)
    Matrix A of each cluster. The number of mapped features p is 2 n_features for the Euler kernel
    (cosines, then sines) and n_features for the linear kernel.
graph_ : sparse array of shape (n_clusters, n_clusters)
    Learned topology: entry (a, b) is the total weight of the rows whose two nearest prototypes are
    a and b.
u_matrix_ : ndarray of the shape of the grid
    Mean distance of each node to its neighbors on the grid. High values separate clusters.
topographic_error_ : float
    Fraction of the rows whose two nearest nodes are not neighbors on the grid.
deviation_ : ndarray of shape (n_clusters,)
    Distance of each centroid m from the set of possible mapped rows, `1 - |m|/|phi|`, where `|phi|`
    is the length of a mapped row. It is 0 for rectified centroids.
inertia_ : float
    Objective of the best start.
n_iter_ : int
    Number of iterations of the best start.
history_ : dict of ndarrays
    One value per iteration: `inertia`, `n_changed` (rows whose label changed), `n_relocated` (empty
    clusters that were relocated) and `seconds`.
history_/stages : dict of ndarrays
    One value per iteration: `inertia`, `n_changed` (rows whose label changed), `n_relocated` (empty
    clusters that were relocated), `seconds`, `stage` and `reach`.
scale_ : Scale
    Kept intervals, shifts and unit of each feature, and the fraction of its values outside the
    intervals.
engine_ : str
    Engine that ran the fit.
alpha_ : float
    The `alpha` of the Euler kernel.
gamma_ : float
    The `gamma` of the RBF or Laplace kernel.
n_steps_ : int
    Number of blocks that `partial_fit` has processed.
n_samples_seen_ : int
    Number of rows that `partial_fit` has processed.
n_features_in_ : int
    Number of features of the fitted table.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features. Defined only if all column names of X are strings.
""")

# Arguments of methods. After a slash: the method, or the class and the method.

ARGUMENTS = parse_entries("""
X : table of shape (n_samples, n_features)
    Rows with the features of the fit, of any type that `fit` accepts.
X/fit : table of shape (n_samples, n_features)
    Rows to cluster. NaN and null are missing values. In memory: a NumPy array, a SciPy sparse
    matrix, a pandas, polars or pyarrow table, the result of `read_table`, or a tensor or DLPack
    array on a GPU (torch, CuPy). Columns of data frames and files that contain ids or text are
    ignored with a warning (see `schema_`).

    Out of core, read in blocks in every iteration: the path of a .csv, .feather, .npy or parquet
    file, of a directory of parquet files or a glob pattern; a pyarrow dataset; a zarr array; a
    NumPy memmap larger than `memory_limit`; or a callable that returns a new iterator over blocks.
    Distributed: a dask.array or dask.dataframe, for which `labels_` is lazy. Methods that need all
    rows at once accept tables in memory only.
X/EulerMap.fit : table of shape (n_samples, n_features)
    Rows that determine the scale. NaN and null are missing values. In memory: a NumPy array, a
    SciPy sparse matrix, a pandas, polars or pyarrow table, or the result of `read_table`. Columns
    of data frames and files that contain ids or text are ignored with a warning.

    Out of core, read in blocks: the path of a .csv, .feather, .npy or parquet file, of a directory
    of parquet files or a glob pattern; a pyarrow dataset; a zarr array; or a callable that returns
    a new iterator over blocks.
X/partial_fit : table of shape (n_samples, n_features)
    One block of rows in memory: a NumPy array, a SciPy sparse matrix, or a pandas, polars or
    pyarrow table. NaN and null are missing values.
X/inverse_transform : array of shape (n_samples, 2 * n_features)
    Mapped rows, as returned by `transform`.
y : None
    Ignored. Exists for compatibility with scikit-learn.
sample_weight : array of shape (n_samples,) or None
    Row weights. A row of weight 2 counts as two equal rows. None: all weights are 1.
sample_weight/fit : array of shape (n_samples,), str or None
    Row weights. A row of weight 2 counts as two equal rows. None: all weights are 1. For a table
    that is not in memory, the name of the column of weights.
input_features : array of str or None
    Names of the features. None: those of the fitted table.
""")


def find_argument(name: str, method: str, class_name: str) -> Entry:
    """Return the entry of an argument of a method."""
    keys = (f"{name}/{class_name}.{method}", f"{name}/{method}", name)
    return next(ARGUMENTS[key] for key in keys if key in ARGUMENTS)


# Estimators


def _select(table: Mapping[str, Any], names: str) -> dict[str, Any]:
    """Return the entries of these names, without the mark of a variant."""
    return {name.split("/")[0]: table[name] for name in names.split()}


_START = "scale beyond init n_init max_iter tol"
_RUN = "engine n_threads memory_limit checkpoint random_state verbose"
_FITTED = "labels_ cluster_centers_ centroids_ deviation_ inertia_ n_iter_ history_ scale_ engine_"
_COLUMNS = "n_features_in_ feature_names_in_"


def _interface(parameters: str, attributes: str = "", **changes: Any) -> Interface:
    """Return an interface; a later entry of a name replaces an earlier one, in its place."""
    selected = _select(PARAMETERS, parameters)
    selected |= {name: selected[name].but(default=default) for name, default in changes.items()}
    return Interface(selected, _select(ATTRIBUTES, attributes))


CLUSTERER = _interface(f"n_clusters {_START} {_RUN}")
EULER_MAP = Interface(
    _select(PARAMETERS, "alpha scale beyond/map"), _select(ATTRIBUTES, _COLUMNS), n_positional=0
)
EULER = _interface(
    f"n_clusters alpha {_START} half_life {_RUN}",
    f"{_FITTED} centroids_/euler alpha_ n_steps_ n_samples_seen_ {_COLUMNS}",
    tol=0.0,
)
KERNEL_K_MEANS = _interface(
    f"n_clusters kernel/precomputed centroids gamma alpha {_START} half_life {_RUN}",
    f"{_FITTED} alpha_ gamma_ n_steps_ n_samples_seen_ {_COLUMNS}",
)
FUZZY_C_MEANS = _interface(
    f"n_clusters kernel fuzziness centroids gamma alpha {_START} {_RUN}",
    f"memberships_ {_FITTED} alpha_ gamma_ {_COLUMNS}",
)
MAHALANOBIS_FUZZY_C_MEANS = _interface(
    f"n_clusters kernel/covariance fuzziness prior centroids/explicit alpha {_START} "
    f"beyond/covariance n_init/covariance {_RUN}",
    f"shapes_ memberships_ {_FITTED} centroids_/covariance alpha_ {_COLUMNS}",
    fuzziness=1.1,
)
NEURAL_GAS = _interface(
    f"n_clusters kernel reach start_reach stages centroids gamma alpha {_START} max_iter/stages "
    f"{_RUN}",
    f"graph_ {_FITTED} history_/stages alpha_ gamma_ {_COLUMNS}",
)
SELF_ORGANIZING_MAP = _interface(
    f"grid kernel reach start_reach stages centroids gamma alpha {_START} init/plane "
    f"max_iter/stages {_RUN}",
    f"u_matrix_ topographic_error_ {_FITTED} history_/stages alpha_ gamma_ {_COLUMNS}",
    reach=0.5,
)
MULTIPLE_KERNEL_K_MEANS = _interface(
    f"n_clusters kernels power shared centroids/explicit {_START} {_RUN}",
    f"kernel_weights_ kernel_centers_ {_FITTED} cluster_centers_/kernels centroids_/kernels "
    f"{_COLUMNS}",
)
