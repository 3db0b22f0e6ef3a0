"""Write data/kfcm_reference.json: kernel fuzzy c-means by the public package fuzzy-c-means.

Run this script manually in a separate environment, because the package needs numpy < 2:
pip install fuzzy-c-means==2.3.1
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

# m, gamma, passes
SETTINGS = (
    (2.0, 0.3, 1),
    (2.0, 0.3, 2),
    (2.0, 0.3, 5),
    (2.0, 0.3, 40),
    (1.3, 1.5, 5),
    (3.0, 0.05, 5),
)
NOTE = (
    "KFCM: k(x, v) = exp(-gamma |x - v|^2); u_jc = d_jc^(-2/(m-1)) / sum_r d_jr^(-2/(m-1)), d^2 = "
    "2 (1 - k); v_c = sum_j u_jc^m k_jc x_j / sum_j u_jc^m k_jc, with k at the old v. A row on "
    "centres (d = 0) belongs to them in equal parts, and a centre without weight does not move. "
    "gamma is 1/(2 sigma^2) of a normal density, 1/(d var X) by default. Squared distances up to "
    "1e-12 (1 + |x - mean of v|^2) are set to 0. The package updates the centres first and then "
    "the memberships, so its pass t has the centres and memberships of assignment pass t + 1. It "
    "starts from its own FCM run, whose u come from plain distances, and stops when the Frobenius "
    "norm of the change of u is below its error. 'runs' start from given centres with the u of "
    "these centres, and the package does every step; 'whole' is an unmodified fit with the FCM "
    "run it starts from."
)


def numbers(array):
    return np.vectorize(lambda value: float(f"{value:.12g}"))(array).tolist()


def table():
    """Return three groups of 18 rows and six outliers, (60, 2)."""
    rng = np.random.default_rng(2003)
    groups = [
        centre + 0.7 * rng.standard_normal((18, 2))
        for centre in ([0.0, 0.0], [3.0, 0.5], [1.0, 3.0])
    ]
    return np.round(np.concatenate([*groups, rng.uniform(-6, 9, (6, 2))]), 6)


def main():
    from fcmeans import FCM, KFCM

    class Given(KFCM):
        """KFCM that starts from given centres."""

        def _init_u(self, X):
            self._centers = self.given.copy()
            self.gamma_ = self.gamma
            self.u = self.soft_predict(X)

    X = table()
    start = X[[0, 20, 40]]
    runs = []
    for m, gamma, passes in SETTINGS:
        model = Given(n_clusters=3, m=m, gamma=gamma, max_iter=passes, error=1e-9, given=start)
        model.fit(X)
        outcome = {"centres": numbers(model.centers), "memberships": numbers(model.u)}
        runs.append({"m": m, "gamma": gamma, "passes": passes, **outcome})
    settings = {"n_clusters": 3, "m": 2.0, "max_iter": 5, "error": 1e-9, "random_state": 4}
    first = FCM(**settings)
    whole = KFCM(gamma=0.3, **settings)
    first.fit(X)
    whole.fit(X)
    contents = {
        "package": f"fuzzy-c-means {version('fuzzy-c-means')}",
        "note": NOTE,
        "X": X.tolist(),
        "start": start.tolist(),
        "runs": runs,
        "whole": {
            "settings": {"gamma": 0.3, **settings},
            "start": {"centres": numbers(first.centers), "memberships": numbers(first.u)},
            "centres": numbers(whole.centers),
            "memberships": numbers(whole.u),
        },
    }
    Path(__file__).parents[1].joinpath("data", "kfcm_reference.json").write_text(
        json.dumps(contents) + "\n"
    )


if __name__ == "__main__":
    main()
