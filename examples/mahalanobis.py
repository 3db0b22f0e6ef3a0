"""
Elongated clusters
==================

k-means and fuzzy c-means assume round clusters. Gustafson-Kessel clustering learns a matrix with
determinant 1 for each cluster, so it also finds elongated ones. Here it is applied to mapped rows.
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
    """Generate two elongated clusters side by side, and one perpendicular to them."""
    random = np.random.default_rng(seed)
    places = ([0, 0], [4, 0.35]), ([0, 2.2], [4, 0.35]), ([9, 1], [0.35, 2.2])
    return np.concatenate(
        [random.normal(size=(n, 2)) * width + at for at, width in places]
    ), np.repeat([0, 1, 2], n)


# %%
# Fuzzy c-means splits the elongated groups; with a shape for each cluster, all of them are found.

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
# ``prior`` is the weight of a round shape. It prevents a shape from collapsing onto a few rows.
# Shapes add many local minima, so several starts can improve the result. The table shows the
# accuracy on three random datasets:

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
# The shapes of the linear kernel are matrices over the scaled columns, and their eigenvalues are
# proportional to the inverse variances. They give the ratio of length to width of each cluster:

model = MahalanobisFuzzyCMeans(3, kernel="linear", prior=0.01, random_state=0).fit(X)
for c, shape in enumerate(model.shapes_):
    low, high = np.linalg.eigvalsh(shape)
    print(
        f"cluster {c}: {np.sqrt(high / low):.1f} times as long as wide, centre "
        f"{model.cluster_centers_[c].round(2)}"
    )

# %%
# The number of values in a shape is the square of the number of columns (twice as many columns for
# the Euler kernel), so shapes need many rows. Wine has 178 rows and 13 columns, and its groups are
# nearly round on the robust scale, so shapes make the result worse. The prior is added to every
# distance, so a large prior makes the degrees more equal. A large ``fuzziness`` has the same
# effect, so it should be close to 1 if there are many columns.

wine, cultivars = load_wine(return_X_y=True)
plain = FuzzyCMeans(3, random_state=0).fit_predict(wine)
print(
    f"wine, fuzzy c-means:                       NMI {normalized_mutual_info(cultivars, plain):.3f}"
)
for prior, fuzziness in ((0.1, 1.1), (1.0, 1.1), (0.1, 1.5), (1.0, 1.5)):
    model = MahalanobisFuzzyCMeans(3, prior=prior, fuzziness=fuzziness, random_state=0).fit(wine)
    nmi = normalized_mutual_info(cultivars, model.labels_)
    print(f"wine, with shapes, prior {prior}, fuzziness {fuzziness}: NMI {nmi:.3f}")
