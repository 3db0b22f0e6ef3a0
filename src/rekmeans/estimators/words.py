"""What the parameters and attributes of the clusterers mean, each said once, for their docstrings."""

from __future__ import annotations

PARAMETERS = {
    "n_clusters": """int
        Number of clusters.""",
    "kernel": """{"euler", "rbf", "laplace", "laplace-l2", "linear"}
        What near means: features on circles; `exp(-gamma |x - v|^2)`; `exp(-gamma |x - v|)` in the L1 or the L2 norm;
        plain distance.""",
    "centroids": """{"rectified", "mean"}
        Centroids that are images of points; or means in the mapped space, off the mapped data. Means of the RBF and
        Laplace kernels are known by kernel values between rows only: their cost grows with the square of the rows.""",
    "gamma": """float or "auto"
        Width of the RBF and Laplace kernels, on the scaled features. "auto" takes it from the distance of the middle
        row to its nearest of n_clusters spread rows.""",
    "alpha": """float
        Half-turns of the circle per unit of the scaled feature, for the Euler kernel. With a scale on, 1 is the largest
        that keeps near near.""",
    "scale": """{"robust", "range", "global"} or None
        What a unit of a feature is: 4 standard deviations inside fences round the quartiles; the column's range; the
        range of the whole table; 1 (the paper's bare map).""",
    "beyond": """{"ignore", "clip", "wrap"}
        What a value outside the scaled range (one unit from the robust centre; the range seen in fit) does: says
        nothing, like a missing one; counts as the nearest bound; goes on (round the circle, for the Euler kernel). A
        row with nothing inside is labelled by its clipped values and takes no part in the centroids. Without a scale
        nothing is outside.""",
    "init": """{"k-means++", "random", "circle"}, array of shape (n_clusters, n_features) or callable
        Start: greedy k-means++ with swaps, random mapped rows, random points of the circle (Euler), or points in the
        units of X; a callable is called as init(X, n_clusters, random_state=...) and returns such points.""",
    "n_init": """int or "auto"
        Starts of which the best is kept; "auto" is 10 for "random" and "circle", else 1.""",
    "max_iter": """int
        Largest number of passes of one start.""",
    "tol": """float
        Stop when the objective falls by no more than this share; 0 stops only when nothing changes.""",
    "engine": """str
        Where the passes run: "auto", "native" (compiled) or "reference" (NumPy). For hard Euler clustering the answer
        is the same, bit for bit; where rows are weighed by real numbers it agrees to rounding.""",
    "n_threads": """int or None
        Threads to use; None for all. The answer is the same for any number.""",
    "memory_limit": """int, str or None
        Bytes, or text such as "2GB", that the rows on circles (native engine) or the kernel values between rows may
        take; where they do not fit, they are made anew in every pass. Scaled rows of other kernels are always kept.""",
    "random_state": """int, RandomState or None
        Seed of the starts.""",
    "verbose": """int
        1 prints a line for each pass.""",
}
COMMON = tuple(name for name in PARAMETERS if name not in ("n_clusters", "kernel"))
ATTRIBUTES = """labels_ : (n_samples,) cluster of each row.
    cluster_centers_ : (n_clusters, n_features) pre-images of the centroids, in the units of X.
    centroids_ : the centroids in the mapped space: complex a + ib, (n_clusters, n_features), for the Euler kernel;
        points in scaled units for the others; for means of RBF or Laplace kernels the weights of the
        fitted rows, (n_clusters, n_samples), with `squared_lengths_` (n_clusters,).
    deviation_ : (n_clusters,) `1 - |m|/|phi|`: how far each centroid lies off the mapped data; 0 where it is rectified.
    inertia_ : float, the objective.
    n_iter_ : int, passes of the best start.
    history_ : dict of arrays, one entry a pass: inertia, n_changed (rows), n_relocated (empty clusters), seconds.
    scale_ : the intervals, shifts and unit of each column.
    engine_ : str, the engine that ran."""


def described(*names: str, **own: str) -> str:
    """A numpydoc list of parameters: these common ones, and those of the class itself, which come instead or after."""
    texts = {name: PARAMETERS[name] for name in names} | own
    return "\n    ".join(f"{name} : {text}" for name, text in texts.items())
