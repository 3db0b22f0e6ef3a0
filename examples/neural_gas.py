"""
Neural gas and its graph
========================

In neural gas, every row attracts all prototypes, and the nearest one most. The range of this
attraction shrinks until each row attracts only one prototype. The final objective is therefore that
of k-means, but it depends less on the start. Rows between two prototypes connect them, and the
resulting graph shows the shape of the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_moons

from rekmeans import GraphDisplay, NeuralGas, RectifiedEulerKMeans, clustering_accuracy

# %%
# A line connects two prototypes if they are the two nearest prototypes of some rows. Its width
# shows the number of these rows.

X, y = make_moons(600, noise=0.06, random_state=0)
model = NeuralGas(24, random_state=0).fit(X)
GraphDisplay.from_estimator(model, X).ax_.set_aspect("equal")

# %%
# Two centroids cannot separate the moons. The connected components of the graph can, if there are
# no rows between the moons:

n_components, component = connected_components(model.graph_, directed=False)
accuracy = clustering_accuracy(y, component[model.labels_])
print(f"{n_components} components, accuracy {accuracy:.3f}")
two = RectifiedEulerKMeans(2, random_state=0).fit(X)
print(f"two centroids, accuracy {clustering_accuracy(y, two.labels_):.3f}")

# %%
# A few rows between the moons are enough to connect the components. Removing the lines with few
# rows separates them again, but the data do not determine the threshold:

X, y = make_moons(600, noise=0.1, random_state=0)
model = NeuralGas(24, random_state=0).fit(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True, sharey=True)
for ax, (min_rows, rows) in zip(axes, ((1, "1 row"), (4, "4 rows")), strict=True):
    graph = model.graph_.multiply(model.graph_ >= min_rows).tocsr()
    n_components, component = connected_components(graph, directed=False)
    accuracy = clustering_accuracy(y, component[model.labels_])
    print(
        f"lines with at least {rows}: {n_components} component{'s' * (n_components != 1)}, "
        f"accuracy {accuracy:.3f}"
    )
    GraphDisplay(model.cluster_centers_, graph, X, ("x0", "x1")).plot(ax)
    ax.set_title(f"lines with at least {rows}")

# %%
# The last example compares the objectives of 20 fits from random rows, with one stage and with ten.
# A single stage has reach 0 and is k-means.

X = np.random.default_rng(0).normal(size=(600, 2)) + 8 * np.random.default_rng(1).integers(
    0, 4, size=(600, 2)
)
for name, stages in {"k-means": 1, "neural gas": 10}.items():
    fits = [
        NeuralGas(16, stages=stages, init="random", n_init=1, random_state=seed).fit(X)
        for seed in range(20)
    ]
    inertia = np.array([fit.inertia_ for fit in fits])
    print(
        f"{name:<11} objective: best {inertia.min():.2f}, median {np.median(inertia):.2f}, worst "
        f"{inertia.max():.2f}"
    )
