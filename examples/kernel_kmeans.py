"""
RBF and Laplace kernels, rectified
==================================

Kernel k-means averages rows in an infinite-dimensional space, and its centroids do not correspond
to points in the space of the data. Rectified centroids do. The time of a fit is therefore linear in
the number of rows, and a prediction compares a row with k points. A row has the weight k(x, v), so
distant rows have almost no influence.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from rekmeans import KernelKMeans, normalized_mutual_info

# the fit warns about rows that contain only gross errors
warnings.filterwarnings("ignore", message=".* no kept value")
WIDTH = 15  # of gross errors, in standard deviations


def add_errors(X, share, seed=0):
    """Add gross errors to a share of the cells."""
    random = np.random.default_rng(seed)
    noise = X.mean(axis=0) + WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    return np.where(random.random(X.shape) < share, noise, X)


# %%
# The first example has one cluster, a tenth of the rows far to one side, no scale and no ignored
# values, so it shows the effect of the kernels alone. The mean moves towards the outliers, and the
# rectified centroids do not.

random = np.random.default_rng(0)
X = np.concatenate([random.normal(size=(180, 2)), random.normal((12, 8), size=(20, 2))])
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(*X.T, s=8, color="lightgrey")
for kernel, mark in {"linear": "X", "rbf": "o", "laplace": "s", "laplace-l2": "D"}.items():
    model = KernelKMeans(1, kernel=kernel, gamma=0.2, scale=None, random_state=0).fit(X)
    ax.scatter(*model.cluster_centers_.T, marker=mark, s=90, edgecolor="white", label=kernel)
    print(f"{kernel:<11} centroid {model.cluster_centers_[0].round(2)}")
ax.legend(title="kernel", frameon=False)

# %%
# The second example adds gross errors to the cells of wine. The figure shows the NMI with the three
# cultivars, as the mean over five draws. Most of the robustness comes from the robust scale, which
# ignores values far outside a column: "linear" is plain k-means with this scale. With many gross
# errors, the L1 Laplace kernel, whose centroids are medians, is the most robust.

wine, cultivars = load_wine(return_X_y=True)
shares = [0, 0.02, 0.05, 0.1, 0.2, 0.3]
methods = {
    "k-means, z-scored": lambda X: KMeans(3, n_init=10, random_state=0).fit(
        StandardScaler().fit_transform(X)
    )
}
for kernel in ("linear", "rbf", "laplace", "laplace-l2"):
    methods[kernel] = lambda X, kernel=kernel: KernelKMeans(3, kernel=kernel, random_state=0).fit(X)
draws = {share: [add_errors(wine, share, seed) for seed in range(5)] for share in shares}

figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
print(f"{'share of cells':<20}" + "".join(f"{share:>7.0%}" for share in shares))
for name, fit in methods.items():
    nmi = [
        np.mean([normalized_mutual_info(cultivars, fit(X).labels_) for X in draws[share]])
        for share in shares
    ]
    ax.plot(shares, nmi, "o-", label=name)
    print(f"{name:<20}" + "".join(f"{value:>7.3f}" for value in nmi))
ax.set(xlabel="share of cells with a gross error", ylabel="NMI", ylim=(0, 1))
ax.legend(frameon=False)

# %%
# ``centroids="mean"`` selects the means of kernel k-means. They need the kernel values between all
# pairs of rows, so the cost is quadratic in the number of rows. ``deviation_`` is 0 for a mean on
# the mapped data, and grows with its distance from them. Narrow kernels have large deviations:

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
gammas = np.geomspace(0.01, 100, 5)
for kernel in ("rbf", "laplace", "laplace-l2"):
    models = [
        KernelKMeans(3, kernel=kernel, centroids="mean", gamma=g, random_state=0).fit(wine)
        for g in gammas
    ]
    ax.semilogx(gammas, [model.deviation_.mean() for model in models], "o-", label=kernel)
ax.set(xlabel="gamma", ylabel="mean deviation of the means", ylim=(0, 1))
ax.legend(frameon=False)

for rule in ("mean", "rectified"):
    model = KernelKMeans(3, centroids=rule, random_state=0).fit(wine)
    nmi = normalized_mutual_info(cultivars, model.labels_)
    print(
        f"{rule:<10} gamma {model.gamma_:.2f}  deviation {model.deviation_.round(3)}  NMI {nmi:.3f}"
    )

# %%
# Rectification has a price: the borders between rectified centroids of these kernels are flat or
# piecewise flat, as in k-means. With a suitable width, means can separate a disc from a ring, and
# two rectified centroids cannot.

angle = random.uniform(0, 2 * np.pi, 200)
ring = 4 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.2 * random.normal(size=(200, 2))
disc = make_blobs(100, centers=[[0, 0]], cluster_std=0.5, random_state=0)[0]
X = np.concatenate([disc, ring])
y = np.repeat([0, 1], [100, 200])
for rule in ("mean", "rectified"):
    model = KernelKMeans(
        2, centroids=rule, gamma=0.4, scale=None, init="random", random_state=0
    ).fit(X)
    print(f"disc and ring, {rule}: NMI {normalized_mutual_info(y, model.labels_):.2f}")
# sphinx_gallery_thumbnail_number = 2
