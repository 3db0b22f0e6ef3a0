"""Spatial pyramid: how often each of the visual words occurs in the whole image, its quarters, its sixteenths, ..."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import _parameters
from .._grid import Array
from ..estimators import RectifiedEulerKMeans
from .images import grey, images, reduced, title
from .sift import BINS, UNIT, Squares, squares

ALPHA = 1.0  # half-turns for the unit length of a descriptor: the most that keeps near near
FALL = 1e-4  # a pass that lowers the objective by less no longer changes what the words are good for
LEAST_SHARE = 50  # squares drawn from an image; more images than max_descriptors / 50 need not be read for the words
NEIGHBOURS = 5  # words that share a square in soft coding; more only blur
AT_ONCE = 16  # images whose squares are in memory at a time


def _hard(codebook: RectifiedEulerKMeans, V: Array) -> tuple[Array, Array]:
    """The nearest word of each square, alone, (p, 1)."""
    return codebook.predict(V)[:, None], np.ones((len(V), 1))


def _soft(codebook: RectifiedEulerKMeans, V: Array) -> tuple[Array, Array]:
    """The nearest words, (p, 5), sharing in proportion to exp(-D/s), s the mean squared distance D seen in fit."""
    D = codebook.transform(V) ** 2
    m = min(NEIGHBOURS, D.shape[1])
    words = np.argpartition(D, m - 1, axis=1)[:, :m]
    near = np.take_along_axis(D, words, axis=1)
    spread = max(codebook.inertia_ / len(codebook.labels_), np.finfo(float).tiny)
    shares = np.exp((near.min(axis=1, keepdims=True) - near) / spread)
    return words, shares / shares.sum(axis=1, keepdims=True)


def _by_squares(H: Array, n_words: int) -> Array:
    return H / H[:, :n_words].sum(axis=1, keepdims=True)


CODINGS: dict[str, Callable[[RectifiedEulerKMeans, Array], tuple[Array, Array]]] = {"hard": _hard, "soft": _soft}
NORMS: dict[str | None, Callable[[Array, int], Array]] = {
    None: lambda H, n_words: H,
    "l1": _by_squares,
    "l2": lambda H, n_words: H / np.sqrt((H * H).sum(axis=1, keepdims=True)),
    "sqrt": lambda H, n_words: np.sqrt(_by_squares(H, n_words)),
}


class SpatialPyramid(TransformerMixin, BaseEstimator):
    """Images as counts of visual words in the cells of a spatial pyramid: 21 x 512 = 10752 columns.

    Squares on a grid are described by SIFT; :class:`RectifiedEulerKMeans` learns `n_words` words from some of them;
    each square then counts for its nearest word, in the whole image, in its quarters and in its sixteenths.

    The words come from rectified Euler k-means because its centroids are descriptors (their pre-images), its loss is
    bounded, and its labels are the same bits for any number of threads; at half a turn for the unit length it is
    close to k-means.

    Parameters
    ----------
    n_words : int
        Words of the codebook.
    step : int
        Pixels from one square to the next.
    size : int
        Pixels along the side of a square.
    levels : int
        Levels of the pyramid; level l has 2^l x 2^l cells, and 3 levels have 1 + 4 + 16.
    max_side : int or None
        Images with a longer side are reduced to it; None for none.
    coding : {"hard", "soft"}
        Whether a square counts for its nearest word, or is shared by the nearest five, the nearer the more.
    normalize : {"l1", "l2", "sqrt"} or None
        Counts as they are; divided by the image's number of squares; rows of unit length; square roots of "l1".
        Images of different sizes need one of them to be compared.
    sparse_output : bool
        Whether `transform` returns CSR: with 512 words about an eighth of the counts are not zero.
    max_descriptors : int
        Squares drawn for the codebook, evenly from the images (from at most one image for every 50).
    n_threads : int or None
        Threads to use; None for all. The answer is the same for any number.
    random_state : int, RandomState or None
        Seed of the squares drawn and of the codebook.
    verbose : int
        1 prints how far the images are, 2 also the passes of the codebook.

    Attributes
    ----------
    words_ : (n_words, 128) the words, as descriptors of length up to 512.
    codebook_ : the fitted RectifiedEulerKMeans.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import SpatialPyramid
    >>> images = np.random.default_rng(0).integers(0, 256, (4, 48, 64), dtype=np.uint8)
    >>> counts = SpatialPyramid(n_words=8, random_state=0).fit_transform(images)
    >>> counts.shape, counts[:, :8].sum(axis=1)
    ((4, 168), array([35., 35., 35., 35.], dtype=float32))
    """

    def __init__(
        self,
        n_words: int = 512,
        *,
        step: int = 8,
        size: int = 16,
        levels: int = 3,
        max_side: int | None = 300,
        coding: Literal["hard", "soft"] = "hard",
        normalize: Literal["l1", "l2", "sqrt"] | None = None,
        sparse_output: bool = False,
        max_descriptors: int = 100_000,
        n_threads: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_words = n_words
        self.step = step
        self.size = size
        self.levels = levels
        self.max_side = max_side
        self.coding = coding
        self.normalize = normalize
        self.sparse_output = sparse_output
        self.max_descriptors = max_descriptors
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Iterable[Any], y: Any = None) -> Self:
        """Learn the codebook.

        Parameters
        ----------
        X : list of images
            Paths, or uint8 arrays (h, w), (h, w, 1) or RGB (h, w, 3); of any sizes.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        random = _parameters.check_random_state(self.random_state)
        V = self._drawn(images(X), random)
        if (different := len(np.unique(V, axis=0))) < self.n_words:
            raise ValueError(
                f"n_words={self.n_words} needs at least {self.n_words} different squares, got {different} in "
                f"{len(V)}: lower n_words or step, or add images."
            )
        codebook = RectifiedEulerKMeans(
            self.n_words,
            alpha=ALPHA / UNIT,
            scale=None,
            tol=FALL,
            n_threads=self.n_threads,
            random_state=random.randint(2**31),
            verbose=int(self.verbose > 1),
        ).fit(V)
        self.codebook_ = codebook
        self.words_ = codebook.cluster_centers_
        return self

    def transform(self, X: Iterable[Any]) -> Any:
        """Counts of the words in the cells, (n_images, cells x n_words) float32.

        The columns of level 0 come first, then the cells of each level in row order, `n_words` columns a cell.
        """
        check_is_fitted(self)
        self._check_parameters()
        listed = images(X)
        blocks = self._pyramids(listed)
        if self.sparse_output:
            return sparse.vstack([sparse.csr_array(H) for H in blocks], format="csr")
        found = np.empty((len(listed), len(self.words_) * (4**self.levels - 1) // 3), np.float32)
        for at, H in zip(range(0, len(listed), AT_ONCE), blocks, strict=True):
            found[at : at + AT_ONCE] = H
        return found

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Level, row, column and word of each column, such as level1_row0_column1_word17."""
        check_is_fitted(self)
        sides = [(level, 2**level) for level in range(self.levels)]
        cells = [f"level{level}_row{r}_column{c}" for level, s in sides for r in range(s) for c in range(s)]
        return np.array([f"{cell}_word{word}" for cell in cells for word in range(len(self.words_))], dtype=object)

    def _pyramids(self, listed: list[Any]) -> Iterator[Array]:
        """Rows of the answer, a few images at a time."""
        for block in self._squares(list(enumerate(listed)), "words counted in"):
            yield NORMS[self.normalize](self._counts(block), len(self.words_)).astype(np.float32)

    def _squares(self, numbered: list[tuple[int, Any]], done: str) -> Iterator[list[Squares]]:
        """The squares of the images in order, a few images at a time, read and described by several threads."""
        with ThreadPoolExecutor(self.n_threads or os.cpu_count()) as pool:
            for at in range(0, len(numbered), AT_ONCE):
                yield list(pool.map(self._squares_of, numbered[at : at + AT_ONCE]))
                if self.verbose:
                    print(f"{done} {min(at + AT_ONCE, len(numbered))} of {len(numbered)} images", flush=True)

    def _squares_of(self, numbered: tuple[int, Any]) -> Squares:
        number, image = numbered
        name = title(image, number)
        picture = reduced(grey(image, name), self.max_side)
        if min(picture.shape) < self.size:
            h, w = picture.shape
            raise ValueError(
                f"an image needs at least size={self.size} pixels on each side; {name} has {h} x {w} after max_side: "
                "lower size or enlarge it."
            )
        return squares(picture, self.step, self.size)

    def _drawn(self, listed: list[Any], random: np.random.RandomState) -> Array:
        """Descriptors to learn the words from, as many from each image; each image has a generator of its own."""
        used = min(len(listed), max(1, self.max_descriptors // LEAST_SHARE))
        chosen = np.sort(random.permutation(len(listed))[:used])
        seeds = np.random.SeedSequence(random.randint(0, 2**32, size=4, dtype=np.uint32).tolist()).spawn(used)
        blocks = self._squares([(int(i), listed[i]) for i in chosen], "squares drawn from")
        drawn = []
        for found, seed in zip(chain.from_iterable(blocks), seeds, strict=True):
            order = np.random.default_rng(seed).permutation(len(found.descriptors))
            drawn.append(found.descriptors[np.sort(order[: self.max_descriptors // used])])
        return np.concatenate(drawn)

    def _counts(self, block: list[Squares]) -> Array:
        """The pyramids of a few images, (m, cells x n_words); coarser cells are sums of finer ones."""
        k, s, m = len(self.words_), 2 ** (self.levels - 1), len(block)
        words, shares = CODINGS[self.coding](self.codebook_, np.concatenate([found.descriptors for found in block]))
        cells = [(s * found.down).astype(np.int64) * s + (s * found.right).astype(np.int64) for found in block]
        cell = np.concatenate([each + i * s * s for i, each in enumerate(cells)])  # (p,) finest cell, all images
        H = np.bincount((cell[:, None] * k + words).ravel(), shares.ravel(), m * s * s * k)
        levels = [H.reshape(m, s, s, k)]
        for _ in range(self.levels - 1):
            fine = levels[0]
            half = fine.shape[1] // 2
            levels.insert(0, fine.reshape(m, half, 2, half, 2, k).sum(axis=(2, 4)))
        return np.concatenate([level.reshape(m, -1) for level in levels], axis=1)

    def _check_parameters(self) -> None:
        _parameters.check_int("n_words", self.n_words)
        _parameters.check_int("step", self.step)
        _parameters.check_int("size", self.size, least=BINS, hint=", a pixel for each bin")
        _parameters.check_int("levels", self.levels)
        if self.max_side is not None:
            _parameters.check_int("max_side", self.max_side, least=self.size, hint=" = size (None for any)")
        _parameters.check_one_of("coding", self.coding, CODINGS)
        _parameters.check_one_of("normalize", self.normalize, NORMS)
        _parameters.check_int("max_descriptors", self.max_descriptors, least=self.n_words, hint=" = n_words")
        if self.n_threads is not None:
            _parameters.check_int("n_threads", self.n_threads, hint=" (None for all)")
        _parameters.check_int("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # a list of images
        tags.input_tags.string = True
        tags.no_validation = True
        return tags
