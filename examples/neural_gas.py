"""
Neural gas and its graph
========================

In neural gas every row pulls all prototypes, the nearest most. The reach of that pull shrinks until
each row pulls one prototype only, so that it ends as k-means, with less dependence on the start.
Rows between two prototypes join them: the graph shows the shape of the data, which a list of
centroids does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_moons

from rekmeans import GraphDisplay, NeuralGas, RectifiedEulerKMeans, clustering_accuracy

# %%
# Two moons and 24 prototypes. A line joins two prototypes where rows have both as their two
# nearest, wider where more do.

X, y = make_moons(600, noise=0.06, random_state=0)
model = NeuralGas(24, random_state=0).fit(X)
GraphDisplay.from_estimator(model, X).ax_.set_aspect("equal")

# %%
# Two centroids cannot follow two moons. The parts of the graph can, where no row lies between them:

parts, part = connected_components(model.graph_, directed=False)
print(f"{parts} parts, accuracy {clustering_accuracy(y, part[model.labels_]):.3f}")
two = RectifiedEulerKMeans(2, random_state=0).fit(X)
print(f"two centroids, accuracy {clustering_accuracy(y, two.labels_):.3f}")

# %%
# A few stray rows are enough to join the parts. Lines of few rows can be cut first, and how few is
# a choice that the data do not make:

X, y = make_moons(600, noise=0.1, random_state=0)
model = NeuralGas(24, random_state=0).fit(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True, sharey=True)
for ax, least in zip(axes, (1, 4), strict=True):
    graph = model.graph_.multiply(model.graph_ >= least).tocsr()
    parts, part = connected_components(graph, directed=False)
    print(
        f"lines of at least {least} rows: {parts} parts, accuracy "
        f"{clustering_accuracy(y, part[model.labels_]):.3f}"
    )
    GraphDisplay(model.cluster_centers_, graph, X, ("x0", "x1")).plot(ax)
    ax.set_title(f"lines of at least {least} rows")

# %%
# Less dependence on the start: the objective of 20 fits from random rows, with and without the
# stages (one stage at reach 0 is k-means in the same loop).

X = np.random.default_rng(0).normal(size=(600, 2)) + 8 * np.random.default_rng(1).integers(
    0, 4, size=(600, 2)
)
for name, stages in {"k-means": 1, "neural gas": 10}.items():
    fits = [
        NeuralGas(16, stages=stages, init="random", n_init=1, random_state=seed).fit(X)
        for seed in range(20)
    ]
    found = np.array([fit.inertia_ for fit in fits])
    print(
        f"{name:<11} objective: best {found.min():.2f}, median {np.median(found):.2f}, worst "
        f"{found.max():.2f}"
    )
