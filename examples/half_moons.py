"""
Half-moons on the circle
========================

What the map does, and what it does not do. Each feature is put on a circle of its own, Euler
k-means averages there, and its centroids fall inside; the rectified form puts them back.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

from rekmeans import (
    CircleDisplay,
    EulerKMeans,
    RectifiedEulerKMeans,
    SurfaceDisplay,
    clustering_accuracy,
)

X, y = make_moons(300, noise=0.08, random_state=0)
euler = EulerKMeans(n_clusters=2, random_state=0).fit(X)
rectified = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)

# %%
# A stroke outside the circle is a row, at the angle of its value; each cluster has a lane. The
# numbered marks are the centroids. Those of Euler k-means are means of points of a circle, so they
# lie inside it, where no row can be:

CircleDisplay.from_estimator(euler, X, features=[0, 1]).figure_.suptitle("Euler k-means")

# %%
# The rectified centroids lie on the circle, so each of them is the image of a point in the units of
# the data:

CircleDisplay.from_estimator(rectified, X, features=[0, 1]).figure_.suptitle(
    "Rectified Euler k-means"
)

# %%
# The deviation degree κ says how far off the circle a centroid lies: 0 on it, 1 at its centre.

print("kappa of Euler k-means:", euler.deviation_.round(4))
print("kappa, rectified:      ", abs(rectified.deviation_.round(4)))
print("centroids in the units of X:")
print(rectified.cluster_centers_.round(3))

# %%
# In the plane the two methods cut almost the same way. The borders are hyperplanes of the mapped
# space (Lemmas 1 and 2 of the paper), so over the data they may bend.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, name, model in zip(
    axes, ("Euler k-means", "Rectified Euler k-means"), (euler, rectified), strict=True
):
    SurfaceDisplay.from_estimator(model, X, features=(0, 1), ax=ax)
    ax.set_title(name)

# %%
# They do not bend enough to follow a moon: two centroids cannot, with any of the three methods.
# What the map is good for is shown by :doc:`gross_errors`.

for name, labels in {
    "k-means": KMeans(2, n_init=10, random_state=0).fit_predict(StandardScaler().fit_transform(X)),
    "Euler k-means": euler.labels_,
    "rectified": rectified.labels_,
}.items():
    print(f"{name:<14} accuracy {clustering_accuracy(y, labels):.3f}")
