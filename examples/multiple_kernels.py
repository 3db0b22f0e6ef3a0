"""
Multiple kernels
================

Multiple-kernel k-means combines several kernels, for example Euler kernels with different values of
alpha, and learns a weight for each. A kernel gets a large weight if its objective is small relative
to its objective with a single cluster.
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
# The first example uses the Euler kernel with four widths on wine. On a table without errors, the
# weights are nearly equal, and all kernels give similar clusters:

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
# The second example has four groups in two columns. With alpha = 4, values wrap around the circle
# several times, distant values look close, and the groups are lost. This kernel gets the smallest
# weight, although no labels are used. A weight is not a measure of quality, however. It measures
# which part of the spread of a kernel its clusters explain. The RBF and Laplace kernels also find
# the groups but get small weights, because rows of the same cluster are already distant for them.

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
axes[0].set(xlabel="weight", title="learned weights")
axes[1].barh(list(kernels), [normalized_mutual_info(y, model.labels_) for model in alone])
axes[1].set(xlabel="NMI", title="each kernel alone")
axes[0].invert_yaxis()
print(f"together: NMI {normalized_mutual_info(y, model.labels_):.3f}")

# %%
# ``power`` controls how much the weights differ. Close to 1, one kernel gets all the weight. For
# large values, the weights become equal.

for power in (1.2, 2.0, 5.0):
    model = MultipleKernelKMeans(
        4, kernels=list(kernels.values()), power=power, random_state=0
    ).fit(X)
    print(f"power {power:<4} weights {model.kernel_weights_.round(3)}")

# %%
# By default, each kernel has its own centroids. With ``shared=True``, Euler kernels share one
# centroid per cluster in the units of the data:

separate = MultipleKernelKMeans(3, random_state=0).fit(wine)
shared = MultipleKernelKMeans(3, shared=True, random_state=0).fit(wine)
for name, model in {"separate": separate, "shared": shared}.items():
    spread = np.ptp(model.kernel_centers_, axis=0) / wine.std(axis=0)
    nmi = normalized_mutual_info(cultivars, model.labels_)
    print(
        f"{name:<9} centres differ by at most {spread.max():.3f} standard deviations between "
        f"kernels, NMI {nmi:.3f}"
    )
