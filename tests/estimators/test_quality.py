"""Quality on real tables, clean and with gross errors, compared with the figures of the paper."""

import numpy as np
import pytest

from rekmeans import RectifiedEulerKMeans, clustering_accuracy, normalized_mutual_info

# the part of the paper's grid without aliasing: 0.1 to 1.9
TENTHS = [round(0.1 * step, 1) for step in range(1, 20)]

# Lin & Chen, Rectified Euler k-means and Beyond (2021), tables of NMI and ACC, in percent: the
# highest value of EulerK, REK1 and REK2. The NMI columns of yeast, isolet and satimage are rotated
# in the paper, which is corrected here. Those of isolet and pendigits may be exchanged as well, so
# both are compared with the higher value.
PUBLISHED = {  # dataset: (NMI, ACC, values of alpha)
    "wine": (49.35, 78.76, TENTHS),
    "seeds": (54.69, 80.29, TENTHS),
    "yeast": (22.30, 33.90, TENTHS[::2]),
    "isolet": (68.25, 48.65, [0.3, 0.5]),
    "pendigits": (68.25, 68.86, [0.3, 0.5, 0.7, 0.9, 1.1]),
    "satimage": (53.97, 59.67, [0.5, 0.9, 1.1]),
}


def labels_of(X, y, seed, **parameters):
    return RectifiedEulerKMeans(
        len(set(y)), random_state=seed, n_threads=1, **parameters
    ).fit_predict(X)


@pytest.mark.parametrize("name", PUBLISHED)
def test_nmi_and_acc_with_the_best_alpha_exceed_those_of_the_paper(name, shared_set):
    X, y = shared_set(name)
    nmi, acc, alphas = PUBLISHED[name]
    means = []  # over ten starts, for each alpha
    for alpha in alphas:
        found = [labels_of(X, y, seed, alpha=alpha, scale="range", n_init=1) for seed in range(10)]
        means.append(
            np.mean(
                [(normalized_mutual_info(y, f), clustering_accuracy(y, f)) for f in found], axis=0
            )
        )
    best = 100 * np.max(means, axis=0)
    print(f"{name}: NMI {best[0]:.2f} (paper {nmi}), ACC {best[1]:.2f} (paper {acc})")
    assert best[0] > nmi
    assert best[1] > acc


@pytest.mark.parametrize(("name", "minimum"), [("wine", 0.95), ("seeds", 0.87)])
def test_the_defaults_find_the_classes(name, minimum, shared_set):
    X, y = shared_set(name)
    accuracies = [clustering_accuracy(y, labels_of(X, y, seed)) for seed in range(10)]
    print(
        f"{name}: ACC {accuracies[0]:.4f} at seed 0, median {np.median(accuracies):.4f}, minimum "
        f"{min(accuracies):.4f}"
    )
    assert accuracies[0] >= minimum
    assert np.median(accuracies) >= minimum


@pytest.mark.parametrize("draw", range(5))
def test_three_rows_at_fifty_sigma_have_little_effect_on_wine(draw, shared_set):
    X, y = shared_set("wine")
    random = np.random.default_rng(draw)
    spoiled = random.choice(len(X), 3, replace=False)
    dirty = X.copy()
    dirty[spoiled] = X.mean(axis=0) + 50 * X.std(axis=0) * random.choice([-1, 1], (3, X.shape[1]))
    clean = np.setdiff1d(np.arange(len(X)), spoiled)
    accuracy = clustering_accuracy(y[clean], labels_of(dirty, y, 0)[clean])
    print(f"wine, 3 rows at 50 sigma, draw {draw}: ACC {accuracy:.4f}")
    assert accuracy >= 0.93


# On the two small tables, the ratio varies by 0.05 between draws: the mean of three draws on wine
# (expected 0.82) is below 0.8 one time in four; with sixty draws the error is 0.007. On the large
# tables it varies by less than 0.02.
DRAWS = {"wine": 60, "seeds": 60, "pendigits": 3, "satimage": 3}


@pytest.mark.parametrize("name", DRAWS)
def test_with_gross_errors_in_a_fifth_of_the_cells_the_nmi_stays_above_four_fifths(
    name, shared_set
):
    X, y = shared_set(name)
    clean, dirty = [], []
    for draw in range(DRAWS[name]):
        random = np.random.default_rng(draw)
        errors = X.mean(axis=0) + 15 * X.std(axis=0) * random.standard_normal(X.shape)
        bad = random.random(X.shape) < 0.2
        clean.append(normalized_mutual_info(y, labels_of(X, y, draw)))
        dirty.append(normalized_mutual_info(y, labels_of(np.where(bad, errors, X), y, draw)))
    kept = np.mean(dirty) / np.mean(clean)
    print(f"{name}: NMI {np.mean(clean):.4f} clean, {np.mean(dirty):.4f} dirty, {kept:.1%} kept")
    assert kept >= 0.8
