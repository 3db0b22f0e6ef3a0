"""Spatial pyramids of synthetic pictures against counts in plain loops, and their invariances."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import rekmeans
import rekmeans_paper
from rekmeans import RectifiedEulerKMeans
from rekmeans_paper import SpatialPyramid
from rekmeans_paper.images import grey_image
from rekmeans_paper.sift import describe_squares
from support.assertions import raises_mentioning
from support.pyramid import count_words

WORDS = 12


def draw_waves(shape, seed):
    """Return a uint8 picture of waves."""
    a, b, c = np.random.default_rng(seed).uniform(-0.5, 0.5, 3)
    y, x = np.mgrid[: shape[0], : shape[1]]
    waves = (
        np.sin(a * y + b * x)
        + np.sin(c * x * y / 40)
        + np.random.default_rng(seed).normal(0, 0.2, shape)
    )
    return np.clip(128 + 50 * waves, 0, 255).astype(np.uint8)


SHAPES = [(64, 96), (50, 50), (33, 120), (16, 16), (80, 41)]
PICTURES = [draw_waves(SHAPES[i % len(SHAPES)], i) for i in range(20)]


@pytest.fixture(scope="module")
def pyramid():
    return SpatialPyramid(WORDS, random_state=0).fit(PICTURES)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_a_square_counts_for_its_nearest_word_in_one_cell_of_each_level(levels, pyramid):
    model = SpatialPyramid(WORDS, levels=levels, random_state=0).fit(PICTURES)
    np.testing.assert_array_equal(model.words_, pyramid.words_)
    found = model.transform(PICTURES)
    assert found.shape == (20, WORDS * (4**levels - 1) // 3)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [count_words(model, picture) for picture in PICTURES])


def test_soft_coding_distributes_a_square_over_its_nearest_words(pyramid):
    soft = pickle.loads(pickle.dumps(pyramid)).set_params(coding="soft", levels=1)
    V = describe_squares(grey_image(PICTURES[0], "it"), 8, 16).descriptors.astype(float)
    codebook = soft.codebook_
    wanted = np.zeros(WORDS)
    for v in V:
        D = (1 - np.cos(codebook.alpha * np.pi * (v - soft.words_))).sum(axis=1)
        near = np.argsort(D)[:5]
        shares = np.exp(-D[near] * len(codebook.labels_) / codebook.inertia_)
        wanted[near] += shares / shares.sum()
    np.testing.assert_allclose(soft.transform(PICTURES[:1])[0], wanted, rtol=1e-4, atol=1e-5)


def test_soft_coding_works_with_fewer_words_than_neighbours():
    found = SpatialPyramid(2, coding="soft", random_state=0).fit_transform(PICTURES[:3])
    np.testing.assert_allclose(found[:, :2].sum(axis=1), [77, 25, 42], rtol=1e-5)


def test_normalizations_follow_from_the_counts(pyramid):
    counts = pyramid.transform(PICTURES).astype(float)
    share = counts / counts[:, :WORDS].sum(axis=1)[:, None]
    wanted = {
        "l1": share,
        "sqrt": np.sqrt(share),
        "l2": counts / np.linalg.norm(counts, axis=1)[:, None],
    }
    for name, rows in wanted.items():
        model = pickle.loads(pickle.dumps(pyramid)).set_params(normalize=name)
        np.testing.assert_allclose(model.transform(PICTURES), rows, rtol=1e-6)


def test_sparse_and_dense_output_agree(pyramid):
    in_sparse_form = (
        pickle.loads(pickle.dumps(pyramid)).set_params(sparse_output=True).transform(PICTURES)
    )
    assert sparse.issparse(in_sparse_form)
    assert in_sparse_form.format == "csr"
    np.testing.assert_array_equal(in_sparse_form.toarray(), pyramid.transform(PICTURES))


def test_counts_do_not_depend_on_the_order_or_number_of_images(pyramid):
    counts = pyramid.transform(PICTURES)
    order = np.random.default_rng(1).permutation(20)
    np.testing.assert_array_equal(pyramid.transform([PICTURES[i] for i in order]), counts[order])
    np.testing.assert_array_equal(pyramid.transform(PICTURES[18:19]), counts[18:19])


def test_an_array_and_a_list_of_images_give_the_same_counts():
    stack = np.stack([draw_waves((40, 48), seed) for seed in range(6)])
    model = SpatialPyramid(WORDS, random_state=0)
    found = model.fit_transform(stack)
    np.testing.assert_array_equal(model.fit_transform(list(stack)), found)
    np.testing.assert_array_equal(
        model.fit_transform(np.repeat(stack[..., None], 3, axis=3)), found
    )


def test_the_words_depend_only_on_the_seed(pyramid):
    again = clone(pyramid).fit(PICTURES)
    np.testing.assert_array_equal(again.words_, pyramid.words_)
    legacy = [
        SpatialPyramid(WORDS, random_state=np.random.RandomState(4)).fit(PICTURES).words_
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*legacy)
    assert not np.array_equal(legacy[0], pyramid.words_)


def test_few_descriptors_are_sampled_evenly_from_few_images():
    stack = [draw_waves((40, 40), seed) for seed in range(20)]  # 16 squares each
    for max_descriptors, used in ((50, 1), (150, 3), (999, 19), (10_000, 20)):
        model = SpatialPyramid(4, max_descriptors=max_descriptors, random_state=0).fit(stack)
        assert len(model.codebook_.labels_) == used * 16
    # 2 x 77 squares
    model = SpatialPyramid(4, max_descriptors=100, random_state=0).fit(PICTURES[:1] * 2)
    assert len(model.codebook_.labels_) == 100


def test_feature_names_contain_level_row_column_and_word(pyramid):
    names = pyramid.get_feature_names_out()
    assert len(names) == len(set(names)) == 21 * WORDS
    assert names[0] == "level0_row0_column0_word0"
    assert names[WORDS * (1 + 4 + 4 * 2 + 3) + 7] == "level2_row2_column3_word7"
    frame = clone(pyramid).set_output(transform="pandas").fit(PICTURES).transform(PICTURES)
    assert list(frame.columns) == list(names)


def test_a_pipeline_can_start_with_a_pyramid():
    pipe = make_pipeline(
        SpatialPyramid(WORDS, normalize="l1"), RectifiedEulerKMeans(3, scale=None, alpha=5.0)
    )
    pipe.set_params(spatialpyramid__random_state=0, rectifiedeulerkmeans__random_state=0)
    labels = pipe.fit_predict(PICTURES)
    np.testing.assert_array_equal(clone(pipe).fit(PICTURES).predict(PICTURES), labels)


def test_verbose_prints_progress(capsys):
    SpatialPyramid(WORDS, random_state=0, verbose=1).fit_transform(PICTURES)
    assert capsys.readouterr().out.splitlines() == [
        "sampled squares from 16 of 20 images",
        "sampled squares from 20 of 20 images",
        "counted words in 16 of 20 images",
        "counted words in 20 of 20 images",
    ]


PARAMETERS = {
    "n_words": (0, 2.5, "many", None, True),
    "step": (0, -1, 1.5, None),
    "size": (3, 0, 4.5, None),
    "levels": (0, 1.5, None),
    "max_side": (15, 0, 20.5, "big"),
    "coding": ("fuzzy", None, 1),
    "normalize": ("max", 1, True),
    "max_descriptors": (WORDS - 1, 0, None, 50.5),
    "n_threads": (0, -1, 1.5, "all"),
    "verbose": (-1, 0.5, None),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, bad in PARAMETERS.items() for value in bad]
)
def test_a_bad_parameter_raises(name, value):
    with raises_mentioning(ValueError, f"{name} must be", f"got {value!r}"):
        SpatialPyramid(**{"n_words": WORDS, name: value}).fit(PICTURES)


def test_an_error_names_the_bad_image(pyramid, tmp_path):
    with raises_mentioning(ValueError, "image 3", "(4, 4, 4)"):
        pyramid.transform([*PICTURES[:3], np.zeros((4, 4, 4), np.uint8)])
    with raises_mentioning(ValueError, "image 1", "size=16", "12 x 90"):
        SpatialPyramid(WORDS).fit([PICTURES[0], draw_waves((12, 90), 0)])
    with raises_mentioning(TypeError, "list", "folder(path)"):
        pyramid.transform(str(tmp_path))
    with raises_mentioning(ValueError, "n_words=500", "different squares", "in 841"):
        SpatialPyramid(500, random_state=0).fit([np.tile(draw_waves((8, 8), 0), (30, 30))])


def test_a_failed_fit_does_not_change_the_model(pyramid):
    model = pickle.loads(pickle.dumps(pyramid))
    with raises_mentioning(ValueError, "image 0"):
        model.fit([np.zeros((4, 4), np.uint8)])
    np.testing.assert_array_equal(model.transform(PICTURES), pyramid.transform(PICTURES))


@pytest.mark.parametrize("method", ["transform", "get_feature_names_out"])
def test_methods_raise_before_fit(method):
    with raises_mentioning(NotFittedError, "SpatialPyramid", "not fitted"):
        getattr(SpatialPyramid(), method)(PICTURES)


def test_the_pyramid_is_in_rekmeans_paper_only():
    assert rekmeans_paper.SpatialPyramid is SpatialPyramid
    assert not hasattr(rekmeans, "SpatialPyramid")
