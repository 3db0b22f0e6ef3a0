"""
Missing values
==============

rekmeans clusters tables with missing values without imputation and without dropping rows. A missing
cell is mapped to (0, 0), the centre of the circle, and adds nothing to sums, distances and counts.
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
    f"the rows have missing values"
)

# %%
# Estimators accept pandas tables with NaN, and polars and pyarrow tables with nulls. The centroids
# have no missing values and are in the units of the table:

model = RectifiedEulerKMeans(3, random_state=0).fit(table)
print(f"NMI {normalized_mutual_info(wine.target, model.labels_):.3f}")
for name, centres in list(zip(table.columns, model.cluster_centers_.T, strict=True))[:4]:
    print(f"{name:<20}", centres.round(2))

# %%
# New rows may also have missing values, as long as at least one value is present.
# ``score_samples`` measures how well the centroid represents the present values of a row: it is 1
# at the centroid and falls with the distance.

print(model.predict(table[:5]), model.score_samples(table[:5]).round(3))

# %%
# The figure compares this with imputation (means over three draws). On this table, imputation with
# nearest neighbours is about as good until half of the cells are missing. The advantage of rekmeans
# is that you do not need to choose and fit an imputer.

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
