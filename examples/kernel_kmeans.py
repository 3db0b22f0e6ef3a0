"""
RBF and Laplace kernels, rectified
==================================

Kernel k-means averages rows in a space without end, and its centroids are the images of no point.
Put back on the mapped data they are points again: a fit is linear in the rows, a prediction
compares with k points, and a row pulls with the weight k(x, v), so far rows let go.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from rekmeans import KernelKMeans, normalized_mutual_info

# rows of errors alone, of which the fit warns
warnings.filterwarnings("ignore", message=".* no kept value")
WIDTH = 15  # standard deviations of a gross error


def add_errors(X, share, seed=0):
    """X with gross errors in a share of its cells."""
    random = np.random.default_rng(seed)
    noise = X.mean(axis=0) + WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    return np.where(random.random(X.shape) < share, noise, X)


# %%
# One cluster, a tenth of the rows thrown far to one side, no scale and nothing left out: the
# kernels alone. The mean goes with the errors, the rectified centroids stay.

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
# Wine with gross errors in more and more of its cells: NMI with the three cultivars, mean of five
# draws. The robust scale, which ignores values far outside a column, does most of it: "linear" is
# plain k-means on that scale. Under many gross errors the L1 Laplace kernel, whose centroids are
# medians, holds on longest.

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
for name, fitted in methods.items():
    nmi = [
        np.mean([normalized_mutual_info(cultivars, fitted(X).labels_) for X in draws[share]])
        for share in shares
    ]
    ax.plot(shares, nmi, "o-", label=name)
    print(f"{name:<20}" + "".join(f"{value:>7.3f}" for value in nmi))
ax.set(xlabel="share of cells with a gross error", ylabel="NMI", ylim=(0, 1))
ax.legend(frameon=False)

# %%
# The means of kernel k-means are here too, by kernel values between rows: their cost grows with the
# square of the rows. ``deviation_`` says how far each lies off the mapped data, 0 on it. The
# narrower the kernel, the farther:

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
# What is lost: borders between rectified centroids of these kernels are flat (or piecewise flat),
# as in k-means. Means can bend round a ring, at a width that suits it; two points cannot.

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
