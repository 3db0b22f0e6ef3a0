"""
A map of handwritten digits
===========================

A self-organising map lays prototypes on a grid so that neighbours on the grid are alike in the
data. Its U-matrix shows how far each node lies from its neighbours: dark ridges part what differs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rekmeans import HistoryDisplay, SelfOrganizingMap, UMatrixDisplay, normalized_mutual_info

digits, y = load_digits(return_X_y=True)

# %%
# 1797 digits of 8 by 8 pixels. Many pixels are blank in nearly all pictures, and the robust scale
# would take a dark pixel there for an error; with one range for the table every pixel counts alike.

model = SelfOrganizingMap(grid=(8, 12), scale="global", random_state=0).fit(digits)

# %%
# A mark is as large as its node has rows, and coloured by the digit that is most frequent among
# them. The map never saw the digits' names.

UMatrixDisplay.from_estimator(model, labels=y)

# %%
# Every node is a point in the units of the table, here a picture. Going along the grid, shapes
# change little by little.

figure, axes = plt.subplots(8, 12, figsize=(8, 5.4), layout="constrained")
for ax, centre in zip(axes.flat, model.cluster_centers_, strict=True):
    ax.imshow(centre.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
    ax.set_axis_off()

# %%
# How good a map is it? Each node named by its most frequent digit, the share of rows that lie on a
# node of their own name; and the share of rows whose two nearest nodes are not neighbours on the
# grid, which is the price of laying 64 columns on a plane.

names = np.array(
    [np.bincount(y[model.labels_ == node], minlength=10).argmax() for node in range(96)]
)
print(f"rows on a node of their own digit: {np.mean(names[model.labels_] == y):.3f}")
print(f"topographic error: {model.topographic_error_:.3f}")
print(f"nodes with rows: {len(np.unique(model.labels_))} of 96")
print(f"NMI of nodes and digits: {normalized_mutual_info(y, model.labels_):.3f}")

# %%
# The reach of a node shrinks in stages. Within one the objective never rises; from one to the next
# the objective itself is another.

display = HistoryDisplay.from_estimator(model)
for stage in np.flatnonzero(np.diff(model.history_["reach"])):
    display.ax_.axvline(stage + 1.5, color="lightgrey", lw=1, zorder=0)
# sphinx_gallery_thumbnail_number = 1
