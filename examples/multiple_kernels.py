"""
Several kernels, one clustering
===============================

Which alpha, which kernel? Multiple-kernel k-means takes several at once and gives each a weight:
the smaller the objective that a kernel leaves, measured by what it leaves with one cluster, the
larger its weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_blobs

from rekmeans import (
    KernelKMeans,
    MultipleKernelKMeans,
    RectifiedEulerKMeans,
    normalized_mutual_info,
)

# %%
# Wine, the Euler kernel at four widths. On a clean table the weights are nearly equal, and so is
# the answer:

wine, cultivars = load_wine(return_X_y=True)
model = MultipleKernelKMeans(3, random_state=0).fit(wine)
for alpha, weight in zip(model.kernels, model.kernel_weights_, strict=True):
    alone = RectifiedEulerKMeans(3, alpha=alpha, random_state=0).fit(wine)
    print(
        f"alpha {alpha:<5} weight {weight:.3f}   alone: NMI "
        f"{normalized_mutual_info(cultivars, alone.labels_):.3f}"
    )
print(f"together: NMI {normalized_mutual_info(cultivars, model.labels_):.3f}")

# %%
# Four groups in two columns. At alpha 4 the circle is gone round several times, far values meet,
# and the groups are lost; that kernel gets the least weight, without labels. But a weight is not a
# mark of quality: it says how much of its own spread a kernel's clusters explain. The RBF and
# Laplace kernels find the groups too, and get little, because what lies inside a cluster is already
# far for them.

X, y = make_blobs(400, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], cluster_std=0.7, random_state=0)
kernels = {
    "euler, 0.5": 0.5,
    "euler, 0.9": 0.9,
    "euler, 4": 4.0,
    "rbf, auto": ("rbf", "auto"),
    "rbf, 1000": ("rbf", 1000.0),
    "laplace, auto": ("laplace", "auto"),
}
model = MultipleKernelKMeans(4, kernels=list(kernels.values()), random_state=0).fit(X)
alone = [
    KernelKMeans(4, kernel=pair[0], gamma=pair[1], random_state=0).fit(X)
    if isinstance(pair, tuple)
    else RectifiedEulerKMeans(4, alpha=pair, random_state=0).fit(X)
    for pair in kernels.values()
]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
axes[0].barh(list(kernels), model.kernel_weights_)
axes[0].set(xlabel="weight", title="learned")
axes[1].barh(list(kernels), [normalized_mutual_info(y, one.labels_) for one in alone])
axes[1].set(xlabel="NMI alone", title="how good each is alone")
axes[0].invert_yaxis()
print(f"together: NMI {normalized_mutual_info(y, model.labels_):.3f}")

# %%
# ``power`` says how sharply the weights separate kernels: near 1 one takes all, as it grows they
# become equal.

for power in (1.2, 2.0, 5.0):
    model = MultipleKernelKMeans(
        4, kernels=list(kernels.values()), power=power, random_state=0
    ).fit(X)
    print(f"power {power:<4} weights {model.kernel_weights_.round(3)}")

# %%
# Each kernel has centroids of its own. For Euler kernels they can share one pre-image, so that all
# agree on where a cluster lies:

apart = MultipleKernelKMeans(3, random_state=0).fit(wine)
shared = MultipleKernelKMeans(3, shared=True, random_state=0).fit(wine)
for name, model in {"separate": apart, "shared": shared}.items():
    spread = np.ptp(model.kernel_centers_, axis=0) / wine.std(axis=0)
    nmi = normalized_mutual_info(cultivars, model.labels_)
    print(
        f"{name:<9} centres differ by at most {spread.max():.3f} standard deviations between "
        f"kernels, NMI {nmi:.3f}"
    )
