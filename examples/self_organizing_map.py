"""
A map of handwritten digits
===========================

A self-organizing map arranges prototypes on a grid such that neighbours on the grid are similar.
The U-matrix shows the distance of each node to its neighbours. Dark ridges separate different
groups.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rekmeans import HistoryDisplay, SelfOrganizingMap, UMatrixDisplay, normalized_mutual_info

digits, y = load_digits(return_X_y=True)

# %%
# The dataset has 1797 digits of 8 by 8 pixels. Many pixels are blank in almost all images, so the
# robust scale would treat a dark pixel there as an error. ``scale="global"`` uses one range for all
# pixels.

model = SelfOrganizingMap(grid=(8, 12), scale="global", random_state=0).fit(digits)

# %%
# The size of a mark shows the number of rows of its node, and the colour shows their most frequent
# digit. The fit does not use the digit labels.

UMatrixDisplay.from_estimator(model, labels=y)

# %%
# Every node is a point in the units of the table, which is an image here. The images change
# gradually along the grid.

figure, axes = plt.subplots(8, 12, figsize=(8, 5.4), layout="constrained")
for ax, centre in zip(axes.flat, model.cluster_centers_, strict=True):
    ax.imshow(centre.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
    ax.set_axis_off()

# %%
# Two numbers measure the quality of the map. The first is the share of rows whose digit is the most
# frequent one of their node. The second is the topographic error, the share of rows whose two
# nearest nodes are not neighbours on the grid. It cannot be zero here, because a plane cannot
# represent 64 columns without distortion.

digit_of_node = np.array(
    [np.bincount(y[model.labels_ == node], minlength=10).argmax() for node in range(96)]
)
print(f"rows on a node of their own digit: {np.mean(digit_of_node[model.labels_] == y):.3f}")
print(f"topographic error: {model.topographic_error_:.3f}")
print(f"nodes with rows: {len(np.unique(model.labels_))} of 96")
print(f"NMI of nodes and digits: {normalized_mutual_info(y, model.labels_):.3f}")

# %%
# The reach of a node shrinks in stages. The objective never rises within a stage, but each stage
# has a different objective.

display = HistoryDisplay.from_estimator(model)
for stage in np.flatnonzero(np.diff(model.history_["reach"])):
    display.ax_.axvline(stage + 1.5, color="lightgrey", lw=1, zorder=0)
# sphinx_gallery_thumbnail_number = 1
