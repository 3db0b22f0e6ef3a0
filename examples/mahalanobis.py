"""
Clusters with shapes
====================

k-means and fuzzy c-means like round clusters. Give each cluster a shape of its own, a matrix of
volume 1 learned from its rows, and long ones are found too: Gustafson and Kessel's clustering, here
on mapped rows.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from rekmeans import (
    FuzzyCMeans,
    MahalanobisFuzzyCMeans,
    clustering_accuracy,
    normalized_mutual_info,
)


def sticks(seed, n=150):
    """Two long clusters side by side, and one across."""
    random = np.random.default_rng(seed)
    places = ([0, 0], [4, 0.35]), ([0, 2.2], [4, 0.35]), ([9, 1], [0.35, 2.2])
    return np.concatenate(
        [random.normal(size=(n, 2)) * width + at for at, width in places]
    ), np.repeat([0, 1, 2], n)


# %%
# Round clusters cut the sticks across; with shapes they are found.

X, y = sticks(0)
models = {
    "fuzzy c-means": FuzzyCMeans(3, random_state=0).fit(X),
    "with shapes": MahalanobisFuzzyCMeans(3, prior=0.01, random_state=0).fit(X),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharex=True, sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ax.scatter(*X.T, c=model.labels_, s=8, cmap="Set2")
    ax.scatter(*model.cluster_centers_.T, marker="X", s=130, c="black", edgecolor="white")
    ax.set_title(f"{name}: accuracy {clustering_accuracy(y, model.labels_):.3f}")

# %%
# ``prior`` is the weight of a round shape: the larger, the rounder. It keeps a shape from
# collapsing onto a few rows. Shapes bring many local minima, so the best of several starts pays.
# Accuracy on three draws of the sticks:

print("kernel  prior  starts  accuracy")
for kernel, prior, starts in itertools.product(("euler", "linear"), (1.0, 0.1, 0.01), (1, 4)):
    found = []
    for X, y in map(sticks, range(2, 5)):
        model = MahalanobisFuzzyCMeans(
            3, kernel=kernel, prior=prior, n_init=starts, random_state=0
        ).fit(X)
        found.append(f"{clustering_accuracy(y, model.labels_):.3f}")
    print(f"{kernel:<8}{prior:<7}{starts:<8}{' '.join(found)}")

# %%
# The shapes of the linear kernel are matrices over the scaled columns: one over the variance along
# each direction, up to a factor. Here the length of each cluster over its width, on that scale:

model = MahalanobisFuzzyCMeans(3, kernel="linear", prior=0.01, random_state=0).fit(X)
for c, shape in enumerate(model.shapes_):
    low, high = np.linalg.eigvalsh(shape)
    print(
        f"cluster {c}: {np.sqrt(high / low):.1f} times as long as wide, centre "
        f"{model.cluster_centers_[c].round(2)}"
    )

# %%
# The price: a shape has as many numbers as the square of the columns (of twice as many on circles),
# and needs rows to match. Wine has 178 rows in 13 columns, and groups that are nearly round on
# their scale: there shapes lose. The prior is part of every distance, so a large one blurs the
# degrees, and so does a larger ``fuzziness``: in many columns it has to stay near 1.

wine, cultivars = load_wine(return_X_y=True)
plain = FuzzyCMeans(3, random_state=0).fit_predict(wine)
print(
    f"wine, fuzzy c-means:                       NMI {normalized_mutual_info(cultivars, plain):.3f}"
)
for prior, fuzziness in ((0.1, 1.1), (1.0, 1.1), (0.1, 1.5), (1.0, 1.5)):
    model = MahalanobisFuzzyCMeans(3, prior=prior, fuzziness=fuzziness, random_state=0).fit(wine)
    nmi = normalized_mutual_info(cultivars, model.labels_)
    print(f"wine, with shapes, prior {prior}, fuzziness {fuzziness}: NMI {nmi:.3f}")
