"""
Missing values stay missing
===========================

A missing cell is mapped to (0, 0), the centre of the circle: it adds nothing to a sum, a distance
or a count. Nothing is filled in, no row is dropped.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rekmeans import RectifiedEulerKMeans, normalized_mutual_info

wine = load_wine(as_frame=True)
table = wine.data.mask(np.random.default_rng(0).random(wine.data.shape) < 0.2)
print(
    f"{table.isna().mean().mean():.0%} of the cells and {table.isna().any(axis=1).mean():.0%} of "
    f"the rows have gaps"
)

# %%
# A pandas table with NaN goes in as it is (so do polars and pyarrow tables with nulls). Centroids
# come out whole, in the units of the table:

model = RectifiedEulerKMeans(3, random_state=0).fit(table)
print(f"NMI {normalized_mutual_info(wine.target, model.labels_):.3f}")
for name, centres in list(zip(table.columns, model.cluster_centers_.T, strict=True))[:4]:
    print(f"{name:<20}", centres.round(2))

# %%
# Rows to predict may have gaps too, as long as one value is there. How well its centroid represents
# a row, over the values the row has: 1 at the centroid, lower farther away.

print(model.predict(table[:5]), model.score_samples(table[:5]).round(3))

# %%
# Against filling in, with more and more gaps (means of three draws). On this table filling in by
# neighbours does about as well until half of the cells are gone; the gain is that there is nothing
# to fill in, to choose or to fit before.

shares = [0, 0.1, 0.3, 0.5]
methods = {
    "column means, then k-means": make_pipeline(
        SimpleImputer(), StandardScaler(), KMeans(3, n_init=10, random_state=0)
    ),
    "5 neighbours, then k-means": make_pipeline(
        StandardScaler(), KNNImputer(), KMeans(3, n_init=10, random_state=0)
    ),
    "rectified Euler k-means": RectifiedEulerKMeans(3, random_state=0),
}
X = wine.data.to_numpy()
y = wine.target
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for name, method in methods.items():
    nmi = []
    for share in shares:
        draws = (
            np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
            for seed in range(3)
        )
        with warnings.catch_warnings(action="ignore"):
            nmi.append(
                np.mean([normalized_mutual_info(y, method.fit_predict(gaps)) for gaps in draws])
            )
    ax.plot(shares, nmi, "o-", label=name)
    print(f"{name:<28}" + "".join(f"{value:>7.3f}" for value in nmi))
ax.set(xlabel="share of missing cells", ylabel="NMI", ylim=(0, 1))
ax.legend(frameon=False)
