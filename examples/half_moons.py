"""
Half-moons on the circle
========================

The Euler map puts each feature on a circle. Euler k-means averages points of the circle, so its
centroids lie inside. Rectified Euler k-means moves them back to the circle. This example also shows
a limit of the method.
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
# Each stroke outside the circle is a row, at the angle of its value, and each cluster has its own
# ring. Numbered marks are centroids. The centroids of Euler k-means are means of points of the
# circle, so they lie inside it, where no row can be:

CircleDisplay.from_estimator(euler, X, features=[0, 1]).figure_.suptitle("Euler k-means")

# %%
# Rectified centroids lie on the circle, so each of them corresponds to a point in the units of the
# data:

CircleDisplay.from_estimator(rectified, X, features=[0, 1]).figure_.suptitle(
    "Rectified Euler k-means"
)

# %%
# The deviation degree κ of a centroid is 0 on the circle and 1 at its centre.

print("kappa of Euler k-means:", euler.deviation_.round(4))
print("kappa, rectified:      ", abs(rectified.deviation_.round(4)))
print("centroids in the units of X:")
print(rectified.cluster_centers_.round(3))

# %%
# In the plane, both methods give almost the same clusters. The borders are hyperplanes in the
# mapped space (Lemmas 1 and 2 of the paper), so they can be curved in the space of the data.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, name, model in zip(
    axes, ("Euler k-means", "Rectified Euler k-means"), (euler, rectified), strict=True
):
    SurfaceDisplay.from_estimator(model, X, features=(0, 1), ax=ax)
    ax.set_title(name)

# %%
# The borders are not curved enough to separate the moons, and neither are those of k-means with two
# centroids. See :doc:`gross_errors` for data that suit the method.

for name, labels in {
    "k-means": KMeans(2, n_init=10, random_state=0).fit_predict(StandardScaler().fit_transform(X)),
    "Euler k-means": euler.labels_,
    "rectified": rectified.labels_,
}.items():
    print(f"{name:<14} accuracy {clustering_accuracy(y, labels):.3f}")
