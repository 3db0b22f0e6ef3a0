"""Spatial pyramids of real photographs; skipped if the REKMEANS_DATA folder has none."""

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from rekmeans import RectifiedEulerKMeans, normalized_mutual_info
from rekmeans_paper import SpatialPyramid, folder
from rekmeans_paper.images import grey_image, shrink_image
from rekmeans_paper.sift import describe_squares
from support.pyramid import count_words

SAMPLE = "caltech101_images_sample.zip"


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Return (paths, y, classes) of 360 photographs; skip without them or without OpenCV."""
    pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'rekmeans[paper]'")
    path = Path(os.environ.get("REKMEANS_DATA", "")) / SAMPLE
    if not path.is_file():
        pytest.skip(f"no {SAMPLE} in the REKMEANS_DATA folder")
    top = tmp_path_factory.mktemp("photos")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(top)
    return folder(top)


@pytest.fixture(scope="module")
def fitted_pyramid(photos):
    """Return a pyramid fitted to the photographs, and its counts."""
    model = SpatialPyramid(64, max_descriptors=12_000, sparse_output=True, random_state=0).fit(
        photos[0]
    )
    return model, model.transform(photos[0])


def test_the_counts_of_photographs_follow_the_definition(photos, fitted_pyramid):
    model, counts = fitted_pyramid
    assert counts.shape == (360, 21 * 64)
    for i in (0, 100, 359):
        np.testing.assert_array_equal(counts[[i]].toarray()[0], count_words(model, photos[0][i]))


def test_most_words_are_also_the_nearest_by_euclidean_distance(photos, fitted_pyramid):
    model, _ = fitted_pyramid
    V = describe_squares(grey_image(photos[0][5], "it"), 8, 16).descriptors.astype(float)
    D = ((V[:, None] - model.words_) ** 2).sum(axis=2)
    assert (D.argmin(axis=1) == model.codebook_.predict(V)).mean() > 0.9


def blocks(counts, k):
    """Reshape the counts to (n, 1, 1, k), (n, 2, 2, k) and (n, 4, 4, k)."""
    parts = zip(np.split(counts, [k, 5 * k], axis=1), (1, 2, 4), strict=True)
    return [part.reshape(len(counts), s, s, k) for part, s in parts]


@pytest.mark.parametrize("coding", ["hard", "soft"])
def test_the_counts_of_cells_add_up_to_those_of_the_coarser_cell(coding, photos, fitted_pyramid):
    model = pickle.loads(pickle.dumps(fitted_pyramid[0])).set_params(
        coding=coding, sparse_output=False
    )
    top, quarters, sixteenths = blocks(model.transform(photos[0][::18]), 64)
    np.testing.assert_allclose(quarters.sum(axis=(1, 2)), top[:, 0, 0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        sixteenths.reshape(-1, 2, 2, 2, 2, 64).sum(axis=(2, 4)), quarters, rtol=1e-5, atol=1e-5
    )
    sizes = [shrink_image(grey_image(path, "it"), 300).shape for path in photos[0][::18]]
    squares_of = [((h - 16) // 8 + 1) * ((w - 16) // 8 + 1) for h, w in sizes]
    np.testing.assert_allclose(top.sum(axis=(1, 2, 3)), squares_of, rtol=1e-5)


@pytest.mark.parametrize("coding", ["hard", "soft"])
def test_counts_do_not_depend_on_threads(coding, photos):
    model = SpatialPyramid(32, coding=coding, max_descriptors=3000, random_state=3)
    alone, together = (
        clone(model).set_params(n_threads=n).fit_transform(photos[0][::24]) for n in (1, 5)
    )
    np.testing.assert_array_equal(together, alone)


def test_clusters_of_the_sample_agree_with_the_classes_far_better_than_chance(
    photos, fitted_pyramid
):
    y = photos[1]
    counts = fitted_pyramid[1].toarray()
    roots = np.sqrt(counts / counts[:, :64].sum(axis=1, keepdims=True))
    labels = RectifiedEulerKMeans(12, alpha=3.0, scale=None, random_state=0).fit_predict(roots)
    found = normalized_mutual_info(y, labels)
    chance = [
        normalized_mutual_info(np.random.default_rng(s).permutation(y), labels) for s in range(99)
    ]
    print(f"12 classes of photographs: NMI {found:.3f}, shuffled labels at most {max(chance):.3f}")
    assert found > 0.5
    assert found > 5 * max(chance)


@pytest.fixture(scope="module")
def published_counts(photos):
    """Return the rows of caltech101_spm for the photographs, (n, 10752); skip without the file."""
    file = Path(os.environ["REKMEANS_DATA"]) / "caltech101_spm.npz"
    if not file.is_file():
        pytest.skip(f"no {file}")
    with np.load(file) as arrays:
        rows = {name: i for i, name in enumerate(arrays["files"].tolist())}
        return arrays["X"][[rows["/".join(path.parts[-2:])] for path in photos[0]]]


def test_the_defaults_use_the_same_squares_as_the_published_features(
    published_counts, fitted_pyramid
):
    for wanted, found in zip(
        blocks(published_counts, 512), blocks(fitted_pyramid[1].toarray(), 64), strict=True
    ):
        np.testing.assert_array_equal(found.sum(axis=3), wanted.sum(axis=3))


def pair_similarities(counts):
    """Return the cosine of the square roots of the sixteenths' counts for each pair of images."""
    roots = np.sqrt(counts[:, 5 * 512 :].astype(float))
    roots /= np.linalg.norm(roots, axis=1, keepdims=True)
    return (roots @ roots.T)[np.triu_indices(len(roots), 1)]


def test_similarities_of_photographs_agree_with_the_published_features(photos, published_counts):
    found = []
    for seed in range(3):  # the codebook changes the correlation by about 0.002
        counts = SpatialPyramid(max_descriptors=12_000, random_state=seed).fit_transform(
            photos[0][::3]
        )
        assert counts.shape == (120, 10_752)
        published = pair_similarities(published_counts[::3])
        found.append(np.corrcoef(pair_similarities(counts), published)[0, 1])
    r = np.median(found)
    print(f"similarities of pairs of photographs, ours and published: correlation {r:.4f}")
    # 0.976 without clipping, and 0.908 with FLAT_LENGTH = 0.4 instead of 0.1.
    assert r > 0.979
